import CSystem
import Policy
import Synchronization

/// A queue directory, opened. Used from one thread; a run's file workers move and read different files at once.
///
/// A file is in exactly one row of this table, whatever ends the process or the machine. Each function that moves a
/// file names the rows it leaves and enters; each move is one `rename`, so there is no state between two rows.
///
/// | row | where the file is | who may move it | after a crash |
/// |---|---|---|---|
/// | W written | `tmp/<writer>/`, writer's lock held | that writer | the lock is free: removed, nothing was promised; but what is `committed` goes to its rows |
/// | F foreign | `new/`, not a canonical name | a run, to C, where a copy of ours replaces it | there |
/// | N new | `new/` | a run, to C; an operator, also to N with another name (held, released) | there |
/// | D deferred | `deferred/` | a run, to C; an operator, also to D with another name (held, released) | there |
/// | C claimed | `claimed/<run>/`, run's lock held | that run, also back to N or D held by itself | the lock is free: recovered to its home, one interruption more |
/// | X failed | `failed/` | an operator, to D or N; retention | there |
/// | Q quarantine | `quarantine/` | an operator | there |
/// | K kept | `delivered/` | retention | there |
/// | – gone | nowhere | – | delivered, superseded, dropped, or kept no longer |
///
/// A foreign file is one file under one name at each moment: F → C (a rename to `admitting-…`), C → C (a rename puts the
/// synced copy in its place, and `claimed/<run>/` is synced), C → N (the copy gets its canonical name, `new/` is synced).
/// After a crash recovery tells by the checksum which of the two the claim is: the file goes back to F, the copy to N.
///
/// What `import --replace` replaces is taken from N, D, X or Q to row W, beside the commitment that names it, before the
/// new file enters: after a crash in between the commitment is completed.
///
/// An empty file in row W that is named as an operation is keeps the place of one that `send` has not yet sent
/// (`SendPlace`). A file `reserved` there keeps an id for `send` (`Reservation`), a file `committed` names a batch that
/// enters as a whole (`CommittedBatch`).
///
/// 1. *Accepted means durable*: W → N happens after the file is synced, the answer after `new/` is; likewise W → D, X, K
///    for what is imported.
/// 2. *Never two owners*: → C is a rename to a path that only one run has. Whoever finds its target there has won.
/// 3. *Home is in the name* (`QueueState.home`): recovery needs no record of where a claim came from.
/// 4. *Never nowhere*: a target's directory is synced before the source's. A file system that reorders shows a file
///    twice, never not at all; the generation with more attempts is the later one and wins.
/// 5. C → gone or another row is durable after `SpoolRun.flush`; a power cut before it brings C back, which sends again
///    under the same key: window W1. A superseded one is flushed before its successor is sent, so it never follows it.
///
/// 6. *Kept before gone*: what a delivery leaves for its key is durable in `state/keys/` before its file leaves row C
///    (`SpoolDirectory+Kept`). After a crash in between the operation is sent again and its answer is kept anew; a value
///    stays as long as an operation of its key is in row F, N, D, C or X.
///
/// Where the directory is slow a run moves several files at once (`FileWorkers`). Each file is in one row all the same, and
/// no call concerns two of them. What a crash finds is then not one file between two steps but several: claims of which
/// nothing has been sent, no more than attempts may be in flight, which come back with one interruption more each; and
/// deliveries whose answers came together and that are not yet gone, which is window W1 for each.
///
/// Liveness is the kernel's lock on `lock` in a writer's or run's directory (`LockedDirectory`), never a process id or age.
/// Where locks do not reach other hosts (`FileSystem.lockReach`), what another host has locked is not judged at all.
/// What runs remember is in `state/`, where each file is replaced in one step under a lock of its own
/// (`SpoolDirectory+State`).
///
/// Of several processes that add one id one adds it: they hold the ids lock (`IDsLock.swift`).
///
/// Order across runs hangs on two locks. `SequenceLock`: its holder alone claims operations that have an order. The names
/// lock (`NamesLock.swift`): while a run lists to decide an order, nobody else moves a file within N and D, or from C, X, K
/// and Q to them.
package final class SpoolDirectory {
    /// As it was given; errors that concern the queue as a whole name it.
    package let path: String
    let system: SystemCalls
    /// The queue directory: every path is relative to it.
    let root: Int32
    /// False once the file system has said EINVAL to a rename that must not replace.
    var renamesWithoutReplacing: Bool {
        get { renaming.load(ordering: .relaxed) }
        set { renaming.store(newValue, ordering: .relaxed) }
    }
    private let renaming = Atomic(true)

    /// Asked for when it matters first, which may be on several threads.
    package var fileSystem: FileSystem {
        knownFileSystem.withLock { known in
            if let known { return known }
            let asked = system.fileSystem(root)
            known = asked
            return asked
        }
    }
    private let knownFileSystem = Mutex<FileSystem?>(nil)
    /// Stands in the names of this host's runs and writers.
    private(set) lazy var hostTag = String(Digest(of: system.host()).description.prefix(8))

    /// Opened when the names lock is taken first.
    var namesLock: LockFile?
    var holdsNames = false
    /// Since when `together` keeps the names lock from one move to the next; `nil` where each move takes it for itself.
    var namesKeptSince: Duration?
    /// Opened when the ids lock is taken first.
    var idsLock: LockFile?
    var holdsIDs = false
    /// Where this process has reserved ids itself.
    var reservations: Set<QueuePath> = []

    /// Directories that `together` syncs at its end, those that gained names first; `nil` where each is synced at once.
    var postponed: (gained: Set<QueuePath>, lost: Set<QueuePath>)?
    /// Where what `together` drops goes first; made by the first of them.
    var sharedScratch: ScratchDirectory?

    /// The version of the queue as a whole: its layout, its names, and the files of `state/`; `state/format` has it. A
    /// queue without that file has format 1.
    ///
    /// It is looked at before anything else, and again under the lock of whoever makes claims or accepts (`checkFormat`).
    /// So a drainq that changes the format writes the new version first, and then waits until no lock of a run or writer
    /// is held: who locked before that is waited for, who locks after it sees the new version and goes.
    static let formatVersion = 1
    static let formatPath = QueuePath("state/format")
    static let directories = ["tmp"] + QueueState.allCases.map(\.rawValue) + ["state"]

    /// Opens a queue. Throws `noSuchQueue`, `notAQueue`, `newerFormat` or what the system said.
    package convenience init(opening path: String, system: SystemCalls = .real) throws(SpoolError) {
        try self.init(unfinished: path, system: system)
        try checkLayout()
    }

    /// Opens a directory that may still lack what makes it a queue, but is not a newer drainq's.
    init(unfinished path: String, system: SystemCalls) throws(SpoolError) {
        self.path = path
        self.system = system
        root = try Self.openRoot(path, system)
        // All is initialised: if this throws, `deinit` runs and closes the root.
        try checkFormat()
    }

    deinit {
        namesLock?.release()
        idsLock?.release()
        try? system.close(root)
    }

    /// Makes a queue, or completes one; parents are made as `mkdir -p` makes them, the queue itself with mode 0700.
    ///
    /// A directory that holds other things already is refused. After a crash: called again, it completes.
    package static func create(at path: String, system: SystemCalls = .real) throws(SpoolError) -> SpoolDirectory {
        try makeRoot(path, system)
        let queue = try SpoolDirectory(unfinished: path, system: system)
        do throws(Errno) {
            var strangers = false
            try system.list(queue.root, ".") { name in
                let name = String(decoding: name, as: UTF8.self)
                strangers = !(directories + ["drainq.json", "paused", "lost+found"]).contains(name)
                return !strangers
            }
            if strangers { throw Errno(ENOTEMPTY) }
            for directory in directories {
                do throws(Errno) {
                    try system.makeDirectory(queue.root, directory, 0o700)
                    try withDescriptor(system, queue.root, QueuePath(directory), O_RDONLY | O_DIRECTORY) {
                        (descriptor) throws(Errno) in try system.chmod(descriptor, 0o700)
                    }
                } catch let error where error == .exists {}
            }
            try system.fsync(queue.root)
        } catch {
            throw SpoolError(
                kind: error.code == EACCES ? .permission : .io, verb: "make a queue in", path: path, code: error.code)
        }
        try queue.checkLayout()
        try queue.completeFormat()
        // What runs cannot make when the disk is full.
        try queue.attempt("begin a run in", QueueState.claimed.path) { () throws(Errno) in
            if try !queue.exists(LockedDirectory.spare) {
                try LockedDirectory.make(in: QueueState.claimed.path, at: Timestamp(microseconds: 0), queue).remove()
            }
        }
        try queue.lockSequences()?.release()
        try queue.withNamesLock { () throws(SpoolError) in }
        try queue.withIDsLock { () throws(SpoolError) in }
        return queue
    }

    /// Writes the configuration of a new queue, with mode 0600 whatever the umask; false if there is one already.
    package func createConfiguration(_ text: String) throws(SpoolError) -> Bool {
        let path = QueuePath("drainq.json")
        return try attempt("write", path) { () throws(Errno) in
            do throws(Errno) {
                try createFile(path, Array(text.utf8), durable: true)
            } catch let error where error == .exists {
                return false
            }
            try sync(path.parent)
            return true
        }
    }

    /// Present: no run attempts anything.
    package var isPaused: Bool {
        get throws(SpoolError) {
            try status(QueuePath("paused"), "look for") != nil
        }
    }

    package func setPaused(_ paused: Bool) throws(SpoolError) {
        let path = QueuePath("paused")
        try attempt(paused ? "write" : "remove", path) { () throws(Errno) in
            if paused {
                try Self.withDescriptor(system, root, path, O_WRONLY | O_CREAT | O_NOFOLLOW) {
                    (descriptor) throws(Errno) in try system.chmod(descriptor, 0o600)
                }
            } else {
                do throws(Errno) { try system.unlink(root, path.bytes) } catch let error where error == .missing {}
            }
        }
        try syncDirectory(QueuePath("."))
    }

    /// What an unprivileged user may still write to the queue's file system.
    package var freeBytes: Int {
        get throws(SpoolError) {
            try attempt("ask for the free space of", QueuePath(".")) { () throws(Errno) in try system.freeBytes(root) }
        }
    }

    // MARK: - Availability

    func checkLayout() throws(SpoolError) {
        for directory in [QueueState.new, .deferred, .claimed].map(\.path) + [QueuePath("tmp")] {
            guard try status(directory, "open")?.kind == .directory else {
                throw SpoolError(kind: .notAQueue, verb: "open", path: path, code: ENOTDIR)
            }
        }
    }

    /// Throws `newerFormat` where a newer drainq has made the queue its own, and `notAQueue` where nobody can say.
    func checkFormat() throws(SpoolError) {
        guard let format = try formatFile() else { return }
        let version = Int(String(decoding: format, as: UTF8.self).filter { !$0.isWhitespace })
        guard let version, version > 0 else {
            throw SpoolError(kind: .notAQueue, verb: "open", path: path, code: EINVAL)
        }
        if version > Self.formatVersion {
            throw SpoolError(kind: .newerFormat(version), verb: "open", path: path, code: EINVAL)
        }
    }

    /// `nil` also where there is no `state/` to have it.
    private func formatFile() throws(SpoolError) -> [UInt8]? {
        do throws(SpoolError) {
            return try readFile(Self.formatPath, limit: 64)
        } catch let error where error.code == ENOTDIR {
            return nil
        }
    }

    func completeFormat() throws(SpoolError) {
        if try formatFile() == nil { try writeState("format", Array("\(Self.formatVersion)\n".utf8)) }
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
