/// One header or trailer field as it is sent. Names keep their case.
package struct HeaderLine: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Reads `"Retry-After: 5"`. Blanks after the colon are not part of the value.
    package init(stringLiteral text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(String(parts[0]), parts.count == 2 ? String(parts[1].drop { $0 == " " }) : "")
    }

    package var description: String { "\(name): \(value)" }
}

extension [HeaderLine] {
    /// Returns the value of the first field of that name, compared without case (RFC 9110 §5.1).
    package func first(_ name: String) -> String? {
        let sought = name.lowercased()
        return first { $0.name.lowercased() == sought }?.value
    }
}
