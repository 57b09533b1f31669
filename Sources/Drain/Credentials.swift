package import Policy

/// Where secrets and signed header fields come from, as a run needs it; a test gives another.
package struct Credentials {
    /// The secrets of these names as they are now, or why they are not there.
    package var values: (_ names: Set<String>) -> SecretValues
    /// After a 401: whether there are other ones now than those that were used.
    package var refresh: (_ used: SecretValues) -> Bool
    /// What tells one set of secrets from another, for `CredentialFingerprint`; looks at nothing that costs.
    package var material: (_ names: Set<String>) -> [UInt8]
    /// The header fields that a route's command answers for this request, or why it did not.
    package var signed: (_ command: [String], _ request: OutgoingRequest) -> Signed

    package enum Signed {
        case headers([HeaderField])
        case failure(reason: String)
    }

    package init(
        values: @escaping (_ names: Set<String>) -> SecretValues,
        refresh: @escaping (_ used: SecretValues) -> Bool,
        material: @escaping (_ names: Set<String>) -> [UInt8],
        signed: @escaping (_ command: [String], _ request: OutgoingRequest) -> Signed
    ) {
        self.values = values
        self.refresh = refresh
        self.material = material
        self.signed = signed
    }

    /// None at all: a route that names one holds its destination.
    package static let none = Credentials(
        values: { names in
            SecretValues(failures: Dictionary(uniqueKeysWithValues: names.map { ($0, "is not configured") }))
        },
        refresh: { _ in false }, material: { _ in [] },
        signed: { _, _ in .failure(reason: "cannot be run here") })
}
