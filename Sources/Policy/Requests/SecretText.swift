/// A text of the configuration in which `${secret:NAME}` stands for a secret.
package struct SecretText: Hashable, Sendable {
    private enum Part: Hashable {
        case text(String)
        case secret(String)
    }

    private static let opening = "${secret:"
    private let parts: [Part]

    /// Every other `$` and brace stands for itself; `problem(in:)` tells which were probably meant otherwise.
    package init(_ source: String) {
        guard source.utf8.contains(UInt8(ascii: "$")) else {
            parts = [.text(source)]
            return
        }
        var parts: [Part] = []
        var text = ""
        var rest = Substring(source)
        while let dollar = rest.firstIndex(of: "$") {
            text += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix(Self.opening), let close = rest.firstIndex(of: "}") {
                parts += [.text(text), .secret(String(rest[..<close].dropFirst(Self.opening.count)))]
                text = ""
                rest = rest[rest.index(after: close)...]
            } else {
                text += "$"
                rest = rest.dropFirst()
            }
        }
        self.parts = parts + [.text(text + rest)]
    }

    package var names: [String] {
        parts.compactMap { part in
            if case .secret(let name) = part { name } else { nil }
        }
    }

    /// The text with its secrets in their places, each in an encoding that the place asks for.
    ///
    /// A secret that is not there, is empty, or has a line break or another control character in it is thrown as
    /// missing: with it the request would be another one. What is thrown has nothing of the secret.
    package func expanded(
        with secrets: SecretValues, encoding: (String) -> String = { $0 }
    ) throws(RequestError) -> String {
        var result = ""
        for part in parts {
            switch part {
            case .text(let text): result += text
            case .secret(let name):
                guard let secret = secrets.values[name] else {
                    throw .missingSecret(name, reason: secrets.failures[name] ?? "is not configured")
                }
                if secret.isEmpty { throw .missingSecret(name, reason: "is empty") }
                if secret.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                    throw .missingSecret(name, reason: "has a line break or another control character in it")
                }
                result += encoding(secret)
            }
        }
        return result
    }

    /// What is wrong with a text of the configuration: a reference that is none, or one without a name.
    package static func problem(in text: String) -> RouteProblem? {
        let hint = "a secret is written ${secret:NAME}, and NAME is a key of 'secrets'"
        for name in SecretText(text).names where TypeName(name) == nil {
            return RouteProblem(reason: "'\(escapedForDisplay(name))' is no name of a secret", hint: hint)
        }
        var rest = Substring(text)
        while let dollar = rest.firstIndex(of: "$") {
            rest = rest[dollar...]
            if rest.hasPrefix("${"), !(rest.hasPrefix(opening) && rest.contains("}")) {
                let reference = rest.prefix { $0 != "}" }.prefix(40)
                let end = rest.contains("}") ? "}" : ""
                return RouteProblem(
                    reason: "'\(escapedForDisplay(reference))\(end)' stands for no secret", hint: hint)
            }
            rest = rest.dropFirst()
        }
        return nil
    }
}
