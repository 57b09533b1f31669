import Policy

/// A configuration key: its name, its value and its description, which make a row of the manual.
package struct ConfigurationEntry: Hashable, Sendable {
    /// The path of the key from the top, with dots: `routes.<type>.timeouts.total`.
    package var path: String
    /// The value, as JSON5, if the key is left out; `nil` if there is none.
    package var defaultText: String?
    /// An example, as JSON5; `nil` if the default is one.
    package var exampleText: String?
    /// A few words for the key in the commented configuration.
    package var summary: String
    /// Sentences for the manual.
    package var prose: String
    /// Whether its object must have it.
    package var isRequired = false

    func prefixed(_ prefix: String) -> ConfigurationEntry {
        var entry = self
        entry.path = prefix + path
        return entry
    }
}

/// One key of the configuration: its entry, and the reading of its value into a `Draft`.
///
/// Reader, error messages, drainq-config(5) and the configuration of `drainq init` come from the rows of
/// `ConfigurationKeys`: a new key is added there and nowhere else.
struct ConfigurationKey<Draft>: Sendable {
    let entry: ConfigurationEntry
    /// The entries of the object behind this key; their paths begin below the key. A closure, because only the manual
    /// and the error for an unknown key need them, and reading a configuration must not wait for them.
    let members: @Sendable () -> [ConfigurationEntry]
    let shape: @Sendable () -> ConfigurationShape
    let read: @Sendable (JSON5Value, inout Draft, inout ConfigurationFindings) -> Void

    init<Value>(
        _ path: String, _ kind: ConfigurationValue<Value>, default defaultText: String? = nil,
        example exampleText: String? = nil, _ summary: String, _ prose: String,
        isRequired: Bool = false, set: @escaping @Sendable (inout Draft, Value) -> Void
    ) {
        entry = ConfigurationEntry(
            path: path, defaultText: defaultText, exampleText: exampleText, summary: summary,
            prose: prose, isRequired: isRequired)
        members = kind.members
        // A key without a default may be `null`, which leaves it out unless the kind of value gives it a meaning.
        let leavesOutNull = defaultText == nil && !kind.readsNull
        shape = { leavesOutNull && !isRequired ? .oneOf([kind.shape(), .null]) : kind.shape() }
        read = { value, draft, findings in
            if leavesOutNull, value.isNull { return }
            if let value = kind.read(value, &findings) { set(&draft, value) }
        }
    }

    init<Value>(
        _ path: String, _ kind: ConfigurationValue<Value>, default defaultText: String,
        example exampleText: String? = nil, _ summary: String, _ prose: String,
        into property: any WritableKeyPath<Draft, Value> & Sendable
    ) {
        self.init(path, kind, default: defaultText, example: exampleText, summary, prose) {
            $0[keyPath: property] = $1
        }
    }

    /// A key that may be `null`, which removes an inherited value.
    init<Value>(
        _ path: String, optional kind: ConfigurationValue<Value>, default defaultText: String? = nil,
        example exampleText: String, _ summary: String, _ prose: String,
        into property: any WritableKeyPath<Draft, Value?> & Sendable
    ) {
        self.init(path, kind.orNull, default: defaultText, example: exampleText, summary, prose) {
            $0[keyPath: property] = $1
        }
    }

    /// A key whose members have names of the user's. Each is an object of `keys`; `read` reads them. The manual calls
    /// such a name `placeholder`.
    init<Member>(
        _ path: String, by placeholder: String,
        of keys: @autoclosure @escaping @Sendable () -> [ConfigurationKey<Member>],
        example exampleText: String? = nil, _ summary: String, _ prose: String,
        read: @escaping @Sendable (JSON5Value, inout Draft, inout ConfigurationFindings) -> Void
    ) {
        entry = ConfigurationEntry(path: path, exampleText: exampleText, summary: summary, prose: prose)
        members = { keys().flatMap(\.entries).map { $0.prefixed(placeholder + ".") } }
        shape = { .oneOf([.map(.object(of: keys())), .null]) }
        self.read = { value, draft, findings in
            if !value.isNull { read(value, &draft, &findings) }
        }
    }

