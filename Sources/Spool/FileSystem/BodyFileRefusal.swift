package import CSystem

/// Why a file cannot be the body of an operation.
package enum BodyFileRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The configuration names no directory for body files.
    case noRoots
    case notAbsolute
    /// The file is in none of the allowed directories: its real path.
    case outside(String)
    case missing
    case notAFile(FileStatus.Kind)
    case notReadable(Errno)
    /// The file has content and no size, as the files of /proc do.
    case withoutSize
    /// The file is not what it was when the operation was added: its bytes now, and its bytes then.
    case changed(length: Int, before: Int)
    /// The file changed while it was read.
    case changing
    /// The submitter is another user, who could have a file sent that is not theirs to read.
    case notTheirs
    /// A failure that is not the file's fault, such as too many open files.
    case system(Errno)
    /// The file is not there, and this directory of body files cannot be opened: the file may lie in it.
    case rootAway(String, Errno)

    /// The error of the machine, if the machine is to blame; `nil` if the file or its path is.
    package var fault: Errno? {
        switch self {
        case .system(let error), .rootAway(_, let error): error
        case .noRoots, .notAbsolute, .outside, .missing, .notAFile, .notReadable, .withoutSize, .changed, .changing,
            .notTheirs:
            nil
        }
    }

    /// The words after the file's name: `is not there`.
    package var description: String {
        switch self {
        case .noRoots: "is not in an allowed directory: 'bodyFiles' in the configuration names none"
        case .notAbsolute: "is not an absolute path"
        case .outside(let path): "is not in a directory that 'bodyFiles' in the configuration names: it is '\(path)'"
        case .missing: "is not there"
        case .notAFile(let kind): "is \(kind.words)"
        case .notReadable(let error), .system(let error): "cannot be read: \(error)"
        case .rootAway(let root, let error):
            "is not there, and '\(QueuePath.escaped(Array(root.utf8)))' of 'bodyFiles' cannot be opened: \(error)"
        case .withoutSize: "has content and no size, as files in /proc do: copy it first"
        case .changed(let length, let before):
            "has changed since it was added"
                + (length == before ? "" : ": it had \(before) bytes, and has \(length) now")
        case .changing: "was changed while drainq read it"
        case .notTheirs: "was named by a user other than the queue's owner, root and the user that runs drainq"
        }
    }
}
