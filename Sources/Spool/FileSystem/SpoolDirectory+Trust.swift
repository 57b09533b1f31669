import CSystem
import Policy

/// Checks who can write to the queue's directories. Such a user can remove accepted operations, or add forged ones.
extension SpoolDirectory {
    /// Throws `untrusted` if a user besides the owner and the members of a trusted group can do so. Throws `notAQueue`
    /// if a part of the queue is no directory, such as a link to a directory.
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

    /// Reads a waiting operation as the run that sends it does; `nil` if the file is no longer there.
    func readAsRun(_ entry: Entry) throws(SpoolError) -> StoredFile? {
        let file = try read(entry)
        guard case .operation(let stored) = file else { return file }
        let path = QueuePath(entry.path)
        let objection = try objection(to: stored.status, at: path) { () throws(SpoolError) in
            // A second name in the queue is that of a move, which can end between the two looks.
            let others = try otherNames(of: path, entry.name.id).count
            return min(stored.status.links, try status(path, "look at")?.links ?? 0) - others
        }
        if let objection { return .notAnOperation(reason: objection) }
        return file
    }

    /// Returns why the file of a canonical name is no operation, whatever its content; `nil` if a run sends the file.
    ///
    /// Another user's file is none: the queue believes its canonical name unread, and its owner can rewrite the file
    /// while it is in flight. Other users submit under names that are not canonical, and drainq copies their files. A
    /// file with a name outside the queue can be rewritten in the same way. `links` returns the number of names of a
    /// file that has several, without those that the queue has given to the file besides the first.
    func objection(
        to status: FileStatus, at path: QueuePath, links: () throws(SpoolError) -> Int
    ) throws(SpoolError) -> String? {
        if try !attempt("read", path, { () throws(Errno) in try knowsOwner(of: status) }) {
            return SpoolRun.strangers(status.owner)
        }
        if status.links > 1, try links() > 1 { return "it has another name outside the queue's reach (a hard link)" }
        return nil
    }

    /// Throws `untrusted` if other users can write the configuration in the queue, which names programs to run, or if
    /// it is another user's. Follows a link, and judges its target.
    package func checkTrustOfConfiguration() throws(SpoolError) {
        let path = QueuePath("drainq.json")
        let (status, root) = try attempt("read", path) { () throws(Errno) -> (FileStatus?, FileStatus) in
            // In a user namespace root has another number: the owner of the root directory.
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

/// The reason why a file or a directory is not trusted.
package enum Distrust: Hashable, Sendable {
    /// The mode with which every user may write.
    case others(mode: UInt32)
    case group(mode: UInt32)
    /// Users may put files into the directory, and may also remove files of others.
    case notSticky(mode: UInt32)
    /// The owner is neither root nor this user.
    case owner(UInt32)

    package var reason: String {
        switch self {
        case .others(let mode): "others may write to it (mode \(Self.octal(mode)))"
        case .group(let mode): "its group may write to it (mode \(Self.octal(mode)))"
        case .notSticky(let mode):
            "any user who may write to it may remove other users' files (mode \(Self.octal(mode)))"
        case .owner(let user): "it belongs to user \(user), neither to root nor to the user that runs drainq"
        }
    }

    /// The command that repairs it, or another remedy if there is none.
    package func hint(for path: String) -> String {
        switch self {
        case .others: "chmod o-w \(shellEscaped(path))"
        case .group: "chmod g-w \(shellEscaped(path))"
        case .notSticky: "chmod +t \(shellEscaped(path))"
        case .owner: "run drainq as that user, or name the file with --config"
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension FileStatus {
    /// Who besides the owner can write to the file without being meant to; `nil` if there is none. The setgid bit of a
    /// directory says that its group is trusted like its owner.
    fileprivate var writers: Distrust? {
        if permissions & 0o002 != 0 { return .others(mode: permissions) }
        if permissions & 0o020 != 0, !(kind == .directory && setsGroup) { return .group(mode: permissions) }
        return nil
    }

    /// Returns the same for a directory of the layout. Other users may put files into `new/` and `tmp/`, if they cannot
    /// remove any.
    func distrust(as directory: String) -> Distrust? {
        let isOpen = ["new", "tmp"].contains(directory) && writers != nil
        return !isOpen ? writers : isSticky ? nil : .notSticky(mode: permissions)
    }
}
