/// A large value that all copies share until one of them changes it, so copying it costs one reference count.
struct Shared<Value: Hashable & Sendable>: Hashable, Sendable {
    private var box: Box

    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    init(_ value: Value) {
        box = Box(value)
    }

    var value: Value {
        _read { yield box.value }
        _modify {
            var value = box.value
            defer { box = Box(value) }
            yield &value
        }
    }

    static func == (left: Shared, right: Shared) -> Bool {
        left.box === right.box || left.value == right.value
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}
