import Delivery
import Policy
import Spool

/// `drainq explain`: what an answer means on a route, or what every answer does.
func explain(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        var configuration = try explainedConfiguration(command, environment)
        configuration.transportOfEnvironment = try transport(of: environment)
        let route = ExplainedRoute(
            of: command.typeNames(.type).last ?? .default, in: configuration,
            available: installedTransports())
        let isJSON = command.flag(.json)
        if let text = command.operands.first, let answer = ClassificationOverride.Match(text) {
            if case .canonical = answer, route.route.protocol == .plain {
                throw CommandFailure(
                    .usage, "no answer on the route '\(route.type)' says '\(text)': its protocol is plain",
                    hint: "name the type of a callable route: drainq explain \(text) --type TYPE")
            }
            let explanation = Explanation(answer, on: route)
            if isJSON { JSONLine.write(explanation) } else { write(explanation.lines) }
        } else {
            let table = AnswerTable(of: route)
            if isJSON { JSONLine.write(table) } else { write(table.lines) }
        }
        return .ok
    }
}

/// The configuration that is named, which needs no queue, or the queue's.
private func explainedConfiguration(_ command: ParsedCommand, _ environment: [String: String]) throws -> Configuration {
    guard let file = command.text(.config) else { return try OpenQueue(command, environment).configuration }
    return try readConfiguration(at: file, queue: "")
}

private func write(_ lines: [String]) {
    for line in lines { standardOutput.line(escapedForDisplay(line)) }
}
