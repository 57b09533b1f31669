import Drain
import Policy
import Spool

/// Reports missing directories, without which the queue may not open, or makes them. Returns those that are not there.
func checkLayout(_ path: String, isRepairing: Bool, _ findings: inout Findings) throws -> [Damage] {
    let missing = try SpoolDirectory.missingDirectories(at: path)
    var left = missing
    if isRepairing, !missing.isEmpty {
        try SpoolDirectory.makeDirectories(missing, at: path)
        left = try SpoolDirectory.missingDirectories(at: path)
        for damage in missing where !left.contains(damage) { findings.repaired(damage) }
    }
    for damage in left { findings.report(damage) }
    return left
}

/// Reports the damage in the directory. With `isRepairing`, repairs it and reports the repairs and the rest.
func checkDamage(
    of queue: OpenQueue, by configuration: Configuration?, isRepairing: Bool, _ findings: inout Findings
) throws {
    let spool = queue.spool
    let damages = try spool.damages(now: .now())
    if !isRepairing || damages.isEmpty {
        for damage in damages { findings.report(damage) }
        if damages.isEmpty { findings.ok("modes and leftovers") }
        return
    }
    let rule = configuration.map { ReplacementRule($0, at: .now()) }
    let recovery = spool.repair(
        by: rule, now: .now(),
        finishing: { (claim, url, began) throws(SpoolError) in
            try spool.recordDelivery(of: claim.name, url: url, began: began, by: queue.configuration, at: .now())
        },
        telling: { (ends) throws(SpoolError) in
            try queue.note(try spool.events(of: ends, by: queue.configuration, at: .now()).map { .foundEnded($0) })
            return true
        })
    if recovery.isNews { try queue.note([.recovered(recovery)]) }
    let left = try spool.damages(now: .now())
    for damage in damages where !left.contains(damage) { findings.repaired(damage) }
    for damage in left { findings.report(damage) }
    for item in recovery.quarantined {
        findings.note("'quarantine/\(item.fileName)': \(item.reason ?? "no reason recorded")")
    }
    for error in recovery.errors { findings.problems(CommandFailure(error)) }
}

extension Findings {
    fileprivate mutating func report(_ damage: Damage) {
        let found = damage.finding
        problem(found.status, found.text, hint: found.remedy, damage: found.word)
    }

    fileprivate func repaired(_ damage: Damage) {
        say(Line(finding: "repaired", damage: damage.finding.word, text: damage.finding.text))
    }
}

extension Damage {
    /// The words for the kinds of damage in `check --json`.
    static let words = [
        "missingDirectory", "notADirectory", "mode", "leftover", "deadRun", "interruptedMove", "earlierGeneration",
        "conflict", "unreadableState", "orphanedReason",
    ]

    /// What `check` says of the damage: its word, the exit status while it exists, a sentence without its period, and
    /// the repair by `--repair` or the advice to a person.
    fileprivate var finding: (word: String, status: ExitStatus, text: String, remedy: String) {
        let repair = "'\(pasted("check", "--repair"))'"
        switch self {
        case .missingDirectory(let name):
            return ("missingDirectory", .noInput, "the directory '\(name)' is missing", "\(repair) makes it")
        case .notADirectory(let name, let kind):
            return (
                "notADirectory", .noInput, "'\(name)' is \(kind.words), not a directory",
                "put a directory with its files in its place: only the queue as a whole may be a symbolic link"
            )
        case .directoryMode(let name, let mode):
            let directory = name == "." ? "queue directory" : "directory '\(name)'"
            return ("mode", .permission, "the \(directory) has the mode \(octal(mode)), not 0700", "\(repair) sets it")
        case .fileModes(let name, let count):
            let files = InWords.count(count, "file")
            return ("mode", .permission, "\(files) in '\(name)' without the mode 0600", "\(repair) sets it")
        case .leftover(let path):
            return (
                "leftover", .deferred, "'\(path)' is a leftover of a writer that died",
                "\(repair) removes it, and so does the next run"
            )
        case .deadRun(let name, let claims):
            return (
                "deadRun", .deferred, "the run '\(name)' died with \(InWords.count(claims, "operation")) claimed",
                "\(repair) returns its claims, and so does the next run"
            )
        case .interruptedMove(let path, let latest):
            let text = "'\(path)' and '\(latest)' are the same file: a move was interrupted"
            return ("interruptedMove", .deferred, text, "\(repair) keeps the name '\(latest)'")
        case .earlierGeneration(let path, let latest):
            let text = "'\(path)' is an older version of '\(latest)'"
            return ("earlierGeneration", .deferred, text, "\(repair) removes the older version")
        case .conflict(let path, let latest):
            return (
                "conflict", .dataInvalid, "'\(path)' and '\(latest)' are two operations with the same id",
                "move one of them out of the queue: drainq cannot know which one is right"
            )
        case .unreadableState(let path):
            let isFormat = path == "state/format"
            let effect = isFormat ? "no other command uses the queue" : "runs begin again without its contents"
            return (
                "unreadableState", .inputOutput, "'\(path)' cannot be read: \(effect)",
                "\(repair) \(isFormat ? "writes it again" : "moves it aside")"
            )
        case .orphanedReason(let path):
            let text = "'\(path)' is the reason for a file that is gone"
            return ("orphanedReason", .inputOutput, text, "\(repair) removes it")
        }
    }
}

private func octal(_ mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}
