import Policy

/// The places of results as written: a list of results may be missing.
struct ResultsDraft: Hashable, Sendable {
    var pointer: JSONPointer?
    var failed: JSONPointer?
    var match: JSONPointer?
    var status: JSONPointer?
    var error: JSONPointer?
}

extension ConfigurationValue<Batch> {
    static let batch = object("batch", of: ConfigurationKeys.batch, from: Batch(max: 1)) { batch, _, _ in batch }
}

extension ConfigurationValue<Batch.Results> {
    static let results = object("results", of: ConfigurationKeys.results, from: ResultsDraft()) {
        draft, position, findings in
        switch (draft.pointer, draft.failed) {
        case (nil, nil):
            return findings.refuse(
                "these results lack 'pointer'", at: position,
                hint:
                    "write { pointer: \"/items\" } for a list of results, or { failed: \"/errors\" } for a list of failures"
            )
        case (_?, _?):
            return findings.refuse(
                "these results have both 'pointer' and 'failed'", at: position,
                hint: "use 'pointer' for a list of all results, 'failed' for a list of failures")
        case (nil, _?) where draft.match == nil:
            return findings.refuse(
                "these results lack 'match'", at: position,
                hint:
                    "'match' is the place where a failure names its operation, as in { failed: \"/Failed\", match: \"/Id\" }"
            )
        case (let pointer?, nil), (nil, let pointer?):
            return Batch.Results(
                pointer: pointer, listsFailures: draft.failed != nil, match: draft.match, status: draft.status,
                error: draft.error)
        }
    }
}
