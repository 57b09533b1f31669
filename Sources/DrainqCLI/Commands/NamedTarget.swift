import Drain
import Policy

extension NamedTarget {
    /// The hint if nothing has this name.
    var hint: String {
        // `jq .id` prints `null` for a file in quarantine, which has no id.
        description == "null"
            ? "a file in quarantine has no id: give its path, or the whole line of 'drainq list --json'"
            : pasted("list")
    }
}

/// Returns the names among the operands, each once. `-` reads names or NDJSON objects of `list` from standard input.
/// Throws if it cannot be read to its end, or has no name: the command before it in a pipeline may have failed.
func namedTargets(_ operands: [String]) throws -> [NamedTarget] {
    var seen: Set<NamedTarget> = []
    return try operands.flatMap { $0 == "-" ? try namesOnStandardInput() : [try target($0)] }
        .filter { seen.insert($0).inserted }
}

/// The most bytes of a list of names, enough for millions.
private let longestList = 256 << 20

private func namesOnStandardInput() throws -> [NamedTarget] {
    var targets: [NamedTarget] = []
    for (index, line) in try InputSource("-").lines(upTo: longestList).enumerated() {
        let text = String(decoding: line, as: UTF8.self).trimmed
        if text.isEmpty { continue }
        let place = " in line \(index + 1) of standard input"
        targets.append(try target(text.hasPrefix("{") ? nameInObject(text, place) : text.unquoted, place))
    }
    if targets.isEmpty {
        throw CommandFailure(
            .noInput, "there is no id on standard input",
            hint: "the command that prints the ids may have failed, or found no operation")
    }
    return targets
}

/// Returns the target that the text names. Errors contain the `place` of the text.
private func target(_ text: String, _ place: String = "") throws -> NamedTarget {
    guard let target = NamedTarget(text) else {
        let hint =
            text.contains("://")
            ? "commands that take a destination take it with --destination"
            : "an id is 1 to 64 characters of A-Z a-z 0-9 _ -"
        throw CommandFailure(.usage, "'\(text)'\(place) is not an id", hint: hint)
    }
    return target
}

private func nameInObject(_ text: String, _ place: String) throws -> String {
    let bytes = Array(text.utf8)
    let members = (try? JSONScanner.members(of: bytes, in: 0..<bytes.count)) ?? []
    func string(_ name: String) -> String? {
        members.first { $0.name == name }.map { String(decoding: bytes[$0.value], as: UTF8.self).unquoted }
    }
    if let path = string("path"), path.hasPrefix("quarantine/") { return path }
    guard let id = string("id") else {
        throw CommandFailure(
            .dataInvalid, "the object\(place) has no 'id'",
            hint: "'\(pasted("list", "--json"))' prints such objects")
    }
    return id
}

extension String {
    var trimmed: String {
        let kept = drop { $0.isWhitespace }
        return String(kept[..<(kept.lastIndex { !$0.isWhitespace }.map(kept.index(after:)) ?? kept.startIndex)])
    }

    /// The text without the quotation marks around a string, as `jq` and structured fields (RFC 8941 §3.3.3) have it.
    var unquoted: String {
        utf8.count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}
