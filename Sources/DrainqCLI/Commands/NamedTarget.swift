import Policy
import Spool

/// The name of an operation (its id) or of a file in quarantine, as a user gives it to a command.
/// `drainq list` shows both.
enum NamedTarget: Hashable, CustomStringConvertible {
    case id(OperationID)
    case file(String)

    init?(_ text: String) {
        let folder = "quarantine/"
        if !text.hasPrefix(folder), let id = OperationID(text) {
            self = .id(id)
            return
        }
        let name = text.hasPrefix(folder) ? String(text.dropFirst(folder.count)) : text
        // An id has no dot; the name of every file in quarantine has one.
        guard name.contains("."), !name.contains("/") else { return nil }
        self = .file(name)
    }

    var description: String {
        switch self {
        case .id(let id): id.description
        case .file(let name): name
        }
    }
}

extension NamedTarget {
    /// The hint if nothing has this name.
    var hint: String {
        // `jq .id` prints `null` for a file in quarantine, which has no id.
        description == "null"
            ? "what is in quarantine has no id: give its path, or the whole line of drainq list --json" : pasted("list")
    }
}

/// The operation or file that a target names.
enum FoundTarget {
    case operation(Entry)
    case quarantined(QuarantineItem)
}

extension OpenQueue {
    /// Returns the operations and files of these names. An id means a file in quarantine only if no operation has it.
    func found(_ targets: [NamedTarget]) throws(SpoolError) -> [NamedTarget: [FoundTarget]] {
        let wanted = Set(targets)
        var found: [NamedTarget: [FoundTarget]] = [:]
        for state in QueueState.allCases where state != .quarantine {
            try spool.forEachEntry(in: state) {
                let target = NamedTarget.id($0.name.id)
                if wanted.contains(target) { found[target, default: []].append(.operation($0)) }
            }
        }
        let missing = wanted.subtracting(found.keys)
        if missing.isEmpty { return found }
        for item in try spool.quarantined() {
            for target in [NamedTarget.file(item.fileName), item.name.map { .id($0.id) }] {
                if let target, missing.contains(target) { found[target, default: []].append(.quarantined(item)) }
            }
        }
        return found
    }
}

/// Returns the names among the operands. `-` reads names from standard input, one a line: text, or NDJSON objects as
/// `list` prints them.
func namedTargets(_ operands: [String]) throws -> [NamedTarget] {
    try operands.flatMap { operand in
        if operand != "-" { return [try target(operand)] }
        var targets: [NamedTarget] = []
        while let line = readLine() {
            let text = line.trimmed
            if text.isEmpty { continue }
            targets.append(try target(text.hasPrefix("{") ? nameInObject(text) : text.unquoted))
        }
        return targets
    }
}

private func target(_ text: String) throws -> NamedTarget {
    guard let target = NamedTarget(text) else {
        throw CommandFailure(.usage, "'\(text)' is not an id", hint: "an id is 1 to 64 of A-Z a-z 0-9 _ -")
    }
    return target
}

private func nameInObject(_ text: String) throws -> String {
    let bytes = Array(text.utf8)
    let members = (try? JSONScanner.members(of: bytes, in: 0..<bytes.count)) ?? []
    func string(_ name: String) -> String? {
        members.first { $0.name == name }.map { String(decoding: bytes[$0.value], as: UTF8.self).unquoted }
    }
    if let path = string("path"), path.hasPrefix("quarantine/") { return path }
    guard let id = string("id") else {
        throw CommandFailure(.dataInvalid, "a line of standard input is no object with an 'id'")
    }
    return id
}

extension String {
    fileprivate var trimmed: String {
        let kept = drop { $0.isWhitespace }
        return String(kept[..<(kept.lastIndex { !$0.isWhitespace }.map(kept.index(after:)) ?? kept.startIndex)])
    }

    /// The text without the quotation marks that `jq` leaves around a string.
    fileprivate var unquoted: String {
        utf8.count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}
