/// The state of a destination as an object of the ledger's file. A field whose value is `nil`, false or 0 is left out.
extension DestinationState: StoredObject {
    package static let blank = DestinationState()
    package static let fields: [StoredField<DestinationState>] = [
        .init("hold", \.hold),
        .init("paused", \.isPaused),
        .init("released", \.released),
        .init("notBefore", \.notBefore),
        .init("asked", \.asked),
        .init("failures", \.failures, reading: counted(upTo: mostCounted)),
        .init("downSince", \.downSince),
        .init("lastFailure", \.lastFailure),
        .init("lastFailureAt", \.lastFailureAt),
        .init("coolDownUntil", \.coolDownUntil),
        .init("coolDowns", \.coolDowns, reading: counted(upTo: mostCounted)),
        .init("window", \.window, reading: counted(upTo: widest)),
        .init("lastSuccess", \.lastSuccess),
        .init("parked", \.parking),
        .init("storm", \.storm),
        .init("overload", \.overload),
        .init("incident", \.incident),
        .init("upSince", \.upSince),
        .init("http1Until", \.http1Until),
    ]
}

extension DestinationState.Storm: StoredObject {
    package static let blank = Self(status: 0, count: 0, at: Timestamp(microseconds: 0))
    package static let fields: [StoredField<Self>] = [
        .init("status", \.status, .required),
        .init("count", \.count, .required, reading: counted(upTo: DestinationState.mostCounted)),
        .init("at", \.at, .required),
        .init("ids", \.ids),
    ]
}

extension DestinationState.Hold: StoredObject {
    /// A hold without `since` counts as old: it is probed at once, unless a person made it.
    package static let blank = Self(reason: "unknown", since: Timestamp(microseconds: 0))
    package static let fields: [StoredField<Self>] = [
        .init("reason", \.reason, .always),
        .init("since", \.since, .always),
        .init("byHand", \.isByHand),
        .init("status", \.status),
        .init("blamed", \.blamed),
        .init("lastProbe", \.lastProbe),
        .init("cause", \.cause),
    ]
}
