import CSystem
package import Policy

/// Listings of names, which open no file and take no lock, and reads of single entries.
extension SpoolDirectory {
    /// Streams the entries of a state in the order of the directory. Returns how many names were not canonical: foreign
    /// ones in `new/`, made-up ones in `quarantine/`.
    ///
    /// A moving file may be seen in two states or in none; a claim settles where the file is.
    @discardableResult
    package func forEachEntry(in state: QueueState, _ body: (Entry) -> Void) throws(SpoolError) -> Int {
        try forEachName(in: state) { body(Entry(state: state, name: EntryName($0), claimedBy: $1)) }
    }

    /// Streams the names of a state as `forEachEntry` does, each with its claiming run. For callers that skip most
    /// names: a name is valid only until the closure returns. A run's directory that belongs to another user counts as
    /// one name that is not canonical: what this user cannot list may belong before any operation.
    @discardableResult
    package func forEachName(in state: QueueState, _ body: (ListedName, _ run: String?) -> Void) throws(SpoolError)
        -> Int
    {
        guard state == .claimed else { return try forEachName(in: state.path) { body($0, nil) } }
        var others = 0
        for run in try names(in: state.path) {
            let runName = QueuePath.escaped(run)
            do throws(SpoolError) {
                others += try forEachName(in: QueuePath(in: state.path, run)) { body($0, runName) }
            } catch let error where error.code == Errno.missing.code || error.code == Errno.notADirectory.code {
                // The run has ended meanwhile, or this is no run's directory.
            } catch let error where error.code == Errno.forbidden.code {
                others += 1
            }
        }
        return others
    }

    /// Streams the names of all waiting operations and all operations in flight, with the state of each, to decide an
    /// order from.
    ///
    /// An operation that a run claims or puts back meanwhile is seen at least once (`QueueState.standing`). If another
    /// process changes a name meanwhile, the name may be missed, unless the caller has the names lock.
    ///
    /// Returns how many files have no canonical name yet: files of other programs in `new/`, and files in `claimed/` of
    /// a run that died, or met an error, during their admission. Each may belong before any operation.
    @discardableResult
    package func forEachStandingName(
        _ body: (ListedName, QueueState) -> Void
    ) throws(SpoolError) -> (new: Int, claimed: Int) {
        var unnamed = (new: 0, claimed: 0)
        for state in QueueState.standing {
            let others = try forEachName(in: state) { name, _ in body(name, state) }
            if state == .new { unnamed.new = others }
            if state == .claimed { unnamed.claimed = max(unnamed.claimed, others) }
        }
        return unnamed
    }

    private func forEachName(in directory: QueuePath, _ body: (ListedName) -> Void) throws(SpoolError) -> Int {
        var others = 0
        let mayBeInput = directory == QueueState.quarantine.path
        try attempt("list", directory) { () throws(Errno) in
            let strangers = try OtherUsersFiles(directory, self)
            try system.list(root, directory.bytes) { bytes in
                if let name = ListedName(bytes, mayBeInput: mayBeInput), !strangers.own(bytes) {
                    body(name)
                } else if directory == QueueState.new.path || !bytes.isAside {
                    others += 1
                }
                return true
            }
        }
        return others
    }

    /// Returns the names in `new/` that are not canonical, and the names of another user's files.
    func foreignNames(atMost limit: Int) throws(SpoolError) -> [[UInt8]] {
        let new = QueueState.new.path
        var foreign: [[UInt8]] = []
        try attempt("list", new) { () throws(Errno) in
            let strangers = try OtherUsersFiles(new, self)
            try system.list(root, new.bytes) { name in
                if ListedName(name) == nil || strangers.own(name) { foreign.append(Array(name)) }
                return foreign.count < limit
            }
        }
        return foreign
    }

    /// Returns the decoded file of an entry for display; `nil` if the file is no longer there. Limits do not apply.
    package func read(_ entry: Entry) throws(SpoolError) -> StoredFile? {
        try read(QueuePath(entry.path), name: entry.name, limit: Self.readLimit)
    }

    /// Returns the header of an entry's file, without proof of its checksum; `nil` if the file is no longer there, or
    /// has no readable header.
    package func header(of entry: Entry) throws(SpoolError) -> OperationHeader? {
        let path = QueuePath(entry.path)
        var head = [UInt8](repeating: 0, count: OperationFile.headerLimit)
        let length = try attempt("read", path) { () throws(Errno) in
            do throws(Errno) {
                return try Self.withDescriptor(system, root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) {
                    (descriptor) throws(Errno) in try read(descriptor, into: &head, from: 0)
                }
            } catch let error where error == .missing {
                return 0
            }
        }
        guard let end = head.prefix(length).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        do throws(OperationFileError) {
            return try OperationFile.decodeHeader(head, in: 0..<end, file: entry.path).0
        } catch {
            return nil
        }
    }

