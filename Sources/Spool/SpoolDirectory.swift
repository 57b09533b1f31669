import CSystem
package import Policy
import Synchronization

/// An open queue directory: where its files are, who may move them, and its locks. A single thread uses the object, but
/// a run's file workers move and read different files at once.
///
/// A file is in exactly one row of this table, even after a crash of the process or the machine. Each function that
/// moves a file names the rows before and after the move. Each move is one `rename`, so there is no state between two
/// rows. Without RENAME_NOREPLACE a move is `link` and `unlink` (`move`): a crash leaves two names of the same file,
/// and the next move, read or recovery removes one of them.
///
/// | row | where the file is | who may move it | after a crash |
/// |---|---|---|---|
/// | W written | `tmp/<writer>/`, locked by the writer | that writer, to N, D, X or K; `send` to C | the lock is free: the file is removed, since nothing was promised; a `committed` batch goes to its rows |
/// | F foreign | `new/`, not a canonical name, or another user's file | a run, to C, where drainq's copy replaces it | unchanged |
/// | N new | `new/` | a run, to C; an operator, also within N to another name (hold, release) | unchanged |
/// | D deferred | `deferred/` | a run, to C; an operator, also within D to another name (hold, release) | unchanged |
/// | C claimed | `claimed/<run>/`, locked by the run | that run, also back to N or D on hold | the lock is free: recovery returns the file to its home, with one more interruption if its request had begun, or finishes its delivery or its failure (`ClaimMarks`) |
/// | X failed | `failed/` | an operator, to D or N; retention; a run, to gone, for a newer value that it has delivered; the run that failed it, back to C if a storm is to blame | unchanged |
/// | Q quarantine | `quarantine/` | an operator; a run, to gone, as in row X | unchanged |
/// | K kept | `delivered/` | retention | unchanged |
/// | – gone | nowhere | – | delivered, superseded, dropped, refused to `send`, or removed by retention |
///
/// A foreign file is at each moment one file under one name. The file moves F → C (a rename to `admitting-…`), C → C (a
/// rename puts the synced copy in its place, then `claimed/<run>/` is synced), C → N (the copy gets its canonical name,
/// then `new/` is synced). After a crash the file or the copy goes back to F. The checksum tells the next admission
/// that it reads a copy.
///
/// `import --replace` gives an operation a new content under its name: N, D → C, C → C (one rename puts the synced new
/// file in the place of the claim), C → N, D. In row X, where no run moves files, a single rename is enough. A batch of
/// all or none is committed once all its claims are won; recovery completes the batch before it returns the claims.
///
/// In row W the file `committed` names a batch that enters as a whole (`CommittedBatch`). `retry --as-newest` commits
/// the new file together with the departure of the old one: X, Q → gone.
///
/// A file goes from a row to "gone" through one door, with the evidence for its departure (`Departure`).
///
/// 1. *Accepted means durable*: W → N follows the sync of the file, and the answer follows the sync of `new/`. The same
///    is true of W → D, X, K for imported operations. `send` moves its operation W → C, synced as a file and not as a
///    name, and answers that the queue has the operation only after C → N or D and a sync.
/// 2. *Never two owners*: → C is a rename to a path in the run's own directory. A run that finds its target there has
///    won.
/// 3. *Home is in the name* (`QueueState.home`): recovery needs no record of where a claim came from.
/// 4. *Never nowhere*: the target's directory is synced before the source's. A file system that reorders may show a
///    file twice, but never loses a file. The generation with more attempts is the later one and wins. A claim is not
///    synced, so a move to row C needs a single ordered journal of metadata (ext4, xfs, btrfs): there a sync of any
///    directory makes all earlier moves durable. On a weaker file system a sync of `new/` or `deferred/` may make the
///    old name's removal durable, and not the new name in `claimed/<run>/`. A power cut then loses the operation.
/// 5. *Gone after sync*: C → gone or another row is durable after `SpoolRun.sync`. A power cut before the sync brings
///    the claim back, and its operation is sent again under the same idempotency key: the repeat window. A superseded
///    operation is synced before its successor is sent, so it is never sent after its successor.
/// 6. *Kept before gone*: the values that a delivery leaves for its key are durable in `state/keys/` before its file
///    leaves row C (`SpoolDirectory+Kept`). After a crash in between the operation is sent again and its answer is kept
///    anew. A value stays while an operation of its key is in row N, D, C or X. The name of a foreign file has no key:
///    while a foreign file is in row F, its age extends the retention of values (`pruneKept`).
///
/// In a slow directory a run moves several files at once (`FileWorkers`). Each file is still in a single row, and no
/// call concerns two files. A crash may leave claims unsent, at most as many as attempts may be in flight, and the
/// claims of a single batch. A power cut may also leave delivered files in row C; each is sent again.
///
/// A writer or run lives while it has the kernel's lock on `lock` in its directory (`LockedDirectory`). Process ids and
/// ages prove nothing. If locks do not reach other hosts (`FileSystem.lockReach`), no lock of another host counts as
/// free. What runs remember is in `state/`, where each file is replaced in one step under the lock on `state/lock`
/// (`SpoolDirectory+State`), except for the log, which grows, and the two records of adders (`AdmissionRecord`).
///
/// Two kinds of locks protect order, limits and ids across processes. Only the holder of a destination's lock
/// (`SequenceLocks`) claims its operations that have an order. A process that gives a waiting operation a name, or
/// takes one away, has the names lock (`NamesLock.swift`) from its first look at the queue to its last change, if the
/// operation has an order or an id of its submitter's, or the queue has limits; a run that decides an order lists under
/// the same lock.
package final class SpoolDirectory {
    /// The path as the caller gave it. Errors of the whole queue name this path.
    package let path: String
    let system: SystemCalls
    /// The queue directory. Every path is relative to this directory.
    let root: Int32
    /// The directories of `root` in which the calls for claims name files without a path.
    let openDirectories: OpenDirectories
    /// False once the file system has answered EINVAL to a rename without replacement.
    var renamesWithoutReplacing: Bool {
        get { renaming.load(ordering: .relaxed) }
        set { renaming.store(newValue, ordering: .relaxed) }
    }
    private let renaming = Atomic(true)
    /// The number of open files of operations, each for a large body (`openFile`).
    let openFiles = Atomic(0)

    /// The queue's file system. The kernel is asked at the first use, possibly on several threads.
    package var fileSystem: FileSystem {
        knownFileSystem.withLock { known in
            if let known { return known }
            let asked = system.fileSystem(root)
            known = asked
            return asked
        }
    }
    private let knownFileSystem = Mutex<FileSystem?>(nil)
    /// The host's part of the names of runs and writers.
    private(set) lazy var hostTag = String(Digest(of: system.host()).description.prefix(8))

    /// Opened when the names lock is first taken.
    var namesLock: LockFile?
    /// How many callers of this process have the names lock.
    var namesLockDepth = 0
    /// When `withSharedSyncs` took the names lock, to keep the lock between moves; `nil` if each move takes the lock by
    /// itself.
    var namesKeptSince: Duration?

    /// Directories that `withSharedSyncs` syncs at its end, first the directories with additions; `nil` if each is
    /// synced at once.
    var deferredSyncs: (withAdditions: Set<QueuePath>, withRemovals: Set<QueuePath>)?
    /// The scratch directory for all files that `withSharedSyncs` drops; the first drop makes it.
    var sharedScratch: ScratchDirectory?

    /// The version of the whole queue: its layout, its names, and the files of `state/`. The file `state/format` has
    /// the version; a queue without this file has format 1.
    ///
    /// Every open of the queue reads the version first. A run or writer reads the version again under its lock
    /// (`checkFormat`). So a drainq that changes the format writes the new version and then waits until no run or
    /// writer has its lock: the wait covers each process that locked before the change, and a process that locks after
    /// the change sees the new version and stops.
    static let formatVersion = 1
    static let formatPath = QueuePath("state/format")
    static let directories = ["tmp"] + QueueState.allCases.map(\.rawValue) + ["state"]

    /// Opens a queue. Throws `noSuchQueue`, `notAQueue`, `newerFormat` or the system's error.
    package convenience init(opening path: String, system: SystemCalls = .real) throws(SpoolError) {
        try self.init(unfinished: path, system: system)
        try checkFormat()
        try completeLayout()
    }

    /// Opens a directory that may lack parts of a queue, of whatever format.
    init(unfinished path: String, system: SystemCalls) throws(SpoolError) {
        self.path = path
        self.system = system
        root = try Self.openRoot(path, system)
        openDirectories = OpenDirectories(in: root, system)
    }

    deinit {
        namesLock?.release()
        try? system.close(root)
    }

    /// Makes or completes a queue. Makes its parents as `mkdir -p` does, and the queue itself with mode 0700.
    ///
    /// Refuses a directory with other files, unless it is a queue already. After a crash another call completes the
    /// queue.
    package static func create(at path: String, system: SystemCalls = .real) throws(SpoolError) -> SpoolDirectory {
        try makeRoot(path, system)
        let queue = try SpoolDirectory(unfinished: path, system: system)
        try queue.checkFormat()
        do throws(Errno) {
            var hasOtherFiles = false
            try system.list(queue.root, ".") { name in
                let name = String(decoding: name, as: UTF8.self)
                hasOtherFiles = !(directories + ["drainq.json", "paused", "lost+found"]).contains(name)
                return !hasOtherFiles
            }
            if hasOtherFiles, try !queue.exists(formatPath) { throw Errno(ENOTEMPTY) }
            try queue.make(directories)
        } catch {
            throw SpoolError(
                kind: error.code == EACCES ? .permission : .io, verb: "make a queue in", path: path, code: error.code)
        }
        try queue.completeLayout()
        try queue.completeFormat()
        // A run cannot make these files when the disk is full.
        try queue.attempt("begin a run in", QueueState.claimed.path) { () throws(Errno) in
            if try !queue.exists(LockedDirectory.spare) {
                try LockedDirectory.make(in: QueueState.claimed.path, at: Timestamp(microseconds: 0), queue).remove()
            }
        }
        try queue.attempt("lock", SequenceLocks.common) { () throws(Errno) in
            try LockFile(SequenceLocks.common, queue).release()
        }
        try queue.withNamesLock { () throws(SpoolError) in }
        queue.keepReserve()
        return queue
    }

    /// Whether the file `paused` is there: no run attempts anything.
    package var isPaused: Bool {
        get throws(SpoolError) {
            try status(QueuePath("paused"), "look for") != nil
        }
    }

    /// Since when the queue is paused, and the user that paused it; `nil` if it is not. An earlier version wrote an
    /// empty file.
    package var pause: (since: Timestamp, user: String?)? {
        get throws(SpoolError) {
            let path = QueuePath("paused")
            guard let status = try status(path, "look for") else { return nil }
            // try?: a pause holds, whatever its file says.
            let text = (try? readFile(path, limit: 1024)).flatMap(\.self).map { String(decoding: $0, as: UTF8.self) }
            let line = text?.utf8.split(separator: UInt8(ascii: "\n")).first ?? "".utf8[...]
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 1).map {
                String(decoding: $0, as: UTF8.self)
            }
            guard let since = words.first.flatMap({ Timestamp(rfc3339: $0) }) else { return (status.modifiedAt, nil) }
            return (since, words.count > 1 ? escapedForDisplay(words[1]) : nil)
        }
    }

    /// Pauses the queue, or ends its pause. Returns whether that changes anything: a pause that goes on keeps its
    /// beginning.
    @discardableResult
    package func setPaused(
        _ paused: Bool, by user: String = "", at now: Timestamp? = nil
    ) throws(SpoolError) -> Bool {
        let path = QueuePath("paused")
        if try isPaused == paused { return false }
        try attempt(paused ? "write" : "remove", path) { () throws(Errno) in
            if paused {
                try Self.withDescriptor(system, root, path, O_WRONLY | O_CREAT | O_NOFOLLOW) {
                    (descriptor) throws(Errno) in
                    try system.chmod(descriptor, 0o600)
                    if let now { try write(descriptor, Array("\(now.rfc3339) \(user)\n".utf8)) }
                }
            } else {
                do throws(Errno) { try system.unlink(root, path.bytes) } catch let error where error == .missing {}
            }
        }
        try syncDirectory(QueuePath("."))
        return true
    }

    /// The bytes left to an unprivileged user on the queue's file system.
    package var freeBytes: Int {
        get throws(SpoolError) {
            try attempt("ask for the free space of", QueuePath(".")) { () throws(Errno) in try system.freeBytes(root) }
        }
    }

    // MARK: - Layout and format

    /// Makes the missing directories again: a copy of a queue by git, `rsync -m` or zip lacks the empty ones. Throws
    /// `notAQueue` if another file is in the place of a directory, or if so much is missing that this is no queue.
    func completeLayout() throws(SpoolError) {
        var missing: [String] = []
        for directory in Self.directories {
            guard let status = try status(QueuePath(directory), "open") else {
                missing.append(directory)
                continue
            }
            if status.kind != .directory { throw isNoQueue }
        }
        if missing.isEmpty { return }
        if missing.count > Self.directories.count / 2, try formatFile() == nil { throw isNoQueue }
        try attempt("make", QueuePath(missing[0])) { () throws(Errno) in try make(missing) }
    }

    private var isNoQueue: SpoolError { SpoolError(kind: .notAQueue, verb: "open", path: path, code: ENOTDIR) }

    /// Makes directories of the layout with mode 0700 whatever the umask, durably.
    func make(_ directories: [String]) throws(Errno) {
        for directory in directories {
            do throws(Errno) {
                try system.makeDirectory(root, directory, 0o700)
                try Self.withDescriptor(system, root, QueuePath(directory), O_RDONLY | O_DIRECTORY | O_NOFOLLOW) {
                    (descriptor) throws(Errno) in try system.chmod(descriptor, 0o700)
                }
            } catch let error where error == .exists {}
        }
        try system.fsync(root)
    }

    /// Throws `newerFormat` if a newer drainq has changed the format, and `damaged` if the version cannot be read.
    func checkFormat() throws(SpoolError) {
        guard let format = try formatFile() else { return }
        let version = Int(String(decoding: format, as: UTF8.self).filter { !$0.isWhitespace })
        guard let version, version > 0 else {
            throw SpoolError(kind: .damaged, verb: "read", path: Self.formatPath.description, code: EINVAL)
        }
        if version > Self.formatVersion {
            throw SpoolError(kind: .newerFormat(version), verb: "open", path: path, code: EINVAL)
        }
    }

    /// Returns the content of `state/format`; `nil` without the file or without `state/`.
    private func formatFile() throws(SpoolError) -> [UInt8]? {
        do throws(SpoolError) {
            return try readFile(Self.formatPath, limit: 64)
        } catch let error where error.code == ENOTDIR {
            return nil
        }
    }

    /// Writes the version of the format, unless a file has a version already. Replaces a damaged file: a process that
    /// changes the format writes the file in one step, so no newer version is lost.
    func completeFormat() throws(SpoolError) {
        let isMissing = try formatFile() == nil
        guard try isMissing ? true : isFormatDamaged else { return }
        try writeState("format", Array("\(Self.formatVersion)\n".utf8))
    }

    var isFormatDamaged: Bool {
        get throws(SpoolError) {
            do throws(SpoolError) {
                try checkFormat()
                return false
            } catch let error where error.kind == .damaged {
                return true
            }
        }
    }

    static func openRoot(_ path: String, _ system: SystemCalls) throws(SpoolError) -> Int32 {
        do throws(Errno) {
            return try system.open(AT_FDCWD, path.rawCString, O_RDONLY | O_DIRECTORY, 0)
        } catch {
            let kind: SpoolError.Kind =
                switch error.code {
                case ENOENT: .noSuchQueue
                case ENOTDIR: .notAQueue
                case EACCES: .permission
                default: .io
                }
            throw SpoolError(kind: kind, verb: "open", path: path, code: error.code)
        }
    }

    private static func makeRoot(_ path: String, _ system: SystemCalls) throws(SpoolError) {
        var made = path.utf8.first == UInt8(ascii: "/") ? "" : "."
        let components = path.unicodeScalars.split(separator: "/").map(String.init)
        for (index, component) in components.enumerated() {
            let parent = made.isEmpty ? "/" : made
            made += "/\(component)"
            do throws(Errno) {
                try system.makeDirectory(AT_FDCWD, made.rawCString, index == components.count - 1 ? 0o700 : 0o777)
                try withDescriptor(system, AT_FDCWD, QueuePath(parent), O_RDONLY | O_DIRECTORY) {
                    (descriptor) throws(Errno) in try system.fsync(descriptor)
                }
                if index == components.count - 1 {
                    try withDescriptor(system, AT_FDCWD, QueuePath(made), O_RDONLY | O_DIRECTORY) {
                        (descriptor) throws(Errno) in try system.chmod(descriptor, 0o700)
                    }
                }
            } catch let error where error == .exists {
            } catch {
                throw SpoolError(
                    kind: error.code == EACCES ? .permission : .io, verb: "make", path: made, code: error.code)
            }
        }
    }
}
