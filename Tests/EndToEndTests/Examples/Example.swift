import Foundation
import LoopbackReceiver
import Synchronization
import Testing

extension Drainq {
    /// A queue with a configuration of `etc/drainq/examples/`, unchanged except for addresses and paths.
    convenience init(example name: String, replacing: [String: String]) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        var text = try String(contentsOf: root.appending(path: "etc/drainq/examples/\(name).json5"), encoding: .utf8)
        for (original, replacement) in replacing {
            try #require(text.contains(original), "the example has '\(original)' in it")
            text = text.replacingOccurrences(of: original, with: replacement)
        }
        try self.init(text)
    }

    /// Writes a file beside the queue, readable only for its owner.
    @discardableResult
    func write(_ text: String, as name: String, mode: Int = 0o600) throws -> String {
        let path = directory.appending(path: name).path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    /// The objects of `list --json`.
    func list(_ arguments: String...) throws -> [[String: Any]] {
        let finished = try start(["list", "--json"] + arguments, input: "").finish()
        return try finished.lines.map(json)
    }

    /// Runs with `--now` until no operation is deferred. Returns whether the delays after each attempt are `expected`,
    /// in seconds; settling may take additional time. `releasing` releases the destination after a rate limit.
    func delaysUntilGivenUp(are expected: [Double], releasing: Bool = false) throws -> Bool {
        var delays: [Double] = []
        while true {
            if releasing { try run("release", "--all") }
            try run("run", "--now")
            guard let row = try list("--state", "deferred").first else {
                return delays.count == expected.count
                    && zip(delays, expected).allSatisfy { ($1 - 0.01..<$1 + 0.9).contains($0) }
            }
            let due = try date(row["due"]), last = try date(row["lastAttempt"])
            let duration = try lastDuration(row["id"] as? String ?? "")
            delays.append(due.timeIntervalSince(last) - duration)
        }
    }

    private func lastDuration(_ id: String) throws -> Double {
        let shown = try json(run("show", id, "--json").lines[0])
        let attempts = try #require(shown["history"] as? [[String: Any]])
        return try #require(attempts.last?["durationMs"] as? Double) / 1000
    }
}

/// A server of a test: a receiver and its state.
final class Emulation<State: Sendable>: Sendable {
    private let known: Mutex<State>
    private let slot = Mutex<LoopbackReceiver?>(nil)

    /// `answer` is the server: the closure sees a request, changes the state and answers.
    init(
        _ state: State, answer: @escaping @Sendable (ReceivedRequest, inout State) -> Answer
    ) throws {
        known = Mutex(state)
        let receiver = try LoopbackReceiver(
            script: .deciding { [weak self] request, _ in
                guard let self else { return .status(500) }
                return self.change { answer(request, &$0) }
            })
        slot.withLock { $0 = receiver }
    }

    var receiver: LoopbackReceiver { slot.withLock { $0! } }
    var url: String { receiver.url }

    @discardableResult
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        known.withLock { state in body(&state) }
    }

    var state: State { known.withLock { $0 } }
}

extension ReceivedRequest {
    /// The body as JSON; `nil` if the body is not JSON.
    var json: Any? { try? JSONSerialization.jsonObject(with: Data(body), options: [.fragmentsAllowed]) }

    /// The value of a query's item.
    func query(_ name: String) -> String? {
        URLComponents(string: target)?.queryItems?.first { $0.name == name }?.value
    }
}

extension Answer {
    static func json(_ body: String) -> Answer { .json(200, body) }

    static func json(_ status: Int, _ body: String) -> Answer {
        .status(status, headers: ["Content-Type: application/json"], body: body)
    }
}
