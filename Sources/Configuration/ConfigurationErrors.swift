import Policy

/// An error in a configuration file, with its place.
package struct ConfigurationError: Hashable, Sendable, CustomStringConvertible {
    /// The file's name, as the caller gave it.
    package var file: String
    package var line: Int
    /// The column in Unicode scalars, from 1.
    package var column: Int
    /// The key, from the top: `routes.default.timeouts.total`; `nil` if the text is not JSON5.
    package var path: String?
    /// The error in lower case, without a period: `'2 minuts' is not a duration`.
    package var reason: String
    /// A fact or a command that helps to correct the error.
    package var hint: String?

    /// `drainq.json:12:26: routes.default.timeouts.total: '2 minuts' is not a duration`
    ///
    /// Contains the user's text as written: the printer escapes control characters.
    package var description: String {
        "\(file):\(line):\(column): " + (path.map { "\($0): " } ?? "") + reason
    }
}

/// The errors of one configuration file: at least one, in the order of the file, at most `maximumCount`.
package struct ConfigurationErrors: Error, Hashable, Sendable, CustomStringConvertible {
    package static let maximumCount = 10

    package var errors: [ConfigurationError]
    /// The number of errors beyond the first ten.
    package var omitted: Int

    /// The errors, one a line, without their hints.
    package var description: String {
        (errors.map(\.description) + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}

/// The findings while a configuration is read: its errors, and the names that must be defined somewhere.
struct ConfigurationFindings {
    /// A use of a name that is defined elsewhere in the file, perhaps further down.
    struct NamedPlace: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case secret
            case destination
            /// A name in `{kept.NAME}`.
            case keptValue
        }

        var kind: Kind
        var name: String
        var position: SourcePosition
        fileprivate var path: [String]
    }

    /// The absolute directory from which relative paths in the file start.
    let directory: String
    private(set) var errors: [(position: SourcePosition, path: String?, reason: String, hint: String?)] = []
    private(set) var mentions: [NamedPlace] = []
    /// The defined secrets. A secret with a wrong definition is included, so that it is one error and not two.
    var definedSecrets: Set<String> = []
    private var path: [String] = []

    init(directory: String) {
        self.directory = directory
    }

    var isEmpty: Bool { errors.isEmpty }

    mutating func add(_ reason: String, at position: SourcePosition, hint: String? = nil) {
        errors.append((position, path.isEmpty ? nil : path.joined(separator: "."), reason, hint))
    }

    mutating func mention(_ kind: NamedPlace.Kind, _ name: String, at position: SourcePosition) {
        mentions.append(NamedPlace(kind: kind, name: name, position: position, path: path))
    }

    /// Adds an error about a name that was used earlier, once the whole file has been read.
    mutating func add(_ reason: String, about mention: NamedPlace, hint: String?) {
        errors.append((mention.position, mention.path.joined(separator: "."), reason, hint))
    }

    /// Runs `body`. Its errors belong to the key `name` of the object that is being read.
    mutating func within<Result>(_ name: String, _ body: (inout ConfigurationFindings) -> Result) -> Result {
        path.append(name.utf8.contains(UInt8(ascii: ".")) ? quote(name) : name)
        defer { path.removeLast() }
        return body(&self)
    }

    /// Adds an error about the members of an object together: at the member that must be changed, or at the object if
    /// that member is inherited.
    mutating func add(_ problem: RouteProblem, in object: JSON5Value.Member) {
        guard case .object(let members) = object.value.content, let key = problem.key else {
            add(problem.reason, at: object.position, hint: problem.hint)
            return
        }
        let names = key.split(separator: ".", maxSplits: 1).map(String.init)
        let position = members.first { $0.name == names[0] }?.value.position ?? object.position
        within(names[0]) { findings in
            if names.count == 1 { return findings.add(problem.reason, at: position, hint: problem.hint) }
            findings.within(names[1]) { $0.add(problem.reason, at: position, hint: problem.hint) }
        }
    }

    /// Returns the members of an object, each name once; `nil`, and an error, if the value is no object.
    mutating func members(of value: JSON5Value, hint: String? = nil) -> [JSON5Value.Member]? {
        guard case .object(let members) = value.content else {
            add("\(value.quoted) is not an object", at: value.position, hint: hint)
            return nil
        }
        var first: [JSONName: SourcePosition] = [:]
        return members.filter { member in
            let name = JSONName(member.name)
            guard let earlier = first.updateValue(member.position, forKey: name) else { return true }
            first[name] = earlier
            within(member.name) { findings in
                findings.add(
                    "this key is written twice", at: member.position, hint: "the other one is in line \(earlier.line)")
            }
            return false
        }
    }

    /// Returns the errors of `file`, in its order; `nil` if there are none.
    func errors(in file: String) -> ConfigurationErrors? {
        if errors.isEmpty { return nil }
        let sorted = errors.enumerated().sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
        let all = sorted.map { _, finding in
            ConfigurationError(
                file: file, line: finding.position.line, column: finding.position.column, path: finding.path,
                reason: finding.reason, hint: finding.hint)
        }
        return ConfigurationErrors(
            errors: Array(all.prefix(ConfigurationErrors.maximumCount)),
            omitted: max(0, all.count - ConfigurationErrors.maximumCount))
    }
}

/// Returns a hint that names the nearest known word; `nil` if none is near.
func didYouMean(_ word: String?, among known: [String]) -> String? {
    word.flatMap { nearest(to: $0, in: known) }.map { "did you mean '\($0)'?" }
}
