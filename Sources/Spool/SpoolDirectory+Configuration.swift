import CSystem
import Policy

/// The queue's own configuration, `drainq.json`.
///
/// A queue without the file has the defaults, which keep no copies and make no keys. So the file's absence alone proves
/// nothing: an editor, a deployment or a `git checkout` may have taken it away for a moment. `state/configured` says
/// that the queue has had one: then a missing file is an error, until it is back.
extension SpoolDirectory {
    private static let configured = "state/configured"

    /// Whether the queue at `path` has had a configuration of its own.
    package static func hasHadConfiguration(at path: String) -> Bool {
        var status = stat()
        return lstat("\(path)/\(configured)".rawCString, &status) == 0
    }

    /// Notes that the queue has a configuration of its own.
    package func noteConfiguration() {
        let path = QueuePath(Self.configured)
        // try?: without the note a missing file is a queue with the defaults.
        if (try? exists(path)) == false { try? createFile(path, [], durable: false) }
    }

    /// Writes the configuration of a new queue, with mode 0600 whatever the umask; false if the queue has a
    /// configuration already.
    package func createConfiguration(_ text: String) throws(SpoolError) -> Bool {
        let path = QueuePath("drainq.json")
        defer { noteConfiguration() }
        return try attempt("write", path) { () throws(Errno) in
            do throws(Errno) {
                try createFile(path, Array(text.utf8), durable: true)
            } catch let error where error == .exists {
                return false
            }
            try sync(path.parent)
            return true
        }
    }
}
