import CSystem
package import Policy

/// The id of one operation that `send` attempts before it is in any queue: row W, a file `reserved` with the id in it.
///
/// Until its release no other process adds an operation of that id: the process waits, and then finds the operation in
/// the queue, or knows that it is finished. The reservation ends with its process; the operation was never promised.
package final class Reservation {
    private let queue: SpoolDirectory
    private let scratch: ScratchDirectory

    fileprivate init(_ id: OperationID, _ queue: SpoolDirectory) throws(SpoolError) {
        self.queue = queue
        scratch = try ScratchDirectory(queue)
        let path = QueuePath(in: scratch.path, Self.file.utf8)
        do throws(SpoolError) {
            try queue.attempt("reserve an id in", path) { () throws(Errno) in
                try queue.createFile(path, Array(id.description.utf8), durable: false)
            }
        } catch {
            scratch.close()
            throw error
        }
        queue.reservations.insert(scratch.path)
    }

    /// Gives the id up. The operation is in the queue, was delivered, or is abandoned.
    package func release() {
        queue.reservations.remove(scratch.path)
        scratch.close()
    }

    fileprivate static let file = "reserved"
}

extension SpoolDirectory {
    /// Row – → W: reserves the id of an operation that is not in the queue. If an operation in the queue has the id,
    /// makes it durable and returns its state.
    package func reserve(_ id: OperationID) throws(SpoolError) -> (Reservation?, existing: QueueState?) {
        try withIDs([id], always: true) { found throws(SpoolError) in
            if let entry = found[id] {
                try syncExisting([entry])
                return (nil, entry.state)
            }
            return (try Reservation(id, self), nil)
        }
    }

    /// Returns the path at which another live process has reserved one of these ids; `nil` if there is none.
    func reservation(ofOneOf ids: Set<OperationID>) throws(SpoolError) -> QueuePath? {
        let tmp = QueuePath("tmp")
        for writer in try names(in: tmp) where LockedDirectory.isName(QueuePath.escaped(writer)) {
            let directory = QueuePath(in: tmp, writer)
            let path = QueuePath(in: directory, Reservation.file.utf8)
            if reservations.contains(directory) { continue }
            // Other users, who may write to tmp/ in some queues, reserve nothing.
            guard let status = try? system.statusAt(root, path.bytes), (try? knowsOwner(of: status)) == true,
                let bytes = try? readFile(path, limit: 64),
                let id = OperationID(String(decoding: bytes, as: UTF8.self)),
                ids.contains(id)
            else { continue }
            let isDead = try? LockedDirectory.isAbandoned(directory, name: QueuePath.escaped(writer), self)
            if isDead != true { return path }
        }
        return nil
    }
}
