import CSystem
import Policy

/// Whom the queue trusts: who can write to its directories can take away what was accepted, or put words into its mouth.
extension SpoolDirectory {
    /// Throws `untrusted` where somebody besides the owner, or a group that was meant, can do that; `notAQueue` where a part
    /// of the queue is something else than a directory, such as a link to one.
    func checkTrust() throws(SpoolError) {
        for directory in ["."] + Self.directories {
            guard let status = try status(QueuePath(directory), "look at") else { continue }
            let path = directory == "." ? self.path : "\(self.path)/\(directory)"
            guard status.kind == .directory else {
                throw SpoolError(kind: .notAQueue, verb: "use", path: path, code: ENOTDIR)
            }
            if let distrust = status.distrust(as: directory) {
                throw SpoolError(kind: .untrusted(distrust), verb: "use", path: path, code: EPERM)
            }
        }
    }

    /// Throws `untrusted` where the configuration in the queue, which names programs to be run, can be written by others or
    /// is another user's. A link is followed: what is judged is the file that it leads to.
    package func checkTrustOfConfiguration() throws(SpoolError) {
        let path = QueuePath("drainq.json")
        let (status, root) = try attempt("read", path) { () throws(Errno) -> (FileStatus?, FileStatus) in
            // In a user namespace root has another number, the one that the root directory shows.
            let root = try system.statusAt(self.root, "/")
            do throws(Errno) {
                let status = try Self.withDescriptor(system, self.root, path, O_RDONLY | O_NONBLOCK) {
                    (descriptor) throws(Errno) in try system.status(descriptor)
                }
                return (status, root)
            } catch let error where error == .missing {
                return (nil, root)
            }
        }
        guard let status else { return }
        let isKnown = [0, system.user(), root.owner].contains(status.owner)
        guard let distrust = status.writers ?? (isKnown ? nil : .owner(status.owner)) else { return }
        throw SpoolError(kind: .untrusted(distrust), verb: "use", path: "\(self.path)/\(path.description)", code: EPERM)
    }
}

/// Why a file or a directory is not to be trusted.
package enum Distrust: Hashable, Sendable {
    /// With the mode that lets them.
    case others(mode: UInt32)
    case group(mode: UInt32)
    /// It is a place where others may put something, and may also take away what is not theirs.
    case notSticky(mode: UInt32)
    /// It is neither root's nor this user's.
    case owner(UInt32)

    package var reason: String {
        switch self {
        case .others(let mode): "others may write to it (mode \(Self.octal(mode)))"
        case .group(let mode): "its group may write to it (mode \(Self.octal(mode)))"
        case .notSticky(let mode): "whoever may write to it may remove what is not theirs (mode \(Self.octal(mode)))"
        case .owner(let user): "it belongs to user \(user), neither to root nor to the user that runs drainq"
        }
    }

    /// The command that mends it, or the way out where there is none.
    package func hint(for path: String) -> String {
        switch self {
        case .others: "chmod o-w \(shellWord(path))"
        case .group: "chmod g-w \(shellWord(path))"
        case .notSticky: "chmod +t \(shellWord(path))"
        case .owner: "run drainq as that user, or name the file with --config"
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension FileStatus {
    /// Who can write to it besides its owner, where that was not meant: a directory says by its setgid bit that its group is
    /// trusted as its owner is.
    fileprivate var writers: Distrust? {
        if permissions & 0o002 != 0 { return .others(mode: permissions) }
        if permissions & 0o020 != 0, !(kind == .directory && setsGroup) { return .group(mode: permissions) }
        return nil
    }

    /// The same of a directory of the layout: into `new/` and `tmp/` others may put files, if they may not take any away.
    func distrust(as directory: String) -> Distrust? {
        let isOpen = ["new", "tmp"].contains(directory) && writers != nil
        return !isOpen ? writers : isSticky ? nil : .notSticky(mode: permissions)
    }
}
