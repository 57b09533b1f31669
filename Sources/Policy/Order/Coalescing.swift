/// The newest waiting operation of each key. Takes in names, then proposes for each a newer one (`ReplacementRule`).
package struct Coalescing: Sendable {
    package let rule: ReplacementRule
    private var newest: [SequenceKey: EntryName] = [:]

    package init(_ rule: ReplacementRule) { self.rule = rule }

    /// Takes in an operation that waits or is about to wait.
    package mutating func note(_ name: EntryName) {
        guard rule.mayReplace(name), let group = rule.group(of: name) else { return }
        if newest[group].map({ Age($0) < Age(name) }) ?? true { newest[group] = name }
    }

    /// Whether a noted operation replaces this one.
    package func isSuperseded(_ name: EntryName) -> Bool { newer(than: name) != nil }

    /// Returns the noted operation that replaces this one; `nil` if none does.
    package func newer(than name: EntryName) -> EntryName? {
        guard let group = rule.group(of: name), let newest = newest[group], Age(name) < Age(newest) else { return nil }
        return newest
    }
}
