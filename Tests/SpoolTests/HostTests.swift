import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// Hosts that share a directory: whose run is alive, and what a run does that has been taken for dead.
struct `Several hosts` {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// The queue as another host sees it, through a file system whose locks it has to itself.
    private func elsewhere(_ host: String, _ type: String) throws -> SpoolDirectory {
        var system = SystemCalls.real
        system.host = { host }
        system.fileSystem = { _ in FileSystem(type: type) }
        return try queue.open(system)
    }

    static let reaches: [(FileSystem, FileSystem.LockReach)] = [
        (FileSystem(type: "ext4"), .everyHost),
        (FileSystem(type: "tmpfs"), .everyHost),
        (FileSystem(type: "fuseblk"), .everyHost),
        (FileSystem(type: "nfs4", options: ["rw", "local_lock=none"]), .everyHost),
        (FileSystem(type: "nfs4", options: ["local_lock=flock"]), .thisHost),
        (FileSystem(type: "nfs4", options: ["local_lock=posix"]), .everyHost),
        (FileSystem(type: "nfs", options: ["vers=3", "local_lock=none"]), .everyHost),
        (FileSystem(type: "nfs", options: ["vers=3", "nolock", "local_lock=all"]), .thisHost),
        (FileSystem(type: "fuse.glusterfs"), .everyHost),
        (FileSystem(type: "ceph"), .everyHost),
        (FileSystem(type: "lustre", options: ["flock"]), .everyHost),
        (FileSystem(type: "lustre", options: ["localflock"]), .thisHost),
        (FileSystem(type: "fuse.sshfs"), .thisHost),
        (FileSystem(type: "fuse"), .thisHost),
        (FileSystem(type: "cifs"), .thisHost),
        (FileSystem(type: "9p"), .thisHost),
        (FileSystem(type: "unknown"), .thisHost),
    ]

    @Test(arguments: reaches) func `how far locks reach follows from the file system`(
        _ fileSystem: FileSystem, _ reach: FileSystem.LockReach
    ) {
        #expect(fileSystem.lockReach == reach)
    }