    /// Returns the bytes of the entry's file; `nil` if the file is no longer there.
    package func size(of entry: Entry) throws(SpoolError) -> Int? { try status(of: entry)?.size }

    /// Returns the status of a file in quarantine; `nil` if the file is no longer there.
    package func status(of item: QuarantineItem) throws(SpoolError) -> FileStatus? {
        try status(item.path, "look at")
    }

    /// Returns the status of the entry's file; `nil` if the file is no longer there.
    package func status(of entry: Entry) throws(SpoolError) -> FileStatus? {
        try status(QueuePath(entry.path), "look at")
    }

    /// The most bytes of a file to be read whole.
    static let readLimit = 1 << 30

    func read(_ path: QueuePath, name: EntryName, limit: Int) throws(SpoolError) -> StoredFile? {
        let content = try attempt("read", path) { () throws(Errno) in try self.content(path, limit: limit) }
        return stored(content, name: name, limit: limit)
    }

    /// Reads as `read` does, but leaves the body in a file of more than `left` bytes.
    func read(
        _ path: QueuePath, name: EntryName, limit: Int, left: Int
    ) throws(SpoolError) -> StoredFile? {
        let found = try attempt("read", path) { () throws(Errno) in
            try contentOrFile(path, limit: limit, opened: left)
        }
        switch found {
        case .content(let content): return stored(content, name: name, limit: limit)
        case .large(let file, let status):
            if let operation = OperationFile.decode(file, size: status.size),
                name.contradiction(to: operation.header) == nil
            {
                return .operation(StoredOperation(operation: operation, fileSize: status.size, status: status))
            }
            // Something is unusual: reads the whole file for an error that says what.
            return try read(path, name: name, limit: limit)
        }
    }

    private func stored(_ content: Content, name: EntryName, limit: Int) -> StoredFile? {
        switch content {
        case .missing: return nil
        case .notAFile(let reason): return .notAnOperation(reason: reason)
        case .tooLong(let size): return .notAnOperation(reason: "it is too long: \(size) bytes, \(limit) are allowed")
        case .bytes(let bytes, let status):
            do throws(OperationFileError) {
                let operation = try OperationFile.decode(bytes, file: name.id.description, named: name)
                return .operation(StoredOperation(operation: operation, fileSize: bytes.count, status: status))
            } catch {
                if case .newerFormat(let version) = error.kind { return .newerFormat(version) }
                return .notAnOperation(reason: error.line == 1 ? error.detail : "line \(error.line): \(error.detail)")
            }
        }
    }
}

/// The files of other users in a directory. A canonical name is believed unread: another user's could stand for a newer
/// value of a key, or for the oldest operation of all.
private struct OtherUsersFiles {
    private let directory: QueuePath
    private let queue: SpoolDirectory
    /// The users who are not "another user"; `nil` if no other user may write to the directory.
    private let known: Set<UInt32>?

    init(_ directory: QueuePath, _ queue: SpoolDirectory) throws(Errno) {
        self.directory = directory
        self.queue = queue
        guard directory == QueueState.new.path, try Self.isOpen(directory, queue) else {
            known = nil
            return
        }
        known = [0, queue.system.user(), try queue.system.status(queue.root).owner]
    }

    /// Whether other users may write to the directory. A missing directory has no files.
    private static func isOpen(_ directory: QueuePath, _ queue: SpoolDirectory) throws(Errno) -> Bool {
        do throws(Errno) {
            return try queue.system.statusAt(queue.root, directory.bytes).permissions & 0o022 != 0
        } catch let error where error == .missing {
            return false
        }
    }

    func own(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let known else { return false }
        do throws(Errno) {
            return try !known.contains(queue.system.statusAt(queue.root, QueuePath(in: directory, name).bytes).owner)
        } catch {
            // A name not known to be drainq's is not believed.
            return error != .missing
        }
    }
}

/// The result of reading a file of the queue.
package enum StoredFile: Hashable, Sendable {
    indirect case operation(StoredOperation)
    /// Its content can never be an operation: for quarantine.
    case notAnOperation(reason: String)
    /// A newer drainq wrote the file, so the file must stay unchanged.
    case newerFormat(Int)
}

/// An operation as read from its file.
package struct StoredOperation: Hashable, Sendable {
    package var operation: Operation
    /// The bytes of the file, header and attempts included.
    package var fileSize: Int
    var status: FileStatus
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the name belongs to an accompanying file: a run's lock, a quarantined file's reason.
    fileprivate var isAside: Bool {
        elementsEqual("lock".utf8)
            || suffix(QuarantineItem.reasonSuffix.utf8.count).elementsEqual(QuarantineItem.reasonSuffix.utf8)
    }
}
