/// The operations of a destination that were refused with credentials which may be good: parked until another operation
/// shows whether they, or the credentials, are to blame.
///
/// A refused operation is put back, uncharged. The next other one with the same credentials is its witness, in this run or a
/// later one: delivered, it shows that the parked one alone is refused, which then fails; refused alike, it shows that the
/// credentials are to blame, and the destination is held. A parked operation stops no other, but for those of its own
/// sequence. Where no witness comes it is asked again by itself, first after `firstPause`, then as often as a hold is probed.
///
/// Bounded: `capacity` operations, those that were asked last. One that was not asked for `memory` is forgotten: it has gone
/// meanwhile, or is asked anew.
package struct Parking: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package var id: OperationID
        /// The status of the refusal.
        package var status: Int
        /// The names of the credentials that it was sent with, see `RequestForm.credentials`.
        package var credentials: String
        package var since: Timestamp
        /// When it was asked last.
        package var asked: Timestamp
        /// How many times it was refused.
        package var times: Int
        /// Another one has been delivered with the same credentials since.
        package var isWitnessed: Bool

        package init(
            id: OperationID, status: Int, credentials: String, since: Timestamp, asked: Timestamp, times: Int = 1,
            isWitnessed: Bool = false
        ) {
            self.id = id
            self.status = status
            self.credentials = credentials
            self.since = since
            self.asked = asked
            self.times = times
            self.isWitnessed = isWitnessed
        }
    }

    /// An operation that the server has refused the credentials of.
    package struct Refusal: Hashable, Sendable {
        package var id: OperationID
        package var status: Int
        package var credentials: String
        /// The configuration and credentials of the destination, see `CredentialFingerprint`.
        package var blamed: String

        package init(id: OperationID, status: Int, credentials: String, blamed: String) {
            self.id = id
            self.status = status
            self.credentials = credentials
            self.blamed = blamed
        }
    }

    package enum Decision: Hashable, Sendable {
        /// Nobody knows yet: the operation waits for a witness.
        case park
        /// Others were delivered with the same credentials: the operation alone is refused.
        case fail
        /// Another one was refused alike: the credentials are to blame.
        case hold
    }

    /// In the order in which they were asked.
    package private(set) var entries: [Entry]
    /// The configuration and credentials at the last refusal. If they change, all entries are void.
    package private(set) var blamed: String?

    package static let capacity = 100
    package static let firstPause = Duration.seconds(300)
    package static let memory = Duration.seconds(2 * 86_400)

    package init(entries: [Entry] = [], blamed: String? = nil) {
        self.entries = Array(entries.suffix(Self.capacity))
        self.blamed = blamed
    }

    package var isEmpty: Bool { entries.isEmpty }

    package subscript(id: OperationID) -> Entry? { entries.first { $0.id == id } }

    /// Decides on a refusal where no other operation can be asked at once.
    package func decision(on refusal: Refusal) -> Decision {
        guard blamed == refusal.blamed else { return .park }
        let alike = entries.filter { $0.credentials == refusal.credentials }
        if alike.contains(where: { $0.id == refusal.id && $0.isWitnessed }) { return .fail }
        let isShared = alike.contains {
            $0.id != refusal.id && $0.status == refusal.status && !$0.isWitnessed
        }
        return isShared ? .hold : .park
    }

    mutating func park(_ refusal: Refusal, at now: Timestamp) {
        if blamed != refusal.blamed { entries = [] }
        blamed = refusal.blamed
        let known = self[refusal.id]
        entries.removeAll { $0.id == refusal.id || now - $0.asked > Self.memory }
        entries.append(
            Entry(
                id: refusal.id, status: refusal.status, credentials: refusal.credentials, since: known?.since ?? now,
                asked: now, times: min(known?.times ?? 0, 1_000) + 1))
        entries.removeFirst(max(0, entries.count - Self.capacity))
    }

    /// One was delivered with these credentials. Where its attempt began before another one was refused, the credentials may
    /// have been revoked in between: it says nothing of that one.
    mutating func witness(_ credentials: String, began: Timestamp) {
        for index in entries.indices
        where entries[index].credentials == credentials && entries[index].asked <= began {
            entries[index].isWitnessed = true
        }
    }

    mutating func forget(_ id: OperationID) {
        entries.removeAll { $0.id == id }
        if entries.isEmpty { blamed = nil }
    }

    /// Until when each waits for a witness; those that may be sent are not there.
    package func waits(_ settings: DestinationSettings, at now: Timestamp) -> [OperationID: Timestamp] {
        var waits: [OperationID: Timestamp] = [:]
        for entry in entries where !entry.isWitnessed && entry.asked <= now {
            let every = settings.holdProbe ?? Self.memory
            let next = entry.asked + (entry.times > 1 ? every : min(Self.firstPause, every))
            if next > now { waits[entry.id] = next }
        }
        return waits
    }
}
