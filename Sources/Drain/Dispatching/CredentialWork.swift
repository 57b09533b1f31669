import Policy

/// Work for credentials, on a thread of its own, with its results.
final class CredentialWork {
    /// The request without a signature, and what the route's command gave for it.
    var signature: Attempt.Signature?
    /// Whether refused secrets have changed.
    var hasChanged = false
    private let body: (CredentialWork) -> Void

    init(_ body: @escaping (CredentialWork) -> Void) { self.body = body }

    func callAsFunction() { body(self) }
}
