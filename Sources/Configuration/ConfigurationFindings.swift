import Policy

/// The findings while a configuration is read: its errors, and the names that must be defined somewhere.
struct ConfigurationFindings {
    /// A use of a name that is defined elsewhere in the file, perhaps further down.
    struct Reference: Hashable, Sendable {
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
    private(set) var references: [Reference] = []
    /// The defined secrets. A secret with a wrong definition is included, so that it is one error and not two.
    var definedSecrets: Set<String> = []
    private var path: [String] = []

    init(directory: String) { self.directory = directory }

    mutating func add(_ reason: String, at position: SourcePosition, hint: String? = nil) {
        errors.append((position, path.isEmpty ? nil : path.joined(separator: "."), reason, hint))
    }

    /// Adds an error. Returns `nil`, for the value that cannot be read.
    mutating func refuse<Value>(_ reason: String, at position: SourcePosition, hint: String? = nil) -> Value? {
        add(reason, at: position, hint: hint)
        return nil
    }

    /// Adds an error about a value: `'3 apples' is not a size`. Returns `nil`.
    mutating func refuse<Value>(_ value: JSON5Value, _ words: String, hint: String?) -> Value? {
        refuse("\(value.quoted) \(words)", at: value.position, hint: hint)
    }

    mutating func addReference(_ kind: Reference.Kind, _ name: String, at position: SourcePosition) {
        references.append(Reference(kind: kind, name: name, position: position, path: path))
    }

    /// Adds an error about a name that was used earlier, once the whole file has been read.
    mutating func add(_ reason: String, about reference: Reference, hint: String?) {
        errors.append((reference.position, reference.path.joined(separator: "."), reason, hint))
    }

    /// Runs `body`. Its errors belong to the key `name` of the object that is being read.
    mutating func within<Result>(_ name: String, _ body: (inout ConfigurationFindings) -> Result) -> Result {
        path.append(name.utf8.contains(UInt8(ascii: ".")) ? quote(name) : name)
        defer { path.removeLast() }
        return body(&self)
    }

    /// Adds an error about members of an object together: at the one to change, or at the object if that is inherited.
    mutating func add(_ problem: RouteProblem, in object: JSON5Value.Member) {
        guard case .object(let members) = object.value.content, let key = problem.key else {
            add(problem.reason, at: object.position, hint: problem.hint)
            return
        }
        let parent = String(key.upTo("."))
        let name = String(key[parent.endIndex...].afterFirstByte)
        let position = members.first { $0.name == parent }?.value.position ?? object.position
        within(parent) { findings in
            if name.isEmpty { return findings.add(problem.reason, at: position, hint: problem.hint) }
            findings.within(name) { $0.add(problem.reason, at: position, hint: problem.hint) }
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
