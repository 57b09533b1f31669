import Drain
import Policy
import Spool

struct ExplainCommand: Command {
    static let name = "explain"

    /// A status or the name of an error, or nothing.
    var answers: [String] = []
    var type = TypeName.default
    /// The file of a recorded answer.
    var recordedAnswer: String?
    /// The key whose kept values the command looks up.
    var key: String?
    var global = GlobalOptions()

    mutating func take(operands: [String]) { answers = operands }

    static var options: [Option<Self>] {
        Option(
            .type, short: "t", .typeName, initial: \.type, "explain the route of this type",
            "Explains the route of this type.")
        Option(
            .answer, .file("FILE"), \.recordedAnswer, "explain the recorded answer in this file",
            """
            A file with an HTTP response as `curl -i` prints it: status line, header fields, an empty line and the \
            body; `-` is standard input. The command judges it, with its body, like the answer to an attempt. Not \
            together with a status or an error.
            """)
        Option(
            .key, .text("KEY"), \.key, "show which kept values this key has",
            """
            The key of operations on a route that sends `{kept.NAME}`: shows which of these values exist for the key, \
            and which are missing. It needs the queue.
            """)
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "explain what an answer means, and by which rule",
        """
        Explains what a status such as 503, or an error such as `timeout`, means on the route of --type: the effect on \
        the operation and on its destination, the rule that decides, the times of the next attempts, and the transport \
        that makes them. Without a status or an error it lists the meaning of every answer. With --answer it judges a \
        recorded answer by its header and body too. If the destination of the route is held, it says why, with the \
        server's words. It names the kept values that the route sends. It sends no request. With --config it needs no \
        queue.
        """,
        operands: .answer,
        onlyPrints: true,
        examples: [
            Example("drainq explain 401", "explain why a 401 holds operations"),
            Example("drainq explain timeout --type crm", "explain a time-out on the route of a type"),
            Example("drainq explain", "explain every answer"),
            Example("curl -si https://api.example.com/v1/orders | drainq explain --answer -", "explain this answer"),
            Example(
                "drainq explain UNAVAILABLE --config memory.json5 --type addSupermemoryMemory",
                "explain a callable function's error, without a queue"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let (queue, named, file) = try configuration(environment)
        var configuration = named
        configuration.transportOfEnvironment = try transport(of: environment)
        var route = ExplainedRoute(of: type, in: configuration, available: installedTransports(), file: file)
        let state = try queue?.knownDestinations().states[route.destination.name]
        route.hold = state?.hold?.reason
        route.needsHTTP1 = state?.needsHTTP1(at: .now()) ?? false
        if type != .default, configuration.routes[type] == nil {
            let near = nearest(to: type.description, in: configuration.routes.keys.map(\.description))
            Messages.notice(
                "no route is for the type '\(type)': the default route applies"
                    + (near.map { "; did you mean '\($0)'?" } ?? ""))
        }
        if let key {
            let spool = try OpenQueue(global, environment).spool
            route.kept = Set(try spool.keptValues(of: Digest(of: key)).keys)
        }
        if let explanation = try explanation(on: route) {
            if global.isJSON { JSONLine.write(explanation) } else { write(explanation.lines) }
        } else {
            let table = AnswerTable(of: route)
            if global.isJSON { JSONLine.write(table) } else { write(table.lines) }
        }
        return .ok
    }

    /// Explains the answer that the command line names; `nil` if it names none.
    private func explanation(on route: ExplainedRoute) throws -> Explanation? {
        if let path = recordedAnswer {
            if let operand = answers.first {
                throw UsageError(
                    "'\(operand)' and '--answer' exclude each other", hint: "the file already contains the status")
            }
            let answer = try RecordedAnswer.read(path, limit: route.route.answerLimit)
            return Explanation(answer, on: route, now: .now())
        }
        guard let text = answers.first, let answer = AnswerPattern(text) else { return nil }
        if case .canonical = answer, route.route.protocol == .plain {
            throw CommandFailure(
                .usage,
                "'\(text)' is a status of callable functions, and the route '\(route.type)' has the protocol plain",
                hint: "name the type of a callable route: drainq explain \(text) --type TYPE")
        }
        return Explanation(answer, on: route)
    }

    /// Returns the configuration that the command line names, or else the queue and its configuration; and the file.
    private func configuration(_ environment: [String: String]) throws -> (OpenQueue?, Configuration, file: String) {
        guard let file = global.configuration else {
            let queue = try OpenQueue(global, environment)
            return (queue, queue.configuration, queue.spool.path + "/drainq.json")
        }
        return (nil, try readConfiguration(at: file, queue: ""), file)
    }
}

private func write(_ lines: [String]) {
    for line in lines { standardOutput.line(escapedForDisplay(line)) }
}
