import CSystem
import Drain
import LoopbackReceiver
import Policy
import Spool

/// The receiver answers the first request with 503, to show a retry.
struct DemoCommand: Command {
    static let name = "demo"

    var verbosity = Verbosity()

    static var options: [Option<Self>] { Verbosity.options.map { $0.within(\.verbosity) } }

    static let description = CommandDescription(
        Self.self, "drain a sample queue into an embedded receiver",
        """
        Makes a queue in a temporary directory, starts a receiver on the loopback interface, adds sample operations, \
        or those on standard input if it is not a terminal, drains the queue and shows what happens. Needs no server \
        and removes its files.
        """,
        examples: [
            Example("drainq demo", "drain sample operations"),
            Example(#"printf '{"n":1}\n{"n":2}\n' | drainq demo"#, "drain operations of your own"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let directory = FileManager.default.temporaryDirectory.appending(path: "drainq-demo-\(UUID().uuidString)")
        let spool = try SpoolDirectory.create(at: directory.path)
        defer { try? FileManager.default.removeItem(at: directory) }
        let receiver = try LoopbackReceiver(script: .sequence([.status(503, body: "busy, come again"), .status(204)]))
        defer { receiver.stop() }
        let retry = BackoffSchedule(
            delays: .exponential(base: .milliseconds(500), multiplier: 2, max: .seconds(5)), attempts: 5)
        let configuration = Configuration {
            ($0.defaultRoute.url, $0.defaultRoute.retry) = ("\(receiver.url)/{type}", retry)
        }
        var queue = OpenQueue(spool: spool, configuration: configuration)
        try queue.applyTransport(of: environment)
        let payloads = try demoPayloads()
        var createdAt = Timestamp.now()
        let operations = payloads.map { payload in
            createdAt = createdAt + .microseconds(1)
            let operation = Operation(
                header: OperationHeader(
                    id: .random(), type: TypeName("demo")!, createdAt: createdAt, contentType: "application/json"),
                body: payload)
            return Submission(operation, hasOwnID: false, at: createdAt, isDated: false)
        }
        var control = AdmissionControl(configuration)
        _ = try spool.accept(operations, within: &control)
        if !verbosity.isQuiet {
            Messages.notice(
                "\(InWords.count(operations.count, "operation")) in the queue '\(directory.path)'; the receiver is \(receiver.url)"
            )
        }
        var options = RunOptions(limit: 1000, maxTime: .seconds(60), stay: .untilEmpty)
        options.grace = .seconds(2)
        var running = RunCommand()
        running.global.verbosity = verbosity
        running.progress = .never
        let status = try running.drain(queue, options: options, detail: verbosity.isQuiet ? .actionable : .everything)
        for request in receiver.requests() {
            standardOutput.line(
                escapedForDisplay(
                    "\(request.method) \(request.target) \(request.header("Idempotency-Key") ?? "-") \(request.text)"
                ))
        }
        return status
    }
}

/// Returns the JSON values on standard input; samples if it is a terminal or empty.
private func demoPayloads() throws -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    if !Terminal.isOnStandardInput {
        var input = JSONInput()
        for item in input.feed(try InputSource("-").all(upTo: 64 * 1_048_576), atEnd: true) {
            switch item {
            case .value(let bytes, _): payloads.append(bytes)
            case .bad(_, let line, _, let reason):
                throw CommandFailure(.dataInvalid, "line \(line) of standard input is not JSON: \(reason)")
            }
        }
    }
    return payloads.isEmpty ? (1...5).map { Array("{\"n\":\($0)}".utf8) } : payloads
}
