/// The target of a redirect that may be followed: `redirects: same-origin`.
package enum Redirect {
    /// The number of redirects followed in one attempt. The next redirect is the answer.
    package static let mostFollowed = 5

    /// Returns the address for the same request, with its method, headers and body; `nil` if the redirect is not
    /// followed, and is itself the answer.
    ///
    /// Follows only 301, 302, 307 and 308: a 303 asks for another method. Follows only to the same scheme, host and
    /// port, so no other server sees any of the request. Resolves `Location` as RFC 3986 §5 says.
    package static func target(of answer: AttemptReport.Answer, from url: String) -> String? {
        guard [301, 302, 307, 308].contains(answer.status), let location = answer.header("Location")?.utf8.trimmedText,
            // It had a byte that is no UTF-8: which one is not known any more.
            !location.unicodeScalars.contains("\u{FFFD}"),
            let base = URLParts(url), var target = resolve(location, against: base), target.origin == base.origin
        else { return nil }
        target.rest = Substring(removingDotSegments(target.rest))
        return try? target.encoded(as: location, ownedBy: .operation)
    }

    /// Resolves a reference by RFC 3986 §5.2.2, without removing dot segments.
    private static func resolve(_ reference: String, against base: URLParts) -> URLParts? {
        if hasScheme(reference) { return URLParts(reference) }
        if reference.begins(with: "//") { return URLParts("\(base.origin.scheme):\(reference)") }
        var target = base
        let basePath = base.rest.upTo("?#")
        switch reference.utf8.first.map(Unicode.Scalar.init) {
        case nil, "#": target.rest = base.rest.upTo("#")
        case "?": target.rest = basePath + reference
        case "/": target.rest = Substring(reference)
        default:
            // Everything behind the last slash of the base's path is replaced (§5.2.3).
            let folder =
                basePath.utf8.lastIndex(of: UInt8(ascii: "/")).map { basePath[..<basePath.utf8.index(after: $0)] }
                ?? "/"
            target.rest = folder + reference
        }
        return target
    }

    /// Whether the text begins with a letter, then letters, digits, `+`, `-` or `.`, then a colon (§3.1).
    private static func hasScheme(_ reference: String) -> Bool {
        let head = reference.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard head.endIndex < reference.utf8.endIndex, let first = head.first else { return false }
        return first | 0x20 >= UInt8(ascii: "a") && first | 0x20 <= UInt8(ascii: "z")
            && head.allSatisfy { $0.isIdentifierByte && $0 != UInt8(ascii: "_") || "+.".utf8.contains($0) }
    }

    /// Removes dot segments (§5.2.4) from the path alone.
    private static func removingDotSegments(_ rest: Substring) -> String {
        let path = rest.upTo("?#")
        let segments = path.pieces(at: "/").dropFirst().map { String($0) }
        return "/" + segments.withoutDotSegments.joined(separator: "/") + rest[path.endIndex...]
    }
}

extension [String] {
    /// The segments of a path without its dot segments (RFC 3986 §5.2.4).
    var withoutDotSegments: [String] {
        var kept: [String] = []
        for segment in self {
            if segment == ".." { _ = kept.popLast() } else if segment != "." { kept.append(segment) }
        }
        return last == "." || last == ".." ? kept + [""] : kept
    }
}
