import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

extension SpoolDirectory {
    /// Takes the sequence lock of a destination; `nil` if it is taken.
    func sequenceLock() throws(SpoolError) -> SequenceLocks? {
        let locks = SequenceLocks(in: self)
        return try locks.take(Digest(of: "d")) ? locks : nil
    }
}

/// Hosts that share a directory: which runs count as alive, and how a run behaves that was taken for dead.
struct `Several hosts` {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// Opens the queue as another host does, through a file system of this type.
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

    @Test(arguments: reaches) func `the file system decides how far locks reach`(
        _ fileSystem: FileSystem, _ reach: FileSystem.LockReach
    ) {
        #expect(fileSystem.lockReach == reach)
    }

    @Test func `the kernel's table of mounts gives type and options of a file system`() throws {
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

    @Test func `where locks reach every host, a run recovers the dead runs of another host`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try elsewhere("far", "nfs4").beginRun(now: now)
            run.begin([try #require(try run.claim(entry))])
        }
        let run = try elsewhere("near", "nfs4").beginRun(now: now)
        #expect(try run.recover(now: now).returned.map(\.name.interruptions) == [1])
    }

    @Test func `after another boot no mark counts, whatever the name of the host`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            var system = SystemCalls.real
            (system.host, system.boot) = ({ "pod1" }, { "another boot" })
            let run = try queue.open(system).beginRun(now: now)
            #expect(try run.receipt(for: [try #require(try run.claim(entry))]).isMarked)
        }
        let returned = try queue.recover().returned
        #expect(returned.map(\.name.id) == [entry.name.id])
        #expect(returned.allSatisfy { $0.name.interruptions == 0 && $0.name.unknowns == 1 })
    }

    @Test func `on a shared file system a run marks no delivery`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try elsewhere("far", "nfs4").beginRun(now: now)
            let claim = try #require(try run.claim(entry))
            #expect(try !run.receipt(for: [claim]).isMarked)
        }
        let recovery = try elsewhere("near", "nfs4").beginRun(now: now).recover(now: now)
        #expect(recovery.delivered.isEmpty && recovery.returned.map(\.name.interruptions) == [1])
    }

    @Test func `where locks reach this host alone, a run leaves runs and writers of another host alone`() throws {
        let entries = try queue.add(["a", "b"])
        let (far, near) = (try elsewhere("far", "fuse.sshfs"), try elsewhere("near", "fuse.sshfs"))
        let name: String
        do {
            // Its lock looks free here whether the run is alive or dead.
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
        #expect(try near.sequenceLock() == nil)
        try run.end()
        // The run's own host knows that the run is dead.
        #expect(try far.unjudgedRuns() == [])
        #expect(try far.damages(now: now).contains(.deadRun(name, claims: 1)))
        // An operator ends the doubt by removing the lock file.
        unlink("\(queue.path)/claimed/\(name)/lock")
        #expect(try far.sequenceLock() != nil)
        let next = try near.beginRun(now: now)
        #expect(try next.recover(now: now).returned.count == 1)
        try next.end()
        #expect(try near.sequenceLock() != nil)
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
            #expect(try run.settle(claim, as: .delivered(keep: false)) == .gone)
        }
        #expect(names.count == 8 && names.allSatisfy { $0.contains("/") == (type == "ext4") }, "\(names)")
        #expect(queue.names("new").isEmpty && queue.names("claimed/\(run.name)") == ["lock"])
        try run.end()
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `a run taken for dead does not reach the directory of a live run`() throws {
        let entries = try queue.add(["a", "b"])
        #expect(unlink("\(queue.path)/state/spare/lock") == 0 && rmdir("\(queue.path)/state/spare") == 0)
        let far = try elsewhere("far", "nfs4").beginRun(now: now)
        let claim = try #require(try far.claim(entries[0]))
        // As if the lock had gone to another host.
        unlink("\(queue.path)/claimed/\(far.name)/lock")
        let near = try elsewhere("near", "nfs4").beginRun(now: now)
        let returned = try near.recover(now: now).returned
        #expect(returned.map(\.name.id) == [entries[0].name.id])
        #expect(queue.names("claimed") == [near.name] && !queue.names("state").contains("spare"))
        let again = try #require(try near.claim(returned[0]))
        // Within a second of the last check of the lock.
        #expect(throws: SpoolError.self) { try far.claim(entries[1]) }
        #expect(try far.settle(claim, as: .delivered(keep: false)) == .gone)
        #expect(again.isOpen && queue.names("claimed/\(near.name)").count == 2)
        #expect(queue.names("new") == [entries[1].name.description])
        #expect(try near.settle(again, as: .delivered(keep: false)) == .gone)
        try near.end()
        #expect(queue.names("state").contains("spare"))
    }

    @Test(arguments: ["lock is another's", "EIO", "ESTALE", "directory is gone"])
    func `a run changes nothing after the loss of its lock`(how: String) throws {
        let entries = try queue.add(["a", "b", "c"])
        let calls = InterceptedCalls()
        var system = calls.calls
        var elapsed: Duration = .zero
        var answer: () throws(Errno) -> Bool = { () throws(Errno) in true }
        system.elapsed = { elapsed }
        system.lock = { _ throws(Errno) in try answer() }
        let open = try queue.open(system)
        // The first call takes the run's lock. The second proves that the lock excludes.
        var asked = 0
        answer = { () throws(Errno) in
            asked += 1
            return asked == 1
        }
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(entries[0]))
        let receipt = try run.receipt(for: [claim])
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
                try run.settle(claim, .delivered(keep: false), record: nil, receipt: receipt, now: now)
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

    @Test func `a run does not begin where locks do not exclude`() throws {
        var system = SystemCalls.real
        system.lock = { _ throws(Errno) in true }
        let error = #expect(throws: SpoolError.self) { try queue.open(system).beginRun(now: now) }
        #expect(error?.description == "cannot begin a run in 'claimed': \(Errno(ENOLCK))" && error?.hint != nil)
        #expect(queue.names("claimed").isEmpty)
    }

    @Test func `an open file may keep a hidden name after its removal, until the file is closed`() throws {
        // As on NFS and FUSE.
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
        _ = try run.settle(#require(try run.claim(entry)), as: .delivered(keep: false))
        try run.end()
        #expect(try spool.accept([queue.operation("b")], limits: Limits(), durable: false).results.count == 1)
        #expect(queue.names("claimed").isEmpty && queue.names("tmp").isEmpty)
    }

    @Test(arguments: ["tmp", "deferred"])
    func `a claimed operation with two names is whole, and loses its second name`(where place: String) throws {
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

    @Test func `a run reports no error if its claim has gone while another run has the file`() throws {
        let entry = try queue.add(["a"])[0]
        var later = entry.name
        later.attempts = 1
        link("\(queue.path)/\(entry.path)", "\(queue.path)/deferred/\(later)")
        let other = try queue.open().beginRun(now: now)
        let claim = try #require(try other.claim(entry))
        var system = SystemCalls.real
        system.renameNoReplace = { (directory, from, _) throws(Errno) in
            unlinkat(directory, from, 0)
            throw Errno(ENOENT)
        }
        let run = try queue.open(system).beginRun(now: now)
        #expect(try run.take(Entry(state: .deferred, name: later)) == nil)
        try run.end()
        guard case .operation = try other.read(claim) else { throw Errno(0) }
    }

    @Test func `two runs that claim an operation with two names do not remove each other's claim`() throws {
        let entry = try queue.add(["a"])[0]
        var later = entry.name
        later.attempts = 1
        link("\(queue.path)/\(entry.path)", "\(queue.path)/deferred/\(later)")
        let runs = try [queue.open().beginRun(now: now), queue.open().beginRun(now: now)]
        let first = try #require(try runs[0].claim(entry))
        #expect(try runs[1].take(Entry(state: .deferred, name: later)) == nil)
        #expect(queue.names("deferred") == [later.description])
        guard case .operation = try runs[0].read(first) else { throw Errno(0) }
        _ = try runs[0].settle(first, as: .delivered(keep: false))
        #expect(try queue.entries().isEmpty)
    }

    @Test func `a read waits until a shared file system forgets a removed name`() throws {
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

    @Test func `recovery leaves alone a run's directory that another host is removing`() throws {
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
    func `a read looks a file up again if another host replaces the file`(call: String) throws {
        let calls = InterceptedCalls()
        var system = calls.calls
        system.sleep = { _ in }
        let open = try queue.open(system)
        try open.writeState("x", [1])
        // On GlusterFS an open file may be missing. A missing file cannot be opened.
        for code in call == "open" ? [ESTALE] : [ESTALE, ENOENT] {
            calls.reset(.once(call, code))
            #expect(try open.readState("x") == [1])
        }
        calls.reset(.always(call, ESTALE))
        #expect(throws: SpoolError.self) { try open.readState("x") }
        #expect(calls.descriptors.count == 1)
    }

    @Test func `an operation settled by a returned host during recovery is no error`() throws {
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
    func `a move counts as done if another process removed the old name, whatever this host's cache says`(
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

    @Test func `a move waits while a shared file system takes a removed target for there`() throws {
        let entry = try queue.add(["a"])[0]
        var (pauses, system) = (0, SystemCalls.real)
        var remembered: FileStatus?
        system.fileSystem = { _ in FileSystem(type: "fuse.glusterfs") }
        system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) }
        system.sleep = { _ in pauses += 1 }
        system.link = { (directory, from, to) throws(Errno) in
            if pauses < 3 { throw Errno(EEXIST) }
            try SystemCalls.real.link(directory, from, to)
        }
        system.statusAt = { (directory, path) throws(Errno) in
            if pauses < 3, let remembered, String(cString: path) == entry.path { return remembered }
            return try SystemCalls.real.statusAt(directory, path)
        }
        let run = try queue.open(system).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        remembered = try SystemCalls.real.statusAt(
            AT_FDCWD, Array("\(queue.path)/claimed/\(run.name)/\(entry.name)".utf8CString))
        #expect(try run.settle(claim, .putBack, record: nil, now: now) == .moved(entry))
        #expect(pauses == 3 && queue.names("new") == [entry.name.description])
        try run.end()
    }

    @Test(arguments: [true, false])
    func `a move waits while a shared file system takes the name of the file for missing`(isThere: Bool) throws {
        let entry = try queue.add(["a"])[0]
        var (pauses, system) = (0, SystemCalls.real)
        system.fileSystem = { _ in FileSystem(type: "fuse.glusterfs") }
        system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) }
        system.sleep = { _ in pauses += 1 }
        system.link = { (directory, from, to) throws(Errno) in
            if !isThere { unlinkat(directory, from, 0) }
            if pauses < 3 { throw Errno(ENOENT) }
            try SystemCalls.real.link(directory, from, to)
        }
        let run = try queue.open(system).beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        if isThere {
            #expect(try run.settle(claim, .putBack, record: nil, now: now) == .moved(entry))
            #expect(pauses == 3 && queue.names("new") == [entry.name.description])
        } else {
            #expect(throws: SpoolError.self) { try run.settle(claim, .putBack, record: nil, now: now) }
            #expect(pauses == 0)
        }
    }

    @Test func `a move counts as done if link and unlink both lost their replies`() throws {
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
