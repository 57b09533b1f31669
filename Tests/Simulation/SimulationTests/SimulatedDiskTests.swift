import CSystem
import Policy
import Simulation
import Spool
import Testing

/// Tests beyond the comparison with a real directory: several processes, faults, bounds and digests.
struct SimulatedDiskTests {
    let machine = SimulatedMachine()
    let calls: SystemCalls

    init() throws {
        calls = machine.calls(of: 1)
        try calls.makeDirectory("/queue")
        try calls.makeDirectory("/queue/new")
        try calls.makeDirectory("/queue/old")
    }

    @Test func `every call goes to the disk`() {
        // Closures of SystemCalls that the disk does not make: the answers of the gate, and constants. A new closure of
        // SystemCalls belongs in `calls(of:)`.
        let known: Set<String> = [
            "open", "close", "write", "read", "fsync", "syncfs", "chmod", "rename", "renameNoReplace", "link",
            "unlink", "removeDirectory", "makeDirectory", "status", "statusAt", "realPath", "user", "lock", "unlock",
            "list", "listAll", "freeBytes", "fileSystem", "host", "elapsed", "sleep", "random",
            "overlap", "writeAt", "boot",
        ]
        #expect(Set(Mirror(reflecting: calls).children.compactMap(\.label)) == known)
    }

