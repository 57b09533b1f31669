/// The operations of a destination that were refused with credentials that may be good. Each is parked until another
/// operation shows whether the operation or the credentials are to blame.
///
/// A refused operation is put back, uncharged. The next other operation with the same credentials is its witness, in
/// this run or a later one. If the witness is delivered, the parked operation alone is refused, and fails at its next
/// refusal. If the witness is refused with the same status, the credentials are to blame, and the destination is held.
/// A parked operation stops only operations of its own sequence. Without a witness it is attempted again by itself:
/// first after `firstWait`, then as often as a hold is probed.
///
/// At most `capacity` operations are parked: the last refused. An operation not refused again within `memory` is
/// forgotten: it is no longer in the queue, or is parked anew by its next refusal.
package struct Parking: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var id: OperationID
        package var createdAt: Timestamp
        /// The status of the refusal.
        package var status: Int
        /// The credentials that the operation was sent with, as their `RequestCredentials.mark`.
        package var credentials: String
        /// Whether they are the operation's own, see `RequestCredentials.areOwn`.
        package var areOwn = false
        /// The time of the last refusal.
        package var asked: Timestamp
        /// The number of refusals.
        package var times = 1
        /// Whether another operation with the same credentials has been delivered since.
        package var isWitnessed = false

        package var operation: Age { Age(createdAt: createdAt, id: id) }
    }

    /// The refusal of the credentials of one operation.
    package struct Refusal: Hashable, Sendable {
        package var operation: Age
        package var status: Int
        package var credentials: String
        package var areOwn = false
        /// The fingerprint of the destination's configuration and credentials, see `CredentialFingerprint`.
        package var blamed: String
    }

    package enum Decision: Hashable, Sendable {
        /// Who is to blame is not known yet: the operation waits for a witness.
        case park
        /// Another operation was delivered with the same credentials: this operation alone is refused.
        case fail
        /// Another operation was refused with the same status: the credentials are to blame.
        case hold
    }

    /// The parked operations, in the order of their last refusals.
    package private(set) var entries: [Entry]
    /// The fingerprint of configuration and credentials at the last refusal. If it changes, all entries are void.
    package private(set) var blamed: String?

    package static let capacity = 100
    package static let firstWait = Duration.seconds(300)
    package static let memory = Duration.seconds(2 * 86_400)

    package init(entries: [Entry] = [], blamed: String? = nil) {
        self.entries = Array(entries.suffix(Self.capacity))
        self.blamed = blamed
    }

    package var isEmpty: Bool { entries.isEmpty }

    package subscript(operation: Age) -> Entry? { entries.first { $0.operation == operation } }

    /// Decides on a refusal by the parked operations. `.hold` applies only if this run can attempt no other operation.
    package func decision(on refusal: Refusal) -> Decision {
        guard blamed == refusal.blamed else { return .park }
        let alike = entries.filter { $0.credentials == refusal.credentials }
        if alike.contains(where: { $0.operation == refusal.operation && $0.isWitnessed }) { return .fail }
        // One with the same id is no other operation: whoever was told of the refusal has handed it in again.
        let isShared = alike.contains {
            $0.id != refusal.operation.id && $0.status == refusal.status && !$0.isWitnessed
        }
        return isShared && !refusal.areOwn ? .hold : .park
    }

    /// Whether operations with these credentials of their own wait, because two of them were refused, or because this
    /// one was. Unlike other parked operations they have to be read first: their credentials may change at any time.
    package func withholds(
        _ credentials: String, from operation: Age, _ settings: DestinationSettings, at now: Timestamp
    ) -> Bool {
        let alike = entries.filter { $0.areOwn && $0.credentials == credentials && !$0.isWitnessed }
        let waiting = alike.filter { end(of: $0, settings, at: now) != nil }
        return waiting.contains { $0.operation == operation } || alike.count > 1 && !waiting.isEmpty
    }

    mutating func park(_ refusal: Refusal, at now: Timestamp) {
        if blamed != refusal.blamed { entries = [] }
        blamed = refusal.blamed
        let times = self[refusal.operation]?.times ?? 0
        entries.removeAll { $0.id == refusal.operation.id || now - $0.asked > Self.memory }
        entries.append(
            Entry(
                id: refusal.operation.id, createdAt: refusal.operation.createdAt, status: refusal.status,
                credentials: refusal.credentials, areOwn: refusal.areOwn, asked: now, times: min(times, 1_000) + 1))
        entries.removeFirst(max(0, entries.count - Self.capacity))
    }

    /// Notes a delivery with these credentials. The delivery says nothing about an operation refused after the
    /// delivered attempt began: the credentials may have been revoked in between.
    mutating func witness(_ credentials: String, began: Timestamp) {
        for index in entries.indices
        where entries[index].credentials == credentials && entries[index].asked <= began {
            entries[index].isWitnessed = true
        }
    }

    mutating func forget(_ operation: Age) {
        entries.removeAll { $0.operation == operation }
        if entries.isEmpty { blamed = nil }
    }

    /// Returns the time until which each operation waits for a witness. Leaves out operations that may be sent, and
    /// those that `withholds` decides on.
    package func waits(_ settings: DestinationSettings, at now: Timestamp) -> [Age: Timestamp] {
        var waits: [Age: Timestamp] = [:]
        for entry in entries where !entry.areOwn { waits[entry.operation] = end(of: entry, settings, at: now) }
        return waits
    }

    /// Returns the end of an operation's wait; `nil` if it does not wait.
    private func end(of entry: Entry, _ settings: DestinationSettings, at now: Timestamp) -> Timestamp? {
        guard !entry.isWitnessed, entry.asked <= now else { return nil }
        let every = settings.holdProbe ?? Self.memory
        let next = entry.asked + (entry.times > 1 ? every : min(Self.firstWait, every))
        return next > now ? next : nil
    }
}

extension Parking: StoredObject {
    package static let blank = Parking()
    package static let fields: [StoredField<Parking>] = [
        .init("blamed", \.blamed),
        .init("operations", \.entries, .always) { (read: [Entry]) in
            // An entry of an earlier version names no single operation, because ids are used again.
            read.filter { $0.createdAt != Entry.blank.createdAt }.suffix(capacity)
        },
    ]
}

extension Parking.Entry: StoredObject {
    package static let blank = Self(
        id: OperationID("0")!, createdAt: Timestamp(microseconds: 0), status: 0, credentials: "",
        asked: Timestamp(microseconds: 0))
    package static let fields: [StoredField<Self>] = [
        .init("id", \.id, .required),
        .init("createdAt", \.createdAt),
        .init("status", \.status, .required),
        .init("credentials", \.credentials),
        .init("own", \.areOwn),
        .init("asked", \.asked, .required),
        .init("times", \.times, .always, reading: counted(upTo: 1_000)),
        .init("witnessed", \.isWitnessed),
    ]
}
