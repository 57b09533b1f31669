import Policy

/// A piece of HTML. Text of others enters it only through `text`, which escapes.
struct HTML: ExpressibleByStringInterpolation {
    private(set) var source: String

    init(stringLiteral value: String) { source = value }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        init(literalCapacity: Int, interpolationCount: Int) { source.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { source += literal }

        /// Adds a text, escaped: whatever it is, it stays text.
        mutating func appendInterpolation(_ text: String) { source += HTML.escaped(text) }

        mutating func appendInterpolation(_ number: Int) { source += "\(number)" }

        mutating func appendInterpolation(_ piece: HTML) { source += piece.source }

        mutating func appendInterpolation(_ pieces: [HTML]) { for piece in pieces { source += piece.source } }
    }

    init(stringInterpolation: StringInterpolation) { source = stringInterpolation.source }

    static func += (left: inout HTML, right: HTML) { left.source += right.source }

    /// Returns the text with references in place of what markup is made of, and with control characters shown.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in escapedForDisplay(text).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
