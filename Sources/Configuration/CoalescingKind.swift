/// The values of `coalesce` of a route.
enum CoalescingKind: Hashable, Sendable {
    case none
    case replace
    case merge
}

extension ConfigurationValue<CoalescingKind> {
    static let coalescing = ConfigurationValue(
        "true, false or merge", .oneOf([.boolean, .words(["merge"])])
    ) { value, findings in
        if value.string == "merge" { return .merge }
        if case .boolean(let truth) = value.content { return truth ? .replace : CoalescingKind.none }
        return findings.refuse(
            value, "is neither true, false nor \"merge\"", hint: "\"merge\" is for a PATCH with a JSON Merge Patch")
    }
}
