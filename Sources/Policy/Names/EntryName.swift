/// The canonical name of an operation's file. The name has all that choosing needs: a run opens only what it attempts.
///
/// ```
/// name      = createdAt "-" id *( "," field ) ( ".json" / ".input" )
/// createdAt = YYYYMMDD "T" hhmmss "." uuuuuu "Z"          ; UTC, microseconds, sorts as text
/// field     = "r=" type        ; left out for the type "default"
///           / "k=" digest      ; of the key:    first 24 hex digits of its SHA-256
///           / "o=" digest      ; of the origin of the operation's own url, likewise
///           / "a=" count       ; attempts made, left out when 0, 1–9999
///           / "i=" count       ; interrupted claims since the last settled attempt, left out when 0, 1–99
///           / "h=1"            ; held by itself until an operator releases it, left out otherwise
///           / "n=" time        ; not before (set by the operation)
///           / "t=" time        ; due (set by the schedule); never together with "n="
/// time      = YYYYMMDD "T" hhmmss [ "." mmm ] "Z"         ; the fraction is left out when it is 000
/// ```
/// Fields stand in this order, each at most once. A name is at most 255 bytes. `init?` and `description` are inverse:
/// `description` gives back a text that `init?` accepts, byte for byte. `.input` stands only in `quarantine/`, for
/// bytes that ask for the operation: readers of order find it there, and nothing reads it as an operation's file.
package struct EntryName: Hashable, Sendable {
    /// The reason why an entry is not attempted now.
    package enum Gate: Hashable, Sendable {
        case open
        /// Set by the operation: must not be sent before this time, however far away.
        case notBefore(Timestamp)
        /// Set by the schedule. A time further away than the schedule could have set counts as due (clocks jump).
        case retryAt(Timestamp)
    }

    package var createdAt: Timestamp
    package var id: OperationID
    package var type: TypeName
    package var keyDigest: Digest?
    package var originDigest: Digest?
    package var attempts: Int
    package var interruptions: Int
    /// The number of requests that may have arrived and whose end nobody knows, because a run or an agent died; at most
    /// 9. Unlike `interruptions` it never falls: neither an answer nor a person changes what has happened.
    package var unknowns: Int
    /// Held by itself: never due until an operator releases it.
    package var isHeld: Bool
    package var gate: Gate
    /// Whether the file has bytes that ask for the operation, and is not the operation's own.
    package var isInput: Bool

    package init(
        createdAt: Timestamp, id: OperationID, type: TypeName = .default, keyDigest: Digest? = nil,
        originDigest: Digest? = nil, attempts: Int = 0, interruptions: Int = 0, unknowns: Int = 0,
        isHeld: Bool = false, gate: Gate = .open, isInput: Bool = false
    ) {
        self.createdAt = createdAt
        self.id = id
        self.type = type
        self.keyDigest = keyDigest
        self.originDigest = originDigest
        self.attempts = attempts
        self.interruptions = interruptions
        self.unknowns = unknowns
        self.isHeld = isHeld
        self.gate = gate
        self.isInput = isInput
    }

    /// Hashes the parts that tell names apart in practice; `==` compares the rest.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(createdAt)
        hasher.combine(id)
    }
}

/// The first 96 bits of a SHA-256, as 24 lower-case hex digits: `printf %s KEY | sha256sum | cut -c1-24`.
package struct Digest: Hashable, Sendable {
    let first: UInt64
    let last: UInt32
}
