import Policy

/// Returns the transport that `DRAINQ_TRANSPORT` names; `nil` if the variable is unset or empty.
func transport(of environment: [String: String]) throws(UsageError) -> Transport? {
    guard let text = environment["DRAINQ_TRANSPORT"], !text.isEmpty else { return nil }
    if let transport = Transport(rawValue: text) { return transport }
    throw UsageError(
        "DRAINQ_TRANSPORT is '\(text)', which is not one of \(Transport.allCases.map(\.rawValue).joined(separator: ", "))",
        hint: "unset it to leave the choice to drainq")
}
