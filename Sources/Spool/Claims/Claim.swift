package import Policy
import Synchronization

/// The exclusive right to attempt one operation.
package final class Claim: Sendable {
    package let name: EntryName
    /// `new` or `deferred`.
    package let from: QueueState
    /// The text of the name: written once for all paths, marks and lines.
    let fileName: String
    /// The directory of the file while it is claimed, and the file's path.
    let directory: QueuePath
    let path: QueuePath

    /// Whether the file is still in the run's directory.
    package var isOpen: Bool { place.withLock { $0.isOpen } }
    /// The mark of the file in the run's directory; `nil` without a mark.
    var mark: ClaimMarks.Mark? { place.withLock { $0.mark } }
    /// Both, which the run changes under its own lock, whether the end of a request is unknown, and whether a failure
    /// counts towards a storm.
    let place = Mutex<(isOpen: Bool, mark: ClaimMarks.Mark?, isUnknown: Bool, isOfStorm: Bool)>(
        (false, nil, false, false))

    /// Notes that a request with the operation may have arrived, and that no record says so: its agent died, or there
    /// was no room for the record.
    package func noteUnknownEnd() { place.withLock { $0.isUnknown = true } }

    /// Notes whether a failure of the operation counts towards a storm of its destination, before the failure.
    package func note(isOfStorm: Bool) { place.withLock { $0.isOfStorm = isOfStorm } }

    /// Whether a failure of the operation counts towards a storm.
    var isOfStorm: Bool { place.withLock { $0.isOfStorm } }

    /// Its name, with the unknown end if there is one.
    var nameAfter: EntryName { place.withLock(\.isUnknown) ? name.withUnknownEnd : name }

    init(_ name: EntryName, from: QueueState, in directory: QueuePath) {
        self.name = name
        self.from = from
        fileName = name.description
        self.directory = directory
        path = QueuePath(in: directory, fileName.utf8)
    }

    convenience init(_ name: EntryName, from: QueueState, by run: SpoolRun) {
        self.init(name, from: from, in: run.directory.path)
    }
}
