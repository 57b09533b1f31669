internal import CSystem
internal import Policy
internal import Spool

/// A file system in memory, behind the closures of `SystemCalls`: names, links, open files, locks, listings in portions
/// while names move, short writes, bounds, and what a power cut leaves.
///
/// EINTR needs no model: the real closures repeat the call themselves. Stronger than a real disk: times are exact, and
/// a directory's own inode is always there. Weaker on purpose: the content of a file that was not synced may be gone,
/// short or zero although its name is durable, also where ext4 would have written it (`data=ordered`).
final class SimulatedDisk {
    let journal: Setup.Journal
    let root: Inode
    /// The bytes that may still be written; `nil` for no bound.
    var freeBytes: Int?
    /// The most descriptors that one process may have.
    var mostDescriptors = 200
    /// Whether renames that must not replace are possible: not on NFS.
    var renamesWithoutReplacing = true
    private var inodes: UInt64 = 1
    var descriptors: [Int32: OpenFile] = [:]
    private var lastDescriptor: Int32 = 2
    /// The number of changes of names so far: the end of the journal.
    var places = 0
    /// Directories with changes that are not durable.
    var unsynced: [Inode] = []
    /// Decides where names stand in a listing.
    let hashSeed: UInt64

    init(journal: Setup.Journal, seed: UInt64) {
        self.journal = journal
        hashSeed = seed
        root = Inode(1, .directory, owner: 0, permissions: 0o755, at: 0)
        root.links = 2
    }

    func makeInode(_ kind: FileStatus.Kind, owner: UInt32, permissions: UInt32, at now: Timestamp) -> Inode {
        inodes += 1
        return Inode(inodes, kind, owner: owner, permissions: permissions, at: now.microseconds * 1000)
    }

    // MARK: - Names

    /// A name in a directory, as a path leads to it.
    struct Place {
        var directory: Inode
        var name: [UInt8]
        /// What has the name; `nil` if nothing has.
        var inode: Inode? { name == [] ? directory : directory.names[name] }
    }

    /// Follows a path to its last name, which need not be there. An empty name stands for the directory itself.
    func place(_ directory: Int32, _ path: UnsafePointer<CChar>) throws(Errno) -> Place {
        var current = path[0] == CChar(UInt8(ascii: "/")) || directory == AT_FDCWD ? root : try file(directory).inode
        var name: [UInt8] = []
        var index = 0
        while path[index] != 0 {
            let byte = UInt8(bitPattern: path[index])
            index += 1
            if byte != UInt8(ascii: "/") {
                name.append(byte)
                continue
            }
            if name.isEmpty || name == [UInt8(ascii: ".")] {
                name = []
                continue
            }
            guard let next = current.names[name] else { throw Errno(current.kind == .directory ? ENOENT : ENOTDIR) }
            guard next.kind == .directory else { throw Errno(ENOTDIR) }
            current = next
            name = []
        }
        if name == [UInt8(ascii: ".")] { name = [] }
        guard current.kind == .directory else { throw Errno(ENOTDIR) }
        if name.count > 255 { throw Errno(ENAMETOOLONG) }
        return Place(directory: current, name: name)
    }

    func inode(at place: Place) throws(Errno) -> Inode {
        guard let inode = place.inode else { throw Errno(ENOENT) }
        return inode
    }

    /// Told of each file that gets a name in `new/` or `deferred/`, and of its content.
    var named: ((_ name: [UInt8], _ bytes: [UInt8]) -> Void)?
    private lazy var waiting = ["new", "deferred"].compactMap { name in
        root.names[Array("queue".utf8)]?.names[Array(name.utf8)]
    }

    /// Begins a change of names that is whole in the journal.
    func beginChange() { places += 1 }

    /// Gives a name in a directory to an inode, or to none, as a part of the change that has begun.
    func set(_ place: Place, to inode: Inode?, at now: Timestamp) {
        let before = place.directory.names[place.name]
        if place.directory.changes.isEmpty { unsynced.append(place.directory) }
        place.directory.changes.append(Inode.Change(place: places, name: place.name, before: before))
        place.directory.names[place.name] = inode
        let time = now.microseconds * 1000
        place.directory.modified = time
        before?.links -= 1
        before?.changed = time
        inode?.links += 1
        inode?.changed = time
        if let named, let inode, inode.kind == .regular, waiting.contains(where: { $0 === place.directory }) {
            named(place.name, inode.data)
        }
    }

    // MARK: - Open files

    func file(_ descriptor: Int32) throws(Errno) -> OpenFile {
        guard let file = descriptors[descriptor] else { throw Errno(EBADF) }
        return file
    }

    func open(_ inode: Inode, _ process: ProcessID, _ path: String, isAppending: Bool) throws(Errno) -> Int32 {
        if descriptors.values.count(where: { $0.process == process }) >= mostDescriptors { throw Errno(EMFILE) }
        lastDescriptor += 1
        descriptors[lastDescriptor] = OpenFile(inode, process, path, isAppending: isAppending)
        return lastDescriptor
    }

    func close(_ descriptor: Int32) throws(Errno) {
        guard let file = descriptors.removeValue(forKey: descriptor) else { throw Errno(EBADF) }
        if file.inode.lock === file { file.inode.lock = nil }
    }

    /// Closes what a process had open, and so releases its locks: its death or its end.
    func end(_ process: ProcessID) {
        for (descriptor, file) in descriptors where file.process == process {
            if file.inode.lock === file { file.inode.lock = nil }
            descriptors[descriptor] = nil
        }
    }

    // MARK: - For the model and other programs

    /// Returns the regular files below a directory, by path.
    func files(in directory: String) -> [LeftFile] {
        var files: [LeftFile] = []
        func collect(_ inode: Inode, _ path: String) {
            for (name, inode) in inode.names {
                let path = path + String(decoding: name, as: UTF8.self)
                if inode.kind == .directory {
                    collect(inode, path + "/")
                } else if inode.kind == .regular {
                    files.append(LeftFile(path: path, bytes: inode.data))
                }
            }
        }
        var place = root
        for part in directory.split(separator: "/") { place = place.names[Array(part.utf8)] ?? place }
        collect(place, "")
        return files.sorted { $0.path < $1.path }
    }
}
