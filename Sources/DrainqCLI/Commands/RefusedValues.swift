import Policy
import Spool

/// Values of `add` or `import` that are no operations, gathered so that moving them to quarantine shares syncs.
struct RefusedValues {
    /// The most values, and bytes of them, that share the syncs.
    static let batchSize = 1000
    static let batchBytes = 16 << 20

    private struct Value {
        /// The value as given; empty if the user has it in a file.
        var text: [UInt8]
        var source: String
        var line: Int
        var reason: String
    }

    private let queue: OpenQueue
    /// The verb of messages, as in `cannot add`.
    private let verb: String
    /// Whether the command takes all or nothing: the user still has the refused values.
    private let isAtomic: Bool
    private let sync: Sync
    private let isJSON: Bool
    private var values: [Value] = []
    private var bytes = 0

    init(queue: OpenQueue, verb: String, isAtomic: Bool, sync: Sync, isJSON: Bool) {
        self.queue = queue
        self.verb = verb
        self.isAtomic = isAtomic
        self.sync = sync
        self.isJSON = isJSON
    }

    var count: Int { values.count }
    var isFull: Bool { count >= Self.batchSize || bytes >= Self.batchBytes }

    mutating func append(_ text: [UInt8], _ source: String, _ line: Int, reason: String) {
        values.append(Value(text: text, source: source, line: line, reason: reason))
        bytes += text.count
    }

    /// Puts the values into quarantine, so that no input is lost, and reports each. With `--atomic`, only reports them.
    /// Returns whether every value is kept, durably unless the command line says otherwise.
    mutating func report() -> Bool {
        let taken = values
        values = []
        bytes = 0
        if taken.isEmpty { return true }
        var paths: [Int: String] = [:]
        var failure: SpoolError?
        if !isAtomic {
            do throws(SpoolError) {
                paths = try keep(taken)
            } catch {
                failure = error
            }
        }
        for (index, value) in taken.enumerated() {
            if isJSON {
                JSONLine.write(
                    AddResult(error: value.reason, path: paths[index], source: value.source, line: value.line))
            }
            let lost = value.text.isEmpty ? nil : failure
            Messages.error(
                "cannot \(verb) line \(value.line) of '\(value.source)': \(value.reason)",
                hint: paths[index].map { "kept as '\($0)'" }
                    ?? lost.map { "drainq could not keep it in quarantine either: \($0)" })
        }
        return failure == nil
    }

    /// Puts the values into quarantine. Returns the path of each that the user does not have in a file.
    private func keep(_ taken: [Value]) throws(SpoolError) -> [Int: String] {
        let kept = taken.indices.filter { !taken[$0].text.isEmpty }
        if kept.isEmpty { return [:] }
        let inputs = kept.map { index in
            SpoolDirectory.BadInput(
                taken[index].text, reason: taken[index].reason,
                source: "\(taken[index].source) line \(taken[index].line)")
        }
        let items = try queue.spool.keepBadInput(inputs, durable: sync.isDurable, now: .now())
        return Dictionary(uniqueKeysWithValues: zip(kept, items.map { "quarantine/\($0.fileName)" }))
    }
}
