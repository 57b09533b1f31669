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
        for damage in missing where !left.contains(damage) { findings.repaired(damage.text, damage.word) }
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
    for damage in damages where !left.contains(damage) { findings.repaired(damage.text, damage.word) }
    for damage in left { findings.report(damage) }
    for item in recovery.quarantined {
        findings.note("'quarantine/\(item.fileName)': \(item.reason ?? "no reason recorded")")
    }
    for error in recovery.errors { findings.problems(CommandFailure(error)) }
}

extension Findings {
    fileprivate mutating func report(_ damage: Damage) {
        problem(damage.status, damage.text, hint: damage.remedy, damage: damage.word)
    }
}

extension Damage {
    /// The word for the damage in `check --json`.
    var word: String {
        switch self {
        case .missingDirectory: "missingDirectory"
        case .notADirectory: "notADirectory"
        case .directoryMode, .fileModes: "mode"
        case .leftover: "leftover"
        case .deadRun: "deadRun"
        case .interruptedMove: "interruptedMove"
        case .earlierGeneration: "earlierGeneration"
        case .conflict: "conflict"
        case .unreadableState: "unreadableState"
        case .orphanedReason: "orphanedReason"
        }
    }

    static let words = [
        "missingDirectory", "notADirectory", "mode", "leftover", "deadRun", "interruptedMove", "earlierGeneration",
        "conflict",
        "unreadableState", "orphanedReason",
    ]

    /// The damage, as a sentence without its period.
    var text: String {
        switch self {
        case .missingDirectory(let name): "the directory '\(name)' is missing"
        case .notADirectory(let name, let kind): "'\(name)' is \(kind.words), not a directory"
        case .directoryMode(let name, let mode):
            "the \(name == "." ? "queue directory" : "directory '\(name)'") has the mode \(octal(mode)), not 0700"
        case .fileModes(let name, let count): "\(InWords.count(count, "file")) in '\(name)' without the mode 0600"
        case .leftover(let path): "'\(path)' is a leftover of a writer that died"
        case .deadRun(let name, let claims): "the run '\(name)' died with \(InWords.count(claims, "operation")) claimed"
        case .interruptedMove(let path, let latest):
            "'\(path)' and '\(latest)' are the same file: a move was interrupted"
        case .earlierGeneration(let path, let latest): "'\(path)' is an older version of '\(latest)'"
        case .conflict(let path, let latest): "'\(path)' and '\(latest)' are two operations with the same id"
        case .unreadableState("state/format"): "'state/format' cannot be read: no other command uses the queue"
        case .unreadableState(let path): "'\(path)' cannot be read: runs begin again without its contents"
        case .orphanedReason(let path): "'\(path)' is the reason for a file that is gone"
        }
    }

    /// The repair by `--repair`, or the advice to a person.
    var remedy: String {
        switch self {
        case .missingDirectory: "'\(pasted("check", "--repair"))' makes it"
        case .notADirectory:
            "put a directory with its files in its place: only the queue as a whole may be a symbolic link"
        case .directoryMode, .fileModes: "'\(pasted("check", "--repair"))' sets it"
        case .leftover: "'\(pasted("check", "--repair"))' removes it, and so does the next run"
        case .deadRun: "'\(pasted("check", "--repair"))' returns its claims, and so does the next run"
        case .interruptedMove(_, let latest): "'\(pasted("check", "--repair"))' keeps the name '\(latest)'"
        case .earlierGeneration: "'\(pasted("check", "--repair"))' removes the older version"
        case .conflict: "move one of them out of the queue: drainq cannot know which one is right"
        case .unreadableState("state/format"): "'\(pasted("check", "--repair"))' writes it again"
        case .unreadableState: "'\(pasted("check", "--repair"))' moves it aside"
        case .orphanedReason: "'\(pasted("check", "--repair"))' removes it"
        }
    }

    /// The exit status while the damage exists.
    var status: ExitStatus {
        switch self {
        case .missingDirectory, .notADirectory: .noInput
        case .directoryMode, .fileModes: .permission
        case .leftover, .deadRun, .interruptedMove, .earlierGeneration: .deferred
        case .conflict: .dataInvalid
        case .unreadableState, .orphanedReason: .inputOutput
        }
    }
}

private func octal(_ mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}
