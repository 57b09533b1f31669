import Policy
import Spool

/// `drainq check`: would a run work here? Configuration, permissions, what the file system can do, and every waiting file.
///
/// Changes nothing but the directory of a run, which it makes and removes to prove that claims work.
func check(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let path = try queuePath(option: command.text(.queue), environment: environment)
        var findings = Findings(asJSON: command.flag(.json), isQuiet: command.flag(.quiet))
        var configuration = Configuration()
        do {
            configuration = try readConfiguration(at: command.text(.config), queue: path)
            findings.fine("configuration")
        } catch let errors as ConfigurationErrors {
            findings.problems(CommandFailure(errors), "configuration")
        } catch let failure as CommandFailure {
            findings.problems(failure, "configuration")
        }
        do {
            let queue = OpenQueue(spool: try SpoolDirectory(opening: path), configuration: configuration)
            findings.fine("directory")
            try checkClaims(queue, &findings)
            try checkFiles(queue, &findings)
            try checkRoutes(queue, &findings)
        } catch let error as SpoolError {
            findings.problems(CommandFailure(error), "directory")
        }
        return .first(of: findings.applying)
    }
}

/// Proves that this user can claim: make a run's directory, lock its file, sync, remove.
private func checkClaims(_ queue: OpenQueue, _ findings: inout Findings) throws {
    var claimed: [String: Int] = [:]
    try queue.spool.forEachEntry(in: .claimed) { claimed[$0.claimedBy ?? "", default: 0] += 1 }
    for (run, count) in claimed.sorted(by: { $0.key < $1.key }) {
        findings.fact("\(count) claimed by run '\(run)'; if it has died, the next run returns them")
    }
    try queue.spool.beginRun(now: .now()).end()
    findings.fine("claims")
}

private func checkFiles(_ queue: OpenQueue, _ findings: inout Findings) throws {
    var read = 0
    for state in [QueueState.new, .deferred, .failed] {
        var entries: [Entry] = []
        let foreign = try queue.spool.forEachEntry(in: state) { entries.append($0) }
        if foreign > 0 { findings.fact("\(foreign) in '\(state.rawValue)' under names of their own; the next run reads them") }
        for entry in entries {
            read += 1
            switch try queue.spool.read(entry) {
            case .operation, nil: break
            case .notAnOperation(let reason):
                findings.problem(.dataInvalid, "'\(entry.path)' is not an operation: \(reason)", hint: "the next run moves it to quarantine")
            case .newerFormat(let version):
                findings.problem(
                    .configuration, "'\(entry.path)' has format \(version), newer than this drainq reads",
                    hint: "run a newer drainq on this queue")
            }
        }
    }
    findings.fine("\(read) files")
    let kept = try queue.spool.quarantined().count
    if kept > 0 { findings.fact("\(kept) in quarantine: drainq list --state quarantined") }
}

/// A type that waits and has nowhere to go is found here, and not by the first run.
private func checkRoutes(_ queue: OpenQueue, _ findings: inout Findings) throws {
    var homeless: Set<TypeName> = []
    for state in [QueueState.new, .deferred] {
        try queue.spool.forEachEntry(in: state) { entry in
            if entry.name.originDigest == nil, queue.configuration.route(of: entry.name.type).url == nil {
                homeless.insert(entry.name.type)
            }
        }
    }
    for type in homeless.sorted() {
        findings.problem(
            .configuration, "operations of type '\(type)' wait, and no url is configured for them",
            hint: "set routes.default.url in drainq.json")
    }
    if homeless.isEmpty { findings.fine("routes") }
}

/// What was found, said as it is found.
private struct Findings {
    private struct Line: Encodable {
        var finding: String
        var text: String
        var hint: String?
    }

    let asJSON: Bool
    let isQuiet: Bool
    private(set) var applying: [ExitStatus] = []

    init(asJSON: Bool, isQuiet: Bool) {
        self.asJSON = asJSON
        self.isQuiet = isQuiet
    }

    func fine(_ what: String) {
        if asJSON { JSONLine.write(Line(finding: "ok", text: what)) } else if !isQuiet { standardOutput.line("ok: \(what)") }
    }

    func fact(_ text: String) {
        if asJSON { JSONLine.write(Line(finding: "note", text: text)) } else if !isQuiet { standardOutput.line("note: \(text)") }
    }

    mutating func problem(_ status: ExitStatus, _ text: String, hint: String?) {
        applying.append(status)
        if asJSON { JSONLine.write(Line(finding: "problem", text: text, hint: hint)) } else { Messages.error(text, hint: hint) }
    }

    mutating func problems(_ failure: CommandFailure, _ what: String) {
        for message in failure.messages { problem(failure.status, message.text, hint: message.hint) }
    }
}
