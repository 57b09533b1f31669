package import Policy

/// The source of secrets and signed header fields for a run. Tests provide another.
package struct Credentials {
    /// Returns the current secrets of these names, or why they are not available. `files` are those of an
    /// operation's own.
    package var values: (_ names: Set<String>, _ files: [String: String]) -> SecretValues
    /// Looks up secrets again after a 401. Returns whether they differ from the used ones.
    package var refresh: (_ used: SecretValues) -> Bool
    /// Returns the header fields given by a route's command for this request.
    package var signed: (_ command: [String], _ request: OutgoingRequest) throws(RequestError) -> [HeaderField]

    /// Whether `values` has to wait for a command or an endpoint.
    package var mayWait: (_ names: Set<String>) -> Bool = { _ in false }
    /// Whether a run waits beside its deliveries, on threads. If not, on its own thread.
    package var waitsBeside = false

    package init(
        values: @escaping (_ names: Set<String>, _ files: [String: String]) -> SecretValues,
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
            values: { names, _ in
                SecretValues(failures: Dictionary(uniqueKeysWithValues: names.map { ($0, "is not configured") }))
            },
            refresh: { _ in false },
            signed: { _, _ throws(RequestError) in throw .headersCommand(reason: "cannot be run here") })
    }
}