    /// The entries of the key and of all keys below it, with paths from the object that has the key.
    var entries: [ConfigurationEntry] { [entry] + members().map { $0.prefixed(entry.path + ".") } }
}

extension ConfigurationValue {
    /// Returns a kind of object with these keys, read into `draft`. If `finish` returns `nil` it has added an error.
    static func object<Draft: Sendable>(
        _ name: String, of keys: @autoclosure @escaping @Sendable () -> [ConfigurationKey<Draft>], from draft: Draft,
        finish: @escaping @Sendable (Draft, SourcePosition, inout ConfigurationFindings) -> Value?
    ) -> ConfigurationValue {
        ConfigurationValue(name, .object(of: keys()), members: { keys().flatMap(\.entries) }) { value, findings in
            var draft = draft
            let before = findings.errors.count
            readObject(value, by: keys(), into: &draft, &findings)
            return findings.errors.count > before ? nil : finish(draft, value.position, &findings)
        }
    }
}

/// Returns a hint that shows an object with the first of the keys that documents give a value.
private func sample<Draft>(of keys: [ConfigurationKey<Draft>], below prefix: String) -> String? {
    let entries = keys.lazy.map(\.entry).filter { $0.path.begins(with: prefix) }
    return entries.compactMap { entry -> String? in
        let name = String(Substring(entry.path.utf8.dropFirst(prefix.utf8.count)))
        guard !name.contains("."), let value = entry.exampleText ?? entry.defaultText else { return nil }
        return "an object is written in braces: { \(name): \(value) }"
    }.first
}

/// Reads the object `value` by a table of keys. A member that is no key of the table is an error, and so is a required
/// key that is missing.
///
/// `null` in the place of an object that several paths begin with is `null` for each of these keys that has no default.
func readObject<Draft>(
    _ value: JSON5Value, by keys: [ConfigurationKey<Draft>], into draft: inout Draft,
    _ findings: inout ConfigurationFindings, below prefix: String = ""
) {
    guard let members = findings.members(of: value, hint: sample(of: keys, below: prefix)) else { return }
    for member in members {
        // A dot in a member's name is an ordinary character; only in the tables does it stand for an object.
        let path = member.name.contains(".") ? nil : prefix + member.name
        findings.within(member.name) { findings in
            if let key = keys.first(where: { $0.entry.path == path }) {
                key.read(member.value, &draft, &findings)
            } else if let path, keys.contains(where: { $0.entry.path.begins(with: path + ".") }) {
                if member.value.isNull {
                    for key in keys where key.entry.path.begins(with: path + ".") && key.entry.defaultText == nil {
                        key.read(member.value, &draft, &findings)
                    }
                    return
                }
                readObject(member.value, by: keys, into: &draft, &findings, below: path + ".")
            } else {
                let names = keys.map(\.entry.path).filter { $0.begins(with: prefix) }.map { path in
                    String(Substring(path.utf8.dropFirst(prefix.utf8.count)).upTo("."))
                }
                findings.add(
                    "there is no such key", at: member.position, hint: hint(forUnknown: member.name, among: names))
            }
        }
    }
    guard prefix.isEmpty,
        let lacking = keys.first(where: { key in
            key.entry.isRequired && !members.contains { $0.name == key.entry.path && !$0.value.isNull }
        })
    else { return }
    findings.add(
        "'\(lacking.entry.path)' is missing", at: value.position,
        hint: "as in { \(lacking.entry.path): \(lacking.entry.exampleText ?? "…") }")
}

/// Returns a hint for an unknown key: a similar sibling, the same name in another place, or a list of the siblings.
private func hint(forUnknown name: String, among siblings: [String]) -> String {
    if let hint = didYouMean(name, among: siblings) { return hint }
    let elsewhere = ConfigurationKeys.entries.map(\.path).first { $0.ends(with: "." + name) }
    if let elsewhere { return "did you mean '\(elsewhere)'?" }
    var known: [String] = []
    for sibling in siblings where !known.contains(sibling) { known.append(sibling) }
    return "the keys here are \(known.joined(separator: ", "))"
}
