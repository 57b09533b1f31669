import CSystem
import Policy
import Spool

/// A reader of HTTP responses as `curl -i` prints them: a status line, header fields, an empty line and the body.
///
/// Skips responses that curl prints before the last one: interim responses, and those of a proxy or of redirects.
enum RecordedAnswer {
    /// The most bytes of a file that are read.
    private static let maximumBytes = 64 * 1_048_576

    /// Reads the answer in a file, `-` being standard input. Keeps `limit` bytes of its body, as an attempt does.
    static func read(_ path: String, limit: Int) throws(CommandFailure) -> AttemptReport.Answer {
        let name = path == "-" ? "standard input" : path
        let bytes: [UInt8]
        do throws(Errno) {
            bytes =
                if path == "-" {
                    try contents(of: STDIN_FILENO, upTo: maximumBytes)
                } else {
                    try contents(of: path, upTo: maximumBytes)
                }
        } catch {
            throw CommandFailure(.inputOutput, "cannot read '\(name)': \(error)")
        }
        var answer = try parse(bytes, name: name)
        answer.isCut = answer.body.count > limit
        answer.body = Array(answer.body.prefix(limit))
        return answer
    }

    static func parse(_ bytes: [UInt8], name: String) throws(CommandFailure) -> AttemptReport.Answer {
        func failure(_ line: Int, _ reason: String) -> CommandFailure {
            CommandFailure(
                .dataInvalid, "cannot explain '\(name)': line \(line) \(reason)",
                hint: "'curl -i URL' prints an answer in the right form")
        }
        var rest = bytes[...]
        var number = 0
        func line() -> String {
            number += 1
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let text = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[end...].dropFirst()
            return text.ends(with: "\r") ? String(Substring(text.utf8.dropLast())) : text
        }
        var answer: AttemptReport.Answer
        repeat {
            guard let status = status(of: line()) else {
                throw failure(number, "is not a status line such as HTTP/1.1 200 OK")
            }
            answer = AttemptReport.Answer(status: status)
            while !rest.isEmpty {
                let text = line()
                if text.isEmpty { break }
                guard let field = HeaderField(argument: text) else { throw failure(number, "is not a header field") }
                answer.headers.append(field)
            }
        } while rest.starts(with: "HTTP/".utf8) && isFollowed(rest)
        answer.body = Array(rest)
        return answer
    }

    /// Whether another head follows a head.
    private static func isFollowed(_ rest: ArraySlice<UInt8>) -> Bool {
        status(
            of: String(decoding: rest.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }, as: UTF8.self))
            != nil
    }

    /// Returns the status of `HTTP/1.1 200 OK` or `HTTP/2 200`; `nil` for any other line.
    private static func status(of line: String) -> Int? {
        let words = line.pieces(at: " ")
        guard words.count >= 2, words[0].begins(with: "HTTP/"), words[1].utf8.count == 3,
            let status = Int(words[1]), (100...999).contains(status)
        else { return nil }
        return status
    }
}
