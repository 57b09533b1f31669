package import Policy

/// The source of secrets and signed header fields for a run. Tests provide another.
package struct Credentials {
    /// Returns the current secrets of these names, or why they are not available.
    package var values: (_ names: Set<String>) -> SecretValues
    /// Looks up secrets again after a 401. Returns whether they differ from the used ones.
    package var refresh: (_ used: SecretValues) -> Bool
    /// Returns the header fields given by a route's command for this request.
    package var signed: (_ command: [String], _ request: OutgoingRequest) throws(RequestError) -> [HeaderField]

    package init(
        values: @escaping (_ names: Set<String>) -> SecretValues,
        refresh: @escaping (_ used: SecretValues) -> Bool,
        signed: @escaping (_ command: [String], _ request: OutgoingRequest) throws(RequestError) -> [HeaderField]
    ) {
        self.values = values
        self.refresh = refresh
        self.signed = signed
    }

    /// No secrets: a route that names one holds its destination.
    package static var none: Credentials {
        Credentials(
            values: { names in
                SecretValues(failures: Dictionary(uniqueKeysWithValues: names.map { ($0, "is not configured") }))
            },
            refresh: { _ in false },
            signed: { _, _ throws(RequestError) in throw .headersCommand(reason: "cannot be run here") })
    }
}
