import Delivery
import Drain
import Policy
import Spool

/// Performs `drainq explain`: prints what one answer, or every answer, means on a route.
func explain(_ arguments: ExplainArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let (queue, named, file) = try explainedConfiguration(arguments, environment)
        var configuration = named
        configuration.transportOfEnvironment = try transport(of: environment)
        var route = ExplainedRoute(
            of: arguments.type, in: configuration,
            available: installedTransports(), file: file)
        route.hold = try queue?.knownDestinations().states[route.destination.name]?.hold?.reason
        let type = arguments.type
        if type != .default, configuration.routes[type] == nil {
            let near = nearest(to: type.description, in: configuration.routes.keys.map(\.description))
            Messages.notice(
                "no route is for the type '\(type)': the default route applies"
                    + (near.map { "; did you mean '\($0)'?" } ?? ""))
        }
        if let key = arguments.key { route.kept = try keptNames(of: key, arguments, environment) }
        let isJSON = arguments.isJSON
        if let explanation = try explanation(arguments, on: route) {
            if isJSON { JSONLine.write(explanation) } else { write(explanation.lines) }
        } else {
            let table = AnswerTable(of: route)
            if isJSON { JSONLine.write(table) } else { write(table.lines) }
        }
        return .ok
    }
}

/// Explains the answer that the command line names; `nil` if it names none.
private func explanation(_ arguments: ExplainArguments, on route: ExplainedRoute) throws -> Explanation? {
    if let path = arguments.recordedAnswer {
        if let operand = arguments.answers.first {
            throw UsageError(
                "'\(operand)' and '--answer' exclude each other", hint: "the file already contains the status")
        }
        let answer = try RecordedAnswer.read(path, limit: route.route.answerLimit)
        return Explanation(answer, on: route, now: .now())
    }
    guard let text = arguments.answers.first, let answer = AnswerPattern(text) else { return nil }
    if case .canonical = answer, route.route.protocol == .plain {
        throw CommandFailure(
            .usage, "'\(text)' is a status of callable functions, and the route '\(route.type)' has the protocol plain",
            hint: "name the type of a callable route: drainq explain \(text) --type TYPE")
    }
    return Explanation(answer, on: route)
}

/// Returns the configuration that the command line names, which needs no queue, or else the queue and its
/// configuration; and the file.
private func explainedConfiguration(
    _ arguments: ExplainArguments, _ environment: [String: String]
) throws -> (OpenQueue?, Configuration, file: String) {
    guard let file = arguments.queue.configuration else {
        let queue = try OpenQueue(arguments.queue, environment)
        return (queue, queue.configuration, queue.spool.path + "/drainq.json")
    }
    return (nil, try readConfiguration(at: file, queue: ""), file)
}

/// Returns the names of the values that earlier answers have left for a key.
private func keptNames(
    of key: String, _ arguments: ExplainArguments, _ environment: [String: String]
) throws -> Set<String> {
    let queue = try OpenQueue(arguments.queue, environment)
    return Set(try queue.spool.keptValues(of: Digest(of: key)).keys)
}

private func write(_ lines: [String]) {
    for line in lines { standardOutput.line(escapedForDisplay(line)) }
}
