/// The credentials that a request was made with. Two requests with equal credentials had the same values: a server
/// accepts or refuses both alike.
///
/// A hash in memory, of the inputs and not of the finished request: a signature or a token may differ from request to
/// request. Contains no value.
package struct RequestCredentials: Hashable, Sendable {
    private let hash: [UInt8]
    /// Whether an operation brings credentials of its own. Such credentials say nothing about the destination's other
    /// operations, so their refusal never holds the destination.
    package let areOwn: Bool

    /// The credentials of a request that was not made.
    package static let unknown = RequestCredentials([], areOwn: false)

    /// Creates the credentials from their inputs: texts in a fixed order.
    package init(_ inputs: [String], areOwn: Bool) {
        hash = SHA256.hash(inputs.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) })
        self.areOwn = areOwn
    }

    /// Returns the text that stands for the credentials in the ledger: 16 digits of a hash under the queue's key.
    ///
    /// The text decides whether an operation fails for good, so different credentials must differ in it. With 64 bits,
    /// a million users with tokens of their own have a common text once in 37 million queues. So long a text would let
    /// a reader of the ledger test guesses of a password; without the key, which stands in a file of its own
    /// (`state/key`), he cannot. A reader of both files is a user who can read the operations, and the secrets too.
    package func mark(key: String) -> String {
        SHA256.hexadecimal(Array(SHA256.authenticate(hash, key: Array(key.utf8)).prefix(8)))
    }
}

/// The texts by which the control of a destination writes down what it blames.
package struct Fingerprints {
    /// Returns the `CredentialFingerprint` of the destination now, which takes time.
    package let blamed: () -> String
    /// Returns the text that stands for credentials in the ledger.
    package let mark: (RequestCredentials) -> String

    package init(blamed: @escaping () -> String, mark: @escaping (RequestCredentials) -> String) {
        self.blamed = blamed
        self.mark = mark
    }
}
