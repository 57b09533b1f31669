import CSystem
package import Policy

extension SpoolDirectory {
    /// Returns when a file was published; `nil` if no file is there.
    package func timeOfPublished(_ path: String) -> Timestamp? {
        // try?: whoever publishes the file reports the error.
        (try? status(QueuePath(path), "look at")).flatMap { $0?.kind == .regular ? $0?.modifiedAt : nil }
    }

    /// Returns why no file can be published at the path; `nil` if its directory takes one.
    package func objectionToPublish(at path: String) -> String? {
        let file = QueuePath(path)
        do throws(Errno) {
            let status = try system.statusAt(root, file.parent.bytes)
            if ![.directory, .symbolicLink].contains(status.kind) { return "its directory is no directory" }
        } catch {
            return "its directory cannot be used: \(error)"
        }
        // try?: a missing file is published, and the run reports any other error.
        return (try? system.statusAt(root, file.bytes))?.kind == .directory ? "it is a directory" : nil
    }

    /// Replaces a file outside the queue in one step, readable by every user: a reader sees the old or the new file.
    /// Syncs nothing. Runs of this queue wait for each other. A crash may leave `.NAME.new` beside the file, which the
    /// next call overwrites.
    package func publish(_ bytes: [UInt8], at path: String) throws(SpoolError) {
        let file = QueuePath(path)
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let temporary = QueuePath(in: file.parent, Array(".\(name).new".utf8))
        let lock = try lockState()
        defer { lock.release() }
        try attempt("write", file) { () throws(Errno) in
            do throws(Errno) { try system.unlink(root, temporary.bytes) } catch let error where error == .missing {}
            try createFile(temporary, bytes, mode: 0o644, durable: false)
            do throws(Errno) {
                try replace(temporary, file)
            } catch {
                try? system.unlink(root, temporary.bytes)
                throw error
            }
        }
    }
}
