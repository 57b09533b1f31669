package import Policy

/// What others have dropped into `new/`.
extension SpoolRun {
    /// Row F → N or Q: reads every name in `new/` that is not canonical, once.
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
        var foreign: [[UInt8]] = []
        let new = QueueState.new.path
        try queue.attempt("list", new) { () throws(Errno) in
            try queue.system.list(queue.root, new.bytes) { name in
                if EntryName(name) == nil { foreign.append(Array(name)) }
                return true
            }
        }
        var admission = Admission()
        if foreign.isEmpty { return admission }
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
            admission.errors.append(error)
            return nil
        }
        do throws(Errno) {
            let limit = limits.operationBytes + OperationFile.headerLimit
            let content = try queue.content(claim, limit: limit)
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
            admission.quarantined.append(
                try queue.quarantine(claim, as: nil, originalName: name, reason: reason, source: "new", now))
        } catch {
            admission.errors.append(SpoolError(error, "read", from))
            putBack(claim, name, &admission)
        }
        return nil
    }

    /// Publishes what was read, looking for ids that the queue has already in one scan.
    private func admit(_ batch: [Submission], _ admission: inout Admission, _ now: Timestamp) {
        if batch.isEmpty { return }
        var pending: [Submission] = batch
        do throws(SpoolError) {
            let ids = Set(batch.filter { $0.hasOwnID || $0.isAgain }.map(\.operation.header.id))
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
            admission.quarantined.append(
                try queue.quarantine(
                    submission.claim, as: nil, originalName: submission.originalName, reason: reason, source: "new", now
                ))
        } catch {
            admission.errors.append(SpoolError(error, "quarantine", submission.claim))
            putBack(submission.claim, submission.originalName, &admission)
        }
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
