package import Policy

/// What others have dropped into `new/`.
extension SpoolRun {
    /// How many files one call of `admitForeign` takes, so that neither memory nor time depends on what others drop.
    package static let admissionSize = 10_000

    /// Row F → N or Q: reads what is in `new/` under names that are not canonical, or are a stranger's, once each; no more
    /// than `admissionSize` of them.
    ///
    /// A foreign file is claimed, copied into an inode of our own (its submitter may still have it open), and published
    /// under its canonical name; then the claim goes. A crash between the two brings the claim back under a name that
    /// carries its id, so that it is not published twice. Errors of the system are told in `errors` and never put
    /// anything into quarantine.
    ///
    /// Who may write to `new/` may submit, whoever it is; but only a known owner may name a body file, which must be in
    /// one of `bodyFileRoots`: a stranger could have one sent that is not theirs to read.
    package func admitForeign(
        now: Timestamp, limits: Limits, bodyFileRoots: [String] = []
    ) throws(SpoolError) -> Admission {
        try confirm()
        var admission = Admission()
        var foreign = try queue.foreignNames(atMost: Self.admissionSize + 1)
        if foreign.isEmpty { return admission }
        try anchor()
        if foreign.count > Self.admissionSize {
            foreign.removeLast()
            admission.hasMore = true
        }
        var batch: [Submission] = []
        var bytes = 0
        for name in foreign {
            if let submission = read(name, &admission, now, limits, bodyFileRoots) {
                batch.append(submission)
                bytes += submission.operation.body.count
            }
            if batch.count == 1024 || bytes > 64 << 20 {
                admit(batch, &admission, now)
                batch = []
                bytes = 0
            }
        }
        admit(batch, &admission, now)
        try flush()
        return admission
    }

    /// A foreign file that has been claimed and read.
    private struct Submission {
        var originalName: [UInt8]
        var claim: QueuePath
        var operation: Operation
        var hasOwnID: Bool
        /// A crash interrupted its admission before.
        var isAgain: Bool
    }

    private static let admittingPrefix = "admitting-"

    static func newAdmittingName() -> String {
        admittingPrefix + OperationID.random().description
    }

    /// Claims and reads; `nil` if it went elsewhere, and the admission says where.
    private func read(
        _ name: [UInt8], _ admission: inout Admission, _ now: Timestamp, _ limits: Limits, _ roots: [String]
    ) -> Submission? {
        let text = String(decoding: name, as: UTF8.self)
        let again = text.hasPrefix(Self.admittingPrefix) ? OperationID(text.dropFirst(Self.admittingPrefix.count)) : nil
        let id = again ?? .random()
        let from = QueuePath(in: QueueState.new.path, name)
        let claim = QueuePath(in: directory.path, "\(Self.admittingPrefix)\(id)".utf8)
        do throws(SpoolError) {
            let isThere = try queue.attempt("claim", from) { () throws(Errno) in
                do throws(Errno) {
                    try queue.system.rename(queue.root, from.bytes, claim.bytes)
                    return true
                } catch {
                    if try queue.exists(claim) { return true }
                    if error == .missing { return false }
                    throw error
                }
            }
            guard isThere else { return nil }
            lost.insert(QueueState.new.path)
        } catch {
            if error.kind != .permission || !setAside(from, name, &admission, now) { admission.errors.append(error) }
            return nil
        }
        do throws(Errno) {
            if let name = name.withUnsafeBufferPointer({ EntryName($0) }) {
                let owner = try queue.system.statusAt(queue.root, claim.bytes).owner
                try quarantine(claim, name, foreign: name.description.utf8, Self.strangers(owner), &admission, now)
                return nil
            }
            let limit = limits.operationBytes +| OperationFile.headerLimit
            let content = try readable(claim, limit)
            let reason: String
            switch content {
            case .missing: return nil
            case .notAFile(let why): reason = why
            case .tooLong(let size): reason = "it is too long: \(size) bytes, \(limit) are allowed"
            case .bytes(let bytes, let status):
                let file = QueuePath.escaped(name)
                switch try queue.foreignOperation(in: bytes, status, file: file, id: id, limits, roots) {
                case .success(let (operation, hasOwnID)):
                    return Submission(
                        originalName: name, claim: claim, operation: operation, hasOwnID: hasOwnID,
                        isAgain: again != nil)
                case .failure(let error): reason = error.detail
                }
            }
            try quarantine(claim, nil, foreign: name, reason, &admission, now)
        } catch {
            admission.errors.append(SpoolError(error, "read", from))
            putBack(claim, name, &admission)
        }
        return nil
    }

    /// What a foreign file holds. That its mode or a lease of its owner keeps it from being read is a fact about the file.
    private func readable(_ claim: QueuePath, _ limit: Int) throws(Errno) -> SpoolDirectory.Content {
        do throws(Errno) {
            return try queue.content(claim, limit: limit)
        } catch let error where error == .forbidden || error == .wouldBlock {
            let status = try queue.system.statusAt(queue.root, claim.bytes)
            if try queue.knowsOwner(of: status) { throw error }
            return .notAFile(reason: "it belongs to user \(status.owner) and cannot be read: \(error)")
        }
    }