    @Test func `the gate learns names relative to the queue`() throws {
        var made: [Call] = []
        machine.before = { (_, call) throws(Errno) in made.append(call) }
        let root = try calls.open(AT_FDCWD, "/queue", O_RDONLY | O_DIRECTORY, 0)
        let new = try calls.open(root, "new", O_RDONLY, 0)
        try calls.close(try calls.open(root, "new/f", O_RDWR | O_CREAT, 0o600))
        try calls.rename(root, "new/f", root, "old/f")
        try calls.fsync(new)
        #expect(throws: Errno(ENOENT)) { try calls.statusAt(new, "f") }
        _ = try calls.statusAt(root, "/")
        _ = try calls.names("/queue/new")
        #expect(
            made == [
                Call(.open, path: "."), Call(.open, path: "new"), Call(.open, path: "new/f"),
                Call(.close, path: "new/f"), Call(.rename, path: "new/f", target: "old/f"), Call(.fsync, path: "new"),
                Call(.statusAt, path: "new/f"), Call(.statusAt, path: "/"), Call(.list, path: "new"),
            ])
    }

    @Test func `a lock excludes all other openers, and ends with unlock, close and the end of its process`() throws {
        let others = machine.calls(of: 2)
        try calls.write("", to: "/queue/lock")
        let one = try calls.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        let two = try calls.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        let other = try others.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        #expect(try calls.lock(one) && calls.lock(one))
        #expect(try !calls.lock(two) && !others.lock(other))
        try calls.unlock(one)
        #expect(try calls.lock(two) && !others.lock(other))
        try calls.close(two)
        #expect(try others.lock(other) && !calls.lock(one))
        machine.disk.end(ProcessID(2))
        #expect(try calls.lock(one))
    }

    @Test func `a lock that does not reach other hosts excludes only openers on its host`() throws {
        machine.disk.fileSystem = FileSystem(type: "nfs4", options: ["local_lock=all"])
        try calls.write("", to: "/queue/lock")
        let gate = Gate(
            before: { (_) throws(Errno) in }, now: { Timestamp(microseconds: 0) }, elapsed: { .zero }, sleep: { _ in },
            random: { 0 })
        let remote = machine.disk.calls(of: ProcessID(3), user: 1000, host: "two", through: gate)
        let one = try calls.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        let two = try calls.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        let other = try remote.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        #expect(try calls.lock(one) && !calls.lock(two) && remote.lock(other))
    }

    @Test func `an unlinked open file lives until its close`() throws {
        try calls.write("one", to: "/queue/f")
        let file = try calls.open(AT_FDCWD, "/queue/f", O_RDONLY, 0)
        try calls.unlink(AT_FDCWD, "/queue/f")
        var buffer = [UInt8](repeating: 0, count: 3)
        let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
            try calls.read(file, .init(buffer), 0)
        }
        #expect(count == 3 && buffer == Array("one".utf8))
        #expect(try calls.status(file).links == 0)
        #expect(try calls.realPath(file) == Array("/queue/f (deleted)".utf8))
    }

    @Test func `a file that moves between two portions is listed under both names, either name or none`() throws {
        var seen: Set<Set<String>> = []
        for seed in UInt64(1)...100 {
            let machine = SimulatedMachine(seed: seed)
            machine.disk.portion = 1
            let calls = machine.calls(of: 1)
            let other = machine.calls(of: 2)
            try calls.makeDirectory("/queue")
            for name in ["f", "x", "y", "z"] { try calls.write("", to: "/queue/\(name)") }
            var hasMoved = false
            machine.before = { (process, call) throws(Errno) in
                guard process == ProcessID(1), call.name == .listPart, !hasMoved else { return }
                hasMoved = true
                try other.rename(AT_FDCWD, "/queue/f", AT_FDCWD, "/queue/g")
            }
            seen.insert(Set(try calls.names("/queue")).subtracting(["x", "y", "z"]))
        }
        #expect(seen == [["f"], ["g"], ["f", "g"], []])
    }

    @Test func `the names of a listing come in one order for one seed`() throws {
        for name in 0..<20 { try calls.write("", to: "/queue/new/\(name)") }
        let other = SimulatedMachine()
        let same = other.calls(of: 1)
        try same.makeDirectory("/queue")
        try same.makeDirectory("/queue/new")
        for name in (0..<20).reversed() { try same.write("", to: "/queue/new/\(name)") }
        let names = try calls.names("/queue/new")
        #expect(try names == same.names("/queue/new") && names != names.sorted() && names.count == 20)
    }

    @Test func `an error of the gate keeps a call from having an effect, but a close closes`() throws {
        let file = try calls.open(AT_FDCWD, "/queue/f", O_RDWR | O_CREAT, 0o600)
        machine.before = { (_, _) throws(Errno) in throw Errno(EIO) }
        #expect(throws: Errno(EIO)) { try calls.unlink(AT_FDCWD, "/queue/f") }
        #expect(throws: Errno(EIO)) { try calls.close(file) }
        machine.before = { (_, _) throws(Errno) in }
        #expect(machine.disk.status(of: "f") != nil)
        #expect(throws: Errno(EBADF)) { try calls.close(file) }
    }

    @Test func `a full disk writes only the bytes that fit`() throws {
        machine.disk.freeBytes = 5
        let file = try calls.open(AT_FDCWD, "/queue/f", O_RDWR | O_CREAT, 0o600)
        #expect(throws: Errno(ENOSPC)) { try calls.append("0123456789", to: file) }
        #expect(machine.disk.content(of: "f") == Array("01234".utf8) && machine.disk.freeBytes == 0)
        try calls.close(file)
        try calls.unlink(AT_FDCWD, "/queue/f")
        #expect(machine.disk.freeBytes == 5)
    }

    @Test func `without inodes nothing is made, a rename still works`() throws {
        try calls.write("", to: "/queue/f")
        machine.disk.freeInodes = 0
        #expect(throws: Errno(ENOSPC)) { try calls.makeDirectory("/queue/d") }
        #expect(throws: Errno(ENOSPC)) { try calls.write("", to: "/queue/g") }
        try calls.rename(AT_FDCWD, "/queue/f", AT_FDCWD, "/queue/g")
        try calls.unlink(AT_FDCWD, "/queue/g")
        try calls.write("", to: "/queue/f")
    }

    @Test func `a process has so many descriptors, also for listings`() throws {
        machine.disk.descriptorLimit = 2
        let one = try calls.open(AT_FDCWD, "/queue", O_RDONLY, 0)
        _ = try calls.open(AT_FDCWD, "/queue", O_RDONLY, 0)
        #expect(throws: Errno(EMFILE)) { try calls.open(AT_FDCWD, "/queue", O_RDONLY, 0) }
        #expect(throws: Errno(EMFILE)) { try calls.names("/queue") }
        _ = try machine.calls(of: 2).open(AT_FDCWD, "/queue", O_RDONLY, 0)
        try calls.close(one)
        #expect(try calls.names("/queue").count == 2)
    }

    @Test func `short writes write a part, at least a byte`() throws {
        machine.disk.shortWriteRate = 1
        var writes = 0
        machine.before = { (_, call) throws(Errno) in if call.name == .write { writes += 1 } }
        try calls.write("0123456789", to: "/queue/f")
        #expect(machine.disk.content(of: "f") == Array("0123456789".utf8) && writes > 1)
    }

    @Test func `work on several files at once is done one file after the other, in an order by chance`() {
        var orders: Set<[Int]> = []
        for _ in 0..<100 {
            var order: [Int] = []
            calls.overlap(3, 2) { order.append($0) }
            orders.insert(order)
        }
        #expect(orders.count == 6 && orders.allSatisfy { Set($0) == [0, 1, 2] })
    }

    @Test func `without RENAME_NOREPLACE the call is invalid`() throws {
        machine.disk.renamesWithoutReplacing = false
        try calls.write("", to: "/queue/f")
        #expect(throws: Errno(EINVAL)) { try calls.renameNoReplace(AT_FDCWD, "/queue/f", "/queue/g") }
    }

    @Test func `an inode number is used again at once`() throws {
        try calls.write("", to: "/queue/f")
        let number = machine.disk.status(of: "f")?.inode
        try calls.unlink(AT_FDCWD, "/queue/f")
        try calls.write("", to: "/queue/g")
        #expect(machine.disk.status(of: "g")?.inode == number)
    }

    @Test func `root's files in the queue become its owner's`() throws {
        let root = machine.calls(of: 2, user: 0)
        let queue = try root.open(AT_FDCWD, "/queue", O_RDONLY, 0)
        _ = try root.open(queue, "f", O_RDWR | O_CREAT, 0o600)
        try root.makeDirectory(queue, "d", 0o700)
        #expect(machine.disk.status(of: "f")?.owner == 1000 && machine.disk.status(of: "d")?.owner == 1000)
    }

    @Test func `equal states have equal digests, whatever the calls before`() throws {
        let other = SimulatedMachine()
        let same = other.calls(of: 1)
        for path in ["/queue", "/queue/new", "/queue/old"] { try same.makeDirectory(path) }
        func settle(_ calls: SystemCalls) throws {
            let root = try calls.open(AT_FDCWD, "/", O_RDONLY, 0)
            try calls.syncfs(root)
            try calls.close(root)
        }
        try calls.write("x", to: "/queue/other")
        try calls.unlink(AT_FDCWD, "/queue/other")
        try calls.write("one", to: "/queue/f")
        try same.write("one", to: "/queue/f")
        #expect(machine.disk.digest != other.disk.digest)
        try settle(calls)
        try settle(same)
        #expect(machine.disk.digest == other.disk.digest)
        let file = try calls.open(AT_FDCWD, "/queue/f", O_RDWR, 0)
        #expect(machine.disk.digest == other.disk.digest)
        #expect(try calls.lock(file))
        #expect(machine.disk.digest != other.disk.digest)
        try calls.unlock(file)
        try calls.append("two", to: file)
        #expect(machine.disk.digest != other.disk.digest)
    }
}
