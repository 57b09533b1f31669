package import CSystem

/// Why a file cannot be the body of an operation.
package enum BodyFileRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The configuration names no directory that such files may be in.
    case noRoots
    case notAbsolute
    /// Where it really is: in none of the allowed directories.
    case outside(String)
    case missing
    case notAFile(FileStatus.Kind)
    case notReadable(Errno)
    /// It is not what it was when the operation was added.
    case changed
    /// The submitter is a stranger, who could have a file sent that is not theirs to read.
    case notTheirs
    /// Nothing that the file is to blame for, such as too many open files.
    case system(Errno)

    /// What is said of it: `is not there`.
    package var description: String {
        switch self {
        case .noRoots: "is not in an allowed directory: 'bodyFiles' in the configuration names none"
        case .notAbsolute: "is not an absolute path"
        case .outside(let path): "is not in a directory that 'bodyFiles' in the configuration names: it is '\(path)'"
        case .missing: "is not there"
        case .notAFile(let kind): "is \(kind.words)"
        case .notReadable(let error), .system(let error): "cannot be read: \(error)"
        case .changed: "has changed since it was added"
        case .notTheirs: "was named by a user other than the queue's owner, root and the user that runs drainq"
        }
    }
}
