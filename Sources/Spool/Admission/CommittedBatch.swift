import CSystem
import Policy

/// A batch that enters the queue as a whole. The file `committed` in the writer's directory names each file that the
/// writer has written, and its target.
///
/// The batch is in the queue from the rename that gives `committed` its name. A crash before that rename leaves
/// nothing: a run sweeps the directory of the dead writer. After it, a process that sweeps the directory, adds an id,
/// or lists to decide an order (`forEachStandingName`) completes the batch first. So no operation of a batch is sent
/// while another operation of it can still get lost.
///
/// If a file replaces an operation, the commitment names that operation too, and the operation is first moved into this
/// directory. That rename decides against a run that claims it. So at each moment one of the two is in the queue, or
/// both are here and the commitment says that the new one will follow. While both are here, their process has the names
/// lock, or is dead. An operation that a run claims first stays.
struct CommittedBatch {
    /// A file that is to enter the queue.
    struct Move {
        /// The file's path in the writer's directory.
        var from: QueuePath
        var to: QueuePath
        /// The path of the operation that it replaces; `nil` if it replaces none.
        var old: QueuePath?

        /// The path of the replaced operation once it is out of the queue.
        var taken: QueuePath { QueuePath(in: from.parent, Array("\(from.name)-old".utf8)) }
    }

    private let directory: QueuePath
    private let queue: SpoolDirectory

    init(in directory: QueuePath, _ queue: SpoolDirectory) {
        self.directory = directory
        self.queue = queue
    }

    static let file = "committed"

    static func path(in directory: QueuePath) -> QueuePath {
        QueuePath(in: directory, file.utf8)
    }

    private var path: QueuePath { Self.path(in: directory) }
    private var draft: QueuePath { QueuePath(in: directory, "committing".utf8) }

    /// Writes the draft of the commitment. Each file has one line: its name in the directory, its path in the queue,
    /// and the path of the operation that it replaces.
    func write(_ moves: [Move]) throws(SpoolError) {
        var text = ""
        for move in moves {
            text += "\(move.from.name) \(move.to.description)\(move.old.map { " \($0.description)" } ?? "")\n"
        }
        try queue.attempt("write", draft) { () throws(Errno) in
            try queue.createFile(draft, Array(text.utf8), durable: false)
        }
    }

    /// Commits the batch, durably if `durable`. `isSynced`: the file system has been synced since `write`.
    func commit(durable: Bool, isSynced: Bool) throws(SpoolError) {
        try queue.attempt("commit", draft) { () throws(Errno) in
            if durable, !isSynced {
                try SpoolDirectory.withDescriptor(queue.system, queue.root, draft, O_RDONLY | O_NOFOLLOW) {
                    (descriptor) throws(Errno) in try queue.system.fsync(descriptor)
                }
                try queue.sync(directory)
                try queue.sync(directory.parent)
            }
            try queue.system.rename(queue.root, draft.bytes, path.bytes)
            if durable { try queue.sync(directory) }
        }
    }

    /// Removes the commitment, before any file of the batch is removed.
    func withdraw() {
        try? queue.system.unlink(queue.root, path.bytes)
    }

    /// Removes the commitment once all files are in their rows, durably. If it comes back, it finds nothing to move.
    func end(durable: Bool) {
        withdraw()
        if durable { try? queue.sync(directory) }
    }

    /// Row W → the rows of the files that a dead writer has committed. Skips files that were moved before. The caller
    /// has the names lock.
    func complete() throws(SpoolError) {
        guard let bytes = try queue.readFile(path, limit: SpoolDirectory.readLimit) else { return }
        var targets: Set<QueuePath> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let (move, entry) = parse(String(decoding: line, as: UTF8.self)) else { continue }
            guard try takeOld(of: move) else { continue }
            if let old = move.old { targets.insert(old.parent) }
            try queue.attempt("accept into", entry.state.path) { () throws(Errno) in
                do throws(Errno) {
                    try queue.move(move.from, move.to)
                } catch let error where error == .missing {
                    return
                } catch let error where error == .exists {
                    return
                }
            }
            targets.insert(entry.state.path)
        }
        for target in targets { try queue.syncDirectory(target) }
        end(durable: true)
    }

    /// Row N, D, X, Q → W: takes the operation that a file replaces out of the queue. Returns true also if that was
    /// done before, or if the file replaces none. Returns false if the operation is not in its place: a run was faster,
    /// and the file must not enter.
    func takeOld(of move: Move) throws(SpoolError) -> Bool {
        guard let old = move.old else { return true }
        return try queue.attempt("replace", old) { () throws(Errno) in
            if try queue.exists(move.taken) { return true }
            // The file is in the queue already, and the operation that it replaces is not.
            guard try queue.exists(move.from) else { return true }
            do throws(Errno) {
                try queue.move(old, move.taken, isOwn: false)
                return true
            } catch let error where error == .missing {
                return false
            }
        }
    }

    /// Row W → the row it came from: returns an operation that is not replaced after all. False if that fails.
    func giveBack(_ move: Move) -> Bool {
        guard let old = move.old else { return true }
        do throws(Errno) {
            if try queue.exists(move.taken) { try queue.move(move.taken, old) }
            return true
        } catch {
            return false
        }
    }

    private func parse(_ line: String) -> (move: Move, entry: Entry)? {
        let words = line.split(separator: " ")
        guard (2...3).contains(words.count), words[0].allSatisfy(\.isNumber), let entry = Self.entry(words[1]) else {
            return nil
        }
        var old: QueuePath?
        if words.count == 3 {
            guard let entry = Self.entry(words[2]) else { return nil }
            old = QueuePath(entry.path)
        }
        let from = QueuePath(in: directory, words[0].utf8)
        return (Move(from: from, to: QueuePath(entry.path), old: old), entry)
    }

    private static func entry(_ path: Substring) -> Entry? {
        let parts = path.split(separator: "/")
        guard parts.count == 2, let state = QueueState(rawValue: String(parts[0])), state != .claimed,
            let name = EntryName(String(parts[1]))
        else { return nil }
        return Entry(state: state, name: name)
    }
}

extension SpoolDirectory {
    /// Returns the directories of writers that have committed a batch and not ended it. Skips files of other users, who
    /// may write to `tmp/` in some queues.
    func committedBatches() throws(SpoolError) -> [QueuePath] {
        let tmp = QueuePath("tmp")
        var found: [QueuePath] = []
        for writer in try names(in: tmp) where LockedDirectory.isName(QueuePath.escaped(writer)) {
            let directory = QueuePath(in: tmp, writer)
            guard let status = try? system.statusAt(root, CommittedBatch.path(in: directory).bytes),
                status.kind == .regular, (try? knowsOwner(of: status)) == true
            else { continue }
            found.append(directory)
        }
        return found
    }

    /// Row W → N, D, X, K: completes the batches that dead writers have committed. Takes the names lock only if there
    /// is a batch. Once it returns, no other process is completing one either.
    func completeCommittedBatches() throws(SpoolError) {
        if try committedBatches().isEmpty { return }
        try withNamesLock { () throws(SpoolError) in
            for directory in try committedBatches() {
                let name = String(directory.description.dropFirst("tmp/".count))
                guard let dead = try? LockedDirectory.takeOver(directory, name: name, self) else { continue }
                defer { dead.release() }
                try CommittedBatch(in: directory, self).complete()
                removeFiles(in: directory, keepingLock: true)
                dead.remove()
            }
        }
    }
}

extension QueuePath {
    /// The last part of the path.
    var name: String { String(description.split(separator: "/").last ?? "") }
}
