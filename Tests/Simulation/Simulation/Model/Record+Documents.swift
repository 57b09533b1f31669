extension Record {
    /// Whether a merged document has the changes of an operation: each member has the value of the operation itself, or
    /// of a newer one. A member with the value of an older operation is none of the operation's changes.
    func document(_ document: Document, has life: Life) -> Bool {
        guard let patch = life.patch, document.covers(patch) else { return false }
        guard let names = patch.names else { return true }
        return names.allSatisfy { name in
            guard case .other(let text)? = document[name], let label = Label(text), label != life.label,
                let other = self.life(label)
            else { return true }
            return !other.precedes(life)
        }
    }
}