    @Test func `the kernel's table of mounts is read as it is written`() throws {
        let table = """
            22 27 0:21 / /proc rw,relatime - proc proc rw
            36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue
            361 35 0:99 / /a\\040b rw - nfs4 [::1]:/q rw,vers=4.2,local_lock=none
            37 35 broken
            """
        #expect(
            FileSystem(ofMount: "36", in: table)
                == FileSystem(type: "ext3", options: ["rw", "noatime", "errors=continue"]))
        #expect(FileSystem(ofMount: "361", in: table)?.options.contains("local_lock=none") == true)
        #expect(FileSystem(ofMount: "22", in: table)?.type == "proc")
        #expect(FileSystem(ofMount: "37", in: table) == nil && FileSystem(ofMount: "1", in: table) == nil)
        #expect(try queue.open().fileSystem.type != "unknown")
        #expect(SystemCalls.real.fileSystem(-1).type == "unknown")
    }

    @Test func `where locks reach every host, the dead of one are recovered by another`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try elsewhere("far", "nfs4").beginRun(now: now)
            run.begin([try #require(try run.claim(entry))])
        }
        let run = try elsewhere("near", "nfs4").beginRun(now: now)
        #expect(try run.recover(now: now).returned.map(\.name.interruptions) == [1])
    }

    @Test func `where hosts share a file system, no mark says that an operation was delivered`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try elsewhere("far", "nfs4").beginRun(now: now)
            let claim = try #require(try run.claim(entry))
            run.begin([claim])
            #expect(!run.markDelivered(claim))
        }
        let recovery = try elsewhere("near", "nfs4").beginRun(now: now).recover(now: now)
        #expect(recovery.delivered.isEmpty && recovery.returned.map(\.name.interruptions) == [1])
    }

    @Test func `where they do not, another host's run is left alone, and so is its writer`() throws {
        let entries = try queue.add(["a", "b"])
        let (far, near) = (try elsewhere("far", "fuse.sshfs"), try elsewhere("near", "fuse.sshfs"))
        let name: String
        do {
            // Alive or dead: here its lock looks free in both cases.
            let run = try far.beginRun(now: now)
            _ = try run.claim(entries[0])
            name = run.name
        }
        mkdir("\(queue.path)/tmp/\(name)", 0o700)
        try queue.put("", at: "tmp/\(name)/lock")
        let run = try near.beginRun(now: now)
        #expect(try run.recover(now: now) == Recovery())
        #expect(queue.names("tmp") == [name])
        #expect(try run.hasOtherRuns)
        #expect(try run.otherRuns == [name])
        #expect(try near.damages(now: now) == [])
        #expect(try near.unjudgedRuns() == [name])
        #expect(try near.lockSequences() == nil)
        try run.end()
        // Its own host knows.
        #expect(try far.unjudgedRuns() == [])
        #expect(try far.damages(now: now).contains(.deadRun(name, claims: 1)))
        // And so does a person.
        unlink("\(queue.path)/claimed/\(name)/lock")
        #expect(try far.lockSequences() != nil)
        let next = try near.beginRun(now: now)
        #expect(try next.recover(now: now).returned.count == 1)
        try next.end()
        #expect(try near.lockSequences() != nil)
    }

    @Test(arguments: ["ext4", "fuse.ceph-fuse"])
    func `on a shared file system a run claims, reads and removes files in open directories, without paths`(
        type: String
    ) throws {
        let entries = try queue.add(["a", "b"])
        var system = SystemCalls.real
        let real = system
        var names: [String] = []
        system.fileSystem = { _ in FileSystem(type: type) }
        system.rename = { (directory, from, target, to) throws(Errno) in
            names += [String(cString: from), String(cString: to)]
            try real.rename(directory, from, target, to)
        }
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if String(cString: path).hasSuffix(".json") { names.append(String(cString: path)) }
            return try real.open(directory, path, flags, mode)
        }
        system.unlink = { (directory, path) throws(Errno) in
            names.append(String(cString: path))
            try real.unlink(directory, path)
        }
        let run = try queue.open(system).beginRun(now: now)
        names = []
        for entry in entries {
            let claim = try #require(try run.claim(entry))
            guard case .operation(let stored) = try run.read(claim) else {
                Issue.record("not read")
                continue
            }
            #expect(stored.operation.header.id == entry.name.id)
            #expect(try run.settle(claim, .delivered(keep: false), record: nil, now: now) == .gone)
        }
        #expect(names.count == 8 && names.allSatisfy { $0.contains("/") == (type == "ext4") }, "\(names)")
        #expect(queue.names("new").isEmpty && queue.names("claimed/\(run.name)") == ["lock"])
        try run.end()
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `a run that was taken for dead reaches no other run's directory`() throws {
        let entries = try queue.add(["a", "b"])
        #expect(unlink("\(queue.path)/state/spare/lock") == 0 && rmdir("\(queue.path)/state/spare") == 0)
        let far = try elsewhere("far", "nfs4").beginRun(now: now)
        let claim = try #require(try far.claim(entries[0]))
        // As if its lock had gone to another host.
        unlink("\(queue.path)/claimed/\(far.name)/lock")
        let near = try elsewhere("near", "nfs4").beginRun(now: now)
        #expect(try near.recover(now: now).returned == [entries[0]])
        #expect(queue.names("claimed") == [near.name] && !queue.names("state").contains("spare"))
        let again = try #require(try near.claim(entries[0]))
        // Within a second of the last look at the lock.
        #expect(throws: SpoolError.self) { try far.claim(entries[1]) }
        #expect(try far.settle(claim, .delivered(keep: false), record: nil, now: now) == .gone)
        #expect(near.isOpen(again) && queue.names("claimed/\(near.name)").count == 2)
        #expect(queue.names("new") == [entries[1].name.description])
        #expect(try near.settle(again, .delivered(keep: false), record: nil, now: now) == .gone)
        try near.end()
        #expect(queue.names("state").contains("spare"))
    }

    @Test(arguments: ["lock is another's", "EIO", "ESTALE", "directory is gone"])
    func `a run that has lost its lock touches nothing any more`(how: String) throws {
        let entries = try queue.add(["a", "b", "c"])
        let calls = InterceptedCalls()
        var system = calls.calls
        var elapsed: Duration = .zero
        var answer: () throws(Errno) -> Bool = { () throws(Errno) in true }
        system.elapsed = { elapsed }
        system.lock = { _ throws(Errno) in try answer() }
        let open = try queue.open(system)
        // The first lock is its own, the second shows that it keeps others out.
        var asked = 0
        answer = { () throws(Errno) in
            asked += 1
            return asked == 1
        }
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(entries[0]))
        switch how {
        case "EIO": answer = { () throws(Errno) in throw Errno(EIO) }
        case "ESTALE": answer = { () throws(Errno) in throw Errno(ESTALE) }
        case "directory is gone":
            answer = { () throws(Errno) in true }
            unlink("\(queue.path)/claimed/\(run.name)/lock")
        default: answer = { () throws(Errno) in false }
        }
        elapsed = .milliseconds(999)
        _ = try run.claim(entries[1])
        elapsed = .seconds(1)
        calls.reset()
        for _ in 0..<2 {
            let error = #expect(throws: SpoolError.self) {
                try run.settle(claim, .delivered(keep: false), record: nil, now: now)
            }
            #expect(error?.kind == .lostLock && error?.path == "claimed/\(run.name)")
        }
        #expect(throws: SpoolError.self) { try run.claim(entries[2]) }
        #expect(throws: SpoolError.self) { try run.admitForeign(now: now, limits: Limits()) }
        try run.sync()
        #expect(throws: SpoolError.self) { try run.end() }
        #expect(Set(calls.log).isSubset(of: ["status", "statusAt"]))
        #expect(calls.descriptors.count == 1, "the queue alone is open")
        #expect(try queue.entries().map(\.state) == [.new, .claimed, .claimed])
    }

    @Test func `a run does not begin where locks keep nobody out`() throws {
        var system = SystemCalls.real
        system.lock = { _ throws(Errno) in true }
        let error = #expect(throws: SpoolError.self) { try queue.open(system).beginRun(now: now) }
        #expect(error?.description == "cannot begin a run in 'claimed': \(Errno(ENOLCK))" && error?.hint != nil)
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `a file that is removed while it is open may keep a hidden name until it is closed`() throws {
        // As NFS and FUSE do it.
        var open: [Int32: String] = [:]
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            let descriptor = try SystemCalls.real.open(directory, path, flags, mode)
            open[descriptor] = String(cString: path)
            return descriptor
        }
        system.unlink = { (directory, path) throws(Errno) in
            if open.values.contains(String(cString: path)) {
                let silly = NSString(string: String(cString: path)).deletingLastPathComponent + "/.nfs1"
                try SystemCalls.real.rename(directory, path, directory, silly)
                open = open.mapValues { $0 == String(cString: path) ? silly : $0 }
            } else {
                try SystemCalls.real.unlink(directory, path)
            }
        }
        let root = queue.path
        system.close = { (descriptor) throws(Errno) in
            if let path = open.removeValue(forKey: descriptor), path.hasSuffix("/.nfs1") { unlink("\(root)/\(path)") }
            try SystemCalls.real.close(descriptor)
        }
        let entry = try queue.add(["a"])[0]
        let spool = try queue.open(system)
        let run = try spool.beginRun(now: now)
        _ = try run.settle(#require(try run.claim(entry)), .delivered(keep: false), record: nil, now: now)
        try run.end()
        #expect(try spool.accept([queue.operation("b")], limits: Limits(), durable: false).results.count == 1)
        #expect(queue.names("claimed").isEmpty && queue.names("tmp").isEmpty)
    }

    @Test(arguments: ["tmp", "deferred"])
    func `an operation that is claimed while it is between two names is whole, and has one name then`(
        where place: String
    )
        throws
    {
        let entry = try queue.add(["a"])[0]
        let directory = place == "tmp" ? "tmp/writer" : place
        mkdir("\(queue.path)/\(directory)", 0o700)
        var later = entry.name
        later.attempts = 1
        let other = "\(queue.path)/\(directory)/\(place == "tmp" ? "1" : later.description)"
        let run = try queue.open().beginRun(now: now)
        link("\(queue.path)/\(entry.path)", other)
        let claim = try #require(try run.claim(entry))
        guard case .operation = try run.read(claim) else { throw Errno(0) }
        #expect(access(other, F_OK) != 0)
        #expect(try queue.entries().count == 1)
        // Its writer has ended.
        rmdir("\(queue.path)/tmp/writer")
        try run.sync()
    }

    @Test func `of two runs that claim an operation between two names neither removes the other's claim`() throws {
        let entry = try queue.add(["a"])[0]
        var later = entry.name
        later.attempts = 1
        link("\(queue.path)/\(entry.path)", "\(queue.path)/deferred/\(later)")
        let runs = try [queue.open().beginRun(now: now), queue.open().beginRun(now: now)]
        let first = try #require(try runs[0].claim(entry))
        #expect(try runs[1].take(Entry(state: .deferred, name: later)) == nil)
        #expect(queue.names("deferred") == [later.description])
        guard case .operation = try runs[0].read(first) else { throw Errno(0) }
        _ = try runs[0].settle(first, .delivered(keep: false), record: nil, now: now)
        #expect(try queue.entries().isEmpty)
    }

    @Test func `a shared file system has time to forget a name that another host has removed`() throws {
        let entry = try queue.add(["a"])[0]
        let elsewhere = "\(queue.path)/elsewhere"
        var system = SystemCalls.real
        var pauses = 0
        system.fileSystem = { _ in FileSystem(type: "nfs4") }
        system.sleep = { _ in
            pauses += 1
            if pauses == 3 { unlink(elsewhere) }
        }
        let run = try queue.open(system).beginRun(now: now)
        link("\(queue.path)/\(entry.path)", elsewhere)
        let claim = try #require(try run.claim(entry))
        guard case .operation = try run.read(claim) else { throw Errno(0) }
        #expect(pauses == 3)
    }

    @Test func `a run's directory that another host is just removing is left to it`() throws {
        let entry = try queue.add(["a"])[0]
        let name: String
        do {
            let dead = try queue.open().beginRun(now: now)
            _ = try dead.claim(entry)
            name = dead.name
        }
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if String(cString: path) == "claimed/\(name)/lock" { throw Errno(ESTALE) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let run = try queue.open(system).beginRun(now: now)
        #expect(try run.recover(now: now) == Recovery())
        try run.end()
        #expect(try queue.recover().returned.count == 1)
    }

    @Test(arguments: ["open", "status", "read"])
    func `a file that another host replaces while it is opened is looked up again`(call: String) throws {
        let calls = InterceptedCalls()
        var system = calls.calls
        system.sleep = { _ in }
        let open = try queue.open(system)
        try open.writeState("x", [1])
        // A file that is open is missing on GlusterFS; one that is not there cannot be opened.
        for code in call == "open" ? [ESTALE] : [ESTALE, ENOENT] {
            calls.reset(.once(call, code))
            #expect(try open.readState("x") == [1])
        }
        calls.reset(.always(call, ESTALE))
        #expect(throws: SpoolError.self) { try open.readState("x") }
        #expect(calls.descriptors.count == 1)
    }

    @Test func `what a host that came back has settled meanwhile is no error of whoever recovers`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let dead = try queue.open().beginRun(now: now)
            _ = try dead.claim(entry)
        }
        var system = SystemCalls.real
        let path = queue.path
        system.renameNoReplace = { (directory, from, to) throws(Errno) in
            unlink("\(path)/\(String(cString: from))")
            try SystemCalls.real.renameNoReplace(directory, from, to)
        }
        let run = try queue.open(system).beginRun(now: now)
        let recovery = try run.recover(now: now)
        #expect(recovery.errors.isEmpty && recovery.returned.isEmpty && recovery.deadRuns.count == 1)
        #expect(queue.names("claimed") == [run.name])
    }

    @Test(arguments: [false, true])
    func `a move whose old name another process has removed has happened, whatever this host's cache says`(
        wasInterrupted: Bool
    ) throws {
        let entry = try queue.add(["a"])[0]
        var cached: FileStatus?
        var system = SystemCalls.real
        system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) }
        system.unlink = { (directory, path) throws(Errno) in
            let isOldName = String(cString: path).hasPrefix("claimed/")
            if isOldName { cached = try SystemCalls.real.statusAt(directory, path) }
            try SystemCalls.real.unlink(directory, path)
            if isOldName { throw Errno(ENOENT) }
        }
        system.statusAt = { (directory, path) throws(Errno) in
            if let cached, String(cString: path).hasPrefix("claimed/") { return cached }
            return try SystemCalls.real.statusAt(directory, path)
        }
        let run = try queue.open(system).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        if wasInterrupted {
            link("\(queue.path)/claimed/\(run.name)/\(entry.name)", "\(queue.path)/\(entry.path)")
        }
        #expect(try run.settle(claim, .putBack, record: nil, now: now) == .moved(entry))
        #expect(queue.names("new") == [entry.name.description])
    }

    @Test func `a move whose link and whose unlink both lost their replies has happened`() throws {
        let entry = try queue.add(["a"])[0]
        var system = SystemCalls.real
        system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) }
        let link = system.link
        system.link = { (directory, from, to) throws(Errno) in
            try link(directory, from, to)
            throw Errno(EEXIST)
        }
        let unlink = system.unlink
        system.unlink = { (directory, path) throws(Errno) in
            try unlink(directory, path)
            throw Errno(ENOENT)
        }
        let run = try queue.open(system).beginRun(now: now)
        #expect(try run.claim(entry) != nil)
        #expect(queue.names("new").isEmpty)
        #expect(queue.names("claimed/\(run.name)").count == 2, "the lock and the operation")
    }
}
