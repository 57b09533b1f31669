/// A large value that all copies share until a copy changes it, so copying costs one reference count.
package struct Shared<Value> {
    @usableFromInline var box: Box

    @usableFromInline final class Box {
        @usableFromInline let value: Value

        @usableFromInline init(_ value: Value) { self.value = value }
    }

    @inlinable
    package init(_ value: Value) { box = Box(value) }

    @inlinable
    package var value: Value {
        _read { yield box.value }
        _modify {
            var value = box.value
            defer { box = Box(value) }
            yield &value
        }
    }
}

extension Shared.Box: Sendable where Value: Sendable {}
extension Shared: Sendable where Value: Sendable {}

extension Shared: Equatable where Value: Equatable {
    package static func == (left: Shared, right: Shared) -> Bool {
        left.box === right.box || left.value == right.value
    }
}

extension Shared: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
