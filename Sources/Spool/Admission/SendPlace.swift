import CSystem
package import Policy

/// The place of one operation in its sequence, kept by a process that may still send it: row W, an empty file under the
/// operation's name.
///
/// `send` keeps a place while it waits for its next attempt, and so need not keep the sequence lock: no newer operation
/// of the sequence is sent meanwhile, and all other operations go on. `send` takes the place under the sequence lock.
/// The place ends with its process; the operation was never promised.
package final class SendPlace {
    private let scratch: ScratchDirectory

    fileprivate init(_ name: EntryName, _ queue: SpoolDirectory) throws(SpoolError) {
        scratch = try ScratchDirectory(queue)
        let path = scratch.path(named: name)
        do throws(SpoolError) {
            try queue.attempt("keep a place in", path) { () throws(Errno) in
                try queue.createFile(path, [], durable: false)
            }
        } catch {
            scratch.close()
            throw error
        }
    }

    /// Gives the place up.
    package func release() {
        scratch.close()
    }
}

extension SpoolDirectory {
    /// Row – → W: keeps the place of an operation that is not in the queue.
    package func keepPlace(of name: EntryName) throws(SpoolError) -> SendPlace {
        try SendPlace(name, self)
    }

    /// Streams the names of operations whose places are kept. A dead process keeps its place until the next run
    /// recovers. Other users, who may write to `tmp/` in some queues, keep none. Returns whether a writer has committed
    /// a batch and not ended it.
    func forEachSendPlace(_ body: (ListedName) -> Void) throws(SpoolError) -> Bool {
        let tmp = QueuePath("tmp")
        var hasBatch = false
        for writer in try names(in: tmp) where LockedDirectory.isName(QueuePath.escaped(writer)) {
            let path = QueuePath(in: tmp, writer)
            do throws(Errno) {
                guard try knowsOwner(of: system.statusAt(root, path.bytes)) else { continue }
                try system.list(root, path.bytes) { bytes in
                    if let name = ListedName(bytes) {
                        body(name)
                    } else if bytes.elementsEqual(CommittedBatch.file.utf8) {
                        hasBatch = true
                    }
                    return true
                }
            } catch let error where error == .missing || error == .notADirectory || error == .forbidden {
                // The writer has ended meanwhile, or is root and this process is not.
            } catch {
                throw SpoolError(error, "list", path)
            }
        }
        return hasBatch
    }
}
