import CSystem
import Policy

/// A batch that enters the queue, or leaves it, as a whole. The file `committed` in the writer's directory names each
/// written file and its target, and the files that leave the queue for them, or by themselves.
///
/// The batch is in the queue, or out of it, from the rename that gives `committed` its name. A crash before the rename
/// leaves nothing: a run sweeps the directory of the dead writer. After the rename, a process that sweeps that
/// directory, or takes the names lock, completes the batch first. So no operation of a batch is sent while another
/// operation of it can still get lost.
///
/// A file that replaces an operation has the path of this run's claim on the operation as its target: the commitment is
/// then in the run's directory (`ScratchDirectory.init(in:)`), and is completed before the claims are put back.
struct CommittedBatch {
    /// A file to enter the queue.
    struct Move {
        /// The file's path in the writer's directory.
        var from: QueuePath
        var to: QueuePath
        /// Whether the file takes the place of the file at its target.
        var replaces = false
    }

    private let directory: QueuePath
    private let queue: SpoolDirectory

    init(in directory: QueuePath, _ queue: SpoolDirectory) {
        self.directory = directory
        self.queue = queue
    }

    static let file = "committed"
    private static let leaving = "-"

    static func path(in directory: QueuePath) -> QueuePath {
        QueuePath(in: directory, file.utf8)
    }

    private var path: QueuePath { Self.path(in: directory) }
    private var draft: QueuePath { QueuePath(in: directory, "committing".utf8) }

    /// Commits the batch, durably if `durable`. Each file has one line: its name in the directory, its path in the
    /// queue, and `=` if it replaces the file there. A line of `-` and a path is of a file that leaves the queue once
    /// the others are in.
    func commit(_ moves: [Move], insteadOf old: [QueuePath], durable: Bool) throws(SpoolError) {
        var text = ""
        for move in moves {
            text += "\(move.from.name) \(move.to.description)\(move.replaces ? " =" : "")\n"
        }
        for path in old { text += "\(Self.leaving) \(path.description)\n" }
        try queue.attempt("commit", draft) { () throws(Errno) in
            try queue.createFile(draft, Array(text.utf8), durable: durable)
            if durable {
                try queue.sync(directory)
                try queue.sync(directory.parent)
            }
            try queue.replace(draft, path)
            if durable { try queue.sync(directory) }
        }
    }

    /// Removes the commitment, before any file of the batch is removed.
    func withdraw() {
        try? queue.system.unlink(queue.root, path.bytes)
    }

    /// Removes the commitment once all files are in their rows, durably. A commitment that comes back finds nothing to
    /// move.
    func end(durable: Bool) {
        withdraw()
        // try?: a commitment that comes back finds nothing to move.
        if durable { try? queue.sync(directory) }
    }

    /// Row W → the rows of the files committed by a dead writer. Skips files moved before. The caller has the names
    /// lock.
    func complete() throws(SpoolError) {
        guard let bytes = try queue.readFile(path, limit: SpoolDirectory.readLimit) else { return }
        var targets: Set<QueuePath> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")).map({ String(decoding: $0, as: UTF8.self) }) {
            if let old = leaving(line) {
                AdmissionRecord.noteRemovals(in: queue)
                _ = try queue.drop(old, having: nil, nil, ending: nil)
                if old.parent == QueueState.quarantine.path { queue.removeReason(QuarantineItem(fileName: old.name)) }
                targets.insert(old.parent)
            }
            guard let move = parse(line) else { continue }
            try queue.attempt("accept into", move.to.parent) { () throws(Errno) in
                do throws(Errno) {
                    try queue.enter(move)
                } catch let error where error == .missing || error == .exists {}
            }
            targets.insert(move.to.parent)
        }
        for target in targets { try queue.syncDirectory(target) }
        end(durable: true)
    }

    private func parse(_ line: String) -> Move? {
        let words = line.split(separator: " ")
        guard (2...3).contains(words.count), words[0].allSatisfy(\.isNumber), isTarget(words[1]) else { return nil }
        let from = QueuePath(in: directory, words[0].utf8)
        return Move(from: from, to: QueuePath(String(words[1])), replaces: words.count == 3)
    }

    /// Returns the path of the file that leaves the queue; `nil` for the line of a file that enters.
    private func leaving(_ line: String) -> QueuePath? {
        let words = line.split(separator: " ")
        guard words.count == 2, words[0] == Self.leaving else { return nil }
        let path = QueuePath(String(words[1]))
        // A file in quarantine may have any name.
        return isTarget(words[1]) || path.parent == QueueState.quarantine.path ? path : nil
    }

    /// Whether a path belongs to an operation in an unclaimed state, or to a claim in the run's directory.
    private func isTarget(_ path: Substring) -> Bool {
        guard let slash = path.lastIndex(of: "/"), EntryName(String(path[path.index(after: slash)...])) != nil else {
            return false
        }
        let parent = path[..<slash]
        return QueueState.unclaimed.contains { $0.rawValue == parent } || parent == directory.parent.description
    }
}

extension SpoolDirectory {
    /// Returns the writers with a committed batch that has not ended: the locked directory of each, and the directory
    /// of its batch. Skips files of other users, who may write to `tmp/` in some queues.
    func committedBatches() throws(SpoolError) -> [(owner: QueuePath, name: String, batch: QueuePath)] {
        var found: [(owner: QueuePath, name: String, batch: QueuePath)] = []
        for parent in [QueuePath("tmp"), QueueState.claimed.path] {
            for writer in try names(in: parent) where LockedDirectory.isName(QueuePath.escaped(writer)) {
                let owner = QueuePath(in: parent, writer)
                let batch = parent == QueueState.claimed.path ? ScratchDirectory.path(in: owner) : owner
                let isCommitted = try attempt("look at", batch) { () throws(Errno) in
                    do throws(Errno) {
                        let status = try system.statusAt(root, CommittedBatch.path(in: batch).bytes)
                        guard status.kind == .regular else { return false }
                        return try knowsOwner(of: status)
                    } catch let error where error == .missing || error == .notADirectory || error == .forbidden {
                        // The writer has ended meanwhile, or is root and this process is not.
                        return false
                    }
                }
                if isCommitted { found.append((owner, QueuePath.escaped(writer), batch)) }
            }
        }
        return found
    }

    /// Row W → N, D, C, X, K: completes the committed batches of dead writers. Takes the names lock only if there is a
    /// batch. After the return no other process is completing a batch either.
    package func completeCommittedBatches() throws(SpoolError) {
        if try committedBatches().isEmpty { return }
        try withNamesLock { () throws(SpoolError) in
            for (owner, name, batch) in try committedBatches() {
                let dead = try attempt("complete", batch) { () throws(Errno) in
                    try LockedDirectory.takeOver(owner, name: name, self)
                }
                guard let dead else { continue }
                defer { dead.release() }
                try CommittedBatch(in: batch, self).complete()
                if batch == owner {
                    removeFiles(in: owner, keepingLock: true)
                    dead.remove()
                }
            }
        }
    }
}

extension QueuePath {
    /// The last part of the path.
    var name: String { String(description.split(separator: "/").last ?? "") }
}