    /// Publishes what was read, looking for ids that the queue has already in one scan.
    private func admit(_ batch: [Submission], _ admission: inout Admission, _ now: Timestamp) {
        if batch.isEmpty { return }
        var pending: [Submission] = batch
        do throws(SpoolError) {
            let ids = batch.filter { $0.hasOwnID || $0.isAgain }.map(\.operation.header.id)
            var taken = try queue.find(ids).mapValues(\.name)
            pending = []
            for submission in batch {
                let name = EntryName(naming: submission.operation.header)
                guard let standing = taken.updateValue(name, forKey: name.id) else {
                    pending.append(submission)
                    continue
                }
                if submission.isAgain, standing.createdAt == name.createdAt, standing.type == name.type {
                    // Published before the crash.
                    finish(submission, &admission)
                    admission.duplicates += 1
                } else {
                    conflict(submission, &admission, now)
                }
            }
            var collisions: Set<Int> = []
            let files = pending.map {
                IncomingFile(
                    entry: Entry(state: .new, name: EntryName(naming: $0.operation.header)),
                    bytes: OperationFile.encode($0.operation), body: $0.operation.body.count)
            }
            if !files.isEmpty { try queue.publish(files, durable: true) { collisions.insert($0) } }
            for (index, submission) in pending.enumerated() {
                if collisions.contains(index) {
                    conflict(submission, &admission, now)
                } else {
                    admission.admitted.append(files[index].entry)
                    finish(submission, &admission)
                }
            }
        } catch {
            admission.errors.append(error)
            for submission in pending { putBack(submission.claim, submission.originalName, &admission) }
        }
    }

    /// Row C → gone, when the operation is in row N. A claim that cannot be removed comes back with the same id, and is
    /// found to be there already.
    private func finish(_ submission: Submission, _ admission: inout Admission) {
        do throws(SpoolError) { try remove(submission.claim) } catch { admission.errors.append(error) }
    }

    private func conflict(_ submission: Submission, _ admission: inout Admission, _ now: Timestamp) {
        let reason =
            "ids in conflict: an operation with the id '\(submission.operation.header.id)' is in the queue already"
        do throws(Errno) {
            try quarantine(submission.claim, nil, foreign: submission.originalName, reason, &admission, now)
        } catch {
            admission.errors.append(SpoolError(error, "quarantine", submission.claim))
            putBack(submission.claim, submission.originalName, &admission)
        }
    }

    /// Row C → Q, durable with the next `flush`.
    private func quarantine(
        _ path: QueuePath, _ name: EntryName?, foreign original: some Collection<UInt8>, _ reason: String,
        _ admission: inout Admission, _ now: Timestamp
    ) throws(Errno) {
        admission.quarantined.append(
            try queue.quarantine(
                path, as: name, originalName: Array(original), reason: reason, source: "new", isDurable: false, now))
        gained.insert(QueueState.quarantine.path)
        lost.insert(path.parent)
    }

    /// What the system does not let this user move, such as a stranger's directory, gets a name in `new/` that is skipped,
    /// so that it is told once; in quarantine is an empty file that says where it is. False where that cannot be done either.
    private func setAside(
        _ path: QueuePath, _ name: [UInt8], _ admission: inout Admission, _ now: Timestamp
    ) -> Bool {
        let aside = QueuePath("new/.\(Self.newAdmittingName())")
        let mark = QueuePath(in: directory.path, Self.newAdmittingName().utf8)
        do throws(Errno) {
            let status = try queue.system.statusAt(queue.root, path.bytes)
            let isKnown = try queue.knowsOwner(of: status)
            guard status.kind != .regular, !isKnown else { return false }
            try queue.system.renameNoReplace(queue.root, path.bytes, aside.bytes)
            try queue.createFile(mark, [], durable: false)
            let reason =
                "it is \(status.kind.words) that only user \(status.owner) can move: it is '\(aside.description)' now"
            try quarantine(mark, nil, foreign: name, reason, &admission, now)
            return true
        } catch {
            return false
        }
    }

    /// Why a stranger's file is no operation, where its name says that it is one.
    static func strangers(_ owner: UInt32) -> String {
        "it belongs to user \(owner), not to the queue's owner, root or the user that runs drainq"
    }

    /// Row C → F. What cannot be put back either is recovered by the next run.
    private func putBack(_ claim: QueuePath, _ name: [UInt8], _ admission: inout Admission) {
        do throws(Errno) {
            guard try queue.exists(claim) else { return }
            try queue.move(claim, QueuePath(in: QueueState.new.path, name))
            gained.insert(QueueState.new.path)
            lost.insert(directory.path)
        } catch {
            admission.errors.append(SpoolError(error, "put back", claim))
        }
    }
}

/// What `admitForeign` found.
package struct Admission: Hashable, Sendable {
    package var admitted: [Entry] = []
    package var quarantined: [QuarantineItem] = []
    /// There were more files than one call takes.
    package var hasMore = false
    /// Admitted before a crash already.
    package var duplicates = 0
    /// What could not be read or written; these files are where they were.
    package var errors: [SpoolError] = []

    package init() {}
}

extension OperationID {
    /// A UUID of version 4 (RFC 9562 §5.4).
    package static func random() -> OperationID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> OperationID {
        let high = generator.next() & ~0xF000 | 0x4000
        let low = generator.next() & ~(0b11 << 62) | 0b10 << 62
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
            let word = index < 16 ? high : low
            text.append(digits[Int(word >> UInt64(60 - index % 16 * 4) & 15)])
        }
        return OperationID(String(decoding: text, as: UTF8.self))!
    }
}
