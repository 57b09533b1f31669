import Policy

/// The place of results as it is written: without a pointer it says nothing.
struct ResultsDraft: Hashable, Sendable {
    var pointer: JSONPointer?
    var status: JSONPointer?
    var error: JSONPointer?
}

extension ConfigurationValue<Batch> {
    /// A `max` of 0 is none.
    static let batch = object("batch", of: ConfigurationKeys.batch, from: Batch(max: 0)) { batch, position, findings in
        if batch.max > 0 { return batch }
        findings.add("this batch lacks 'max'", at: position, hint: "how many go together, as in { max: 100 }")
        return nil
    }
}

extension ConfigurationValue<Batch.Results> {
    static let results = object("results", of: ConfigurationKeys.results, from: ResultsDraft()) {
        draft, position, findings in
        guard let pointer = draft.pointer else {
            findings.add(
                "these results lack 'pointer'", at: position, hint: "where their list is, as in { pointer: \"/items\" }"
            )
            return nil
        }
        return Batch.Results(pointer: pointer, status: draft.status, error: draft.error)
    }
}
