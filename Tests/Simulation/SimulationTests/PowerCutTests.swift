import CSystem
import Policy
import Simulation
import Spool
import Testing

/// The disk after a power cut, in both models, over many chances.
struct PowerCutTests {
    /// Returns the possible states after a power cut: the states of many disks with the same calls.
    func outcomes(
        _ journal: Setup.Journal, _ work: (SystemCalls) throws -> Void
    ) throws -> Set<[String: String]> {
        var outcomes: Set<[String: String]> = []
        for seed in UInt64(1)...300 {
            let machine = SimulatedMachine(journal)
            let calls = machine.calls(of: 1)
            try calls.makeDirectory("/queue")
            try calls.makeDirectory("/queue/a")
            try calls.makeDirectory("/queue/b")
            let root = try calls.open(AT_FDCWD, "/queue", O_RDONLY | O_DIRECTORY, 0)
            try calls.syncfs(root)
            try work(calls)
            machine.cutPower(seed)
            let left = machine.disk.files(in: ".")
            outcomes.insert(
                Dictionary(uniqueKeysWithValues: left.map { ($0.path, String(decoding: $0.bytes, as: UTF8.self)) }))
        }
        return outcomes
    }

    @Test(arguments: Setup.Journal.allCases)
    func `a synced file in a synced directory stays`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.write("one", to: "/queue/a/f", syncs: true)
            try calls.sync("/queue/a")
        }
        #expect(left == [["a/f": "one"]])
    }

    @Test(arguments: Setup.Journal.allCases)
    func `unsynced content is there, cut, zeros or missing`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.write("one", to: "/queue/a/f")
            try calls.sync("/queue/a")
        }
        #expect(
            left == [
                ["a/f": ""], ["a/f": "o"], ["a/f": "on"], ["a/f": "one"], ["a/f": "o\0\0"], ["a/f": "on\0"],
                ["a/f": "\0\0\0"],
            ])
    }

    @Test(arguments: Setup.Journal.allCases)
    func `synced content stays in front of unsynced content`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.write("one", to: "/queue/a/f", syncs: true)
            try calls.sync("/queue/a")
            let file = try calls.open(AT_FDCWD, "/queue/a/f", O_WRONLY | O_APPEND, 0)
            try calls.append("2", to: file)
        }
        #expect(left == [["a/f": "one"], ["a/f": "one2"], ["a/f": "one\0"]])
    }

    @Test func `a sync of a file makes its name durable only with an ordered journal`() throws {
        func work(_ calls: SystemCalls) throws { try calls.write("one", to: "/queue/a/f", syncs: true) }
        #expect(try outcomes(.ordered, work) == [["a/f": "one"]])
        #expect(try outcomes(.perDirectory, work) == [["a/f": "one"], [:]])
    }

    @Test func `only an ordered journal keeps a rename between two directories whole`() throws {
        func work(_ calls: SystemCalls) throws {
            try calls.write("one", to: "/queue/a/f", syncs: true)
            try calls.sync("/queue/a")
            try calls.rename(AT_FDCWD, "/queue/a/f", AT_FDCWD, "/queue/b/f")
        }
        let (before, after) = (["a/f": "one"], ["b/f": "one"])
        #expect(try outcomes(.ordered, work) == [before, after])
        #expect(try outcomes(.perDirectory, work) == [before, after, [:], ["a/f": "one", "b/f": "one"]])
    }

    @Test(arguments: Setup.Journal.allCases)
    func `a rename within a directory is whole, also over another file`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.write("one", to: "/queue/a/f", syncs: true)
            try calls.write("two", to: "/queue/a/g", syncs: true)
            try calls.sync("/queue/a")
            try calls.rename(AT_FDCWD, "/queue/a/f", AT_FDCWD, "/queue/a/g")
        }
        #expect(left == [["a/f": "one", "a/g": "two"], ["a/g": "one"]])
    }

    @Test func `ordered: a synced change keeps all earlier changes`() throws {
        func work(_ calls: SystemCalls) throws {
            try calls.write("one", to: "/queue/a/f", syncs: true)
            try calls.sync("/queue/a")
            try calls.unlink(AT_FDCWD, "/queue/a/f")
            try calls.makeDirectory("/queue/b/d")
            try calls.sync("/queue/b")
        }
        #expect(try outcomes(.ordered, work) == [[:]])
        #expect(try outcomes(.perDirectory, work) == [[:], ["a/f": "one"]])
    }

    @Test func `ordered: names come in the order of the calls, per directory in any`() throws {
        func work(_ calls: SystemCalls) throws {
            try calls.write("one", to: "/queue/a/f")
            try calls.write("two", to: "/queue/b/g")
        }
        func names(_ journal: Setup.Journal) throws -> Set<Set<String>> {
            Set(try outcomes(journal, work).map { Set($0.keys) })
        }
        #expect(try names(.ordered) == [[], ["a/f"], ["a/f", "b/g"]])
        #expect(try names(.perDirectory) == [[], ["a/f"], ["b/g"], ["a/f", "b/g"]])
    }

    @Test(arguments: Setup.Journal.allCases)
    func `a synced second name stays, and an unsynced removal of a name may be lost`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.write("one", to: "/queue/a/f", syncs: true)
            try calls.sync("/queue/a")
            try calls.link(AT_FDCWD, "/queue/a/f", "/queue/b/f")
            try calls.sync("/queue/b")
            try calls.unlink(AT_FDCWD, "/queue/a/f")
        }
        #expect(left == [["a/f": "one", "b/f": "one"], ["b/f": "one"]])
    }

    @Test(arguments: Setup.Journal.allCases)
    func `a directory that comes back has its content`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.makeDirectory("/queue/a/d")
            try calls.write("one", to: "/queue/a/d/f", syncs: true)
            try calls.sync("/queue/a/d")
            try calls.sync("/queue/a")
            try calls.unlink(AT_FDCWD, "/queue/a/d/f")
            try calls.sync("/queue/a/d")
            try calls.removeDirectory(AT_FDCWD, "/queue/a/d")
        }
        #expect(left == [[:]])
    }

    @Test(arguments: Setup.Journal.allCases)
    func `syncfs makes everything durable`(journal: Setup.Journal) throws {
        let left = try outcomes(journal) { calls in
            try calls.write("one", to: "/queue/a/f")
            try calls.rename(AT_FDCWD, "/queue/a/f", AT_FDCWD, "/queue/b/f")
            let root = try calls.open(AT_FDCWD, "/", O_RDONLY, 0)
            try calls.syncfs(root)
        }
        #expect(left == [["b/f": "one"]])
    }

    @Test func `after a failed sync no later sync makes the content durable, and syncfs says so once`() throws {
        let machine = SimulatedMachine()
        let calls = machine.calls(of: 1)
        try calls.makeDirectory("/queue")
        let root = try calls.open(AT_FDCWD, "/queue", O_RDONLY, 0)
        let file = try calls.open(AT_FDCWD, "/queue/f", O_WRONLY | O_CREAT, 0o600)
        try calls.append("one", to: file)
        machine.before = { (_, call) throws(Errno) in if call.name == .fsync { throw Errno(EIO) } }
        #expect(throws: Errno(EIO)) { try calls.fsync(file) }
        machine.before = { (_, _) throws(Errno) in }
        try calls.fsync(file)
        #expect(throws: Errno(EIO)) { try calls.syncfs(root) }
        try calls.syncfs(root)
        #expect(machine.disk.content(of: "f") == Array("one".utf8))
        machine.cutPower(1)
        #expect(machine.disk.content(of: "f") != Array("one".utf8))
    }

    @Test func `every process with the file open is told once of a failed sync, also of a sync of the whole disk`()
        throws
    {
        let machine = SimulatedMachine()
        let (calls, others) = (machine.calls(of: 1), machine.calls(of: 2))
        try calls.makeDirectory("/queue")
        let root = try calls.open(AT_FDCWD, "/queue", O_RDONLY, 0)
        let file = try calls.open(AT_FDCWD, "/queue/f", O_WRONLY | O_CREAT, 0o600)
        let other = try others.open(AT_FDCWD, "/queue/f", O_RDONLY, 0)
        let clean = try others.open(AT_FDCWD, "/queue/g", O_WRONLY | O_CREAT, 0o600)
        try calls.append("one", to: file)
        machine.before = { (_, call) throws(Errno) in if call.name == .syncfs { throw Errno(EIO) } }
        #expect(throws: Errno(EIO)) { try calls.syncfs(root) }
        let late = try others.open(AT_FDCWD, "/queue/f", O_RDONLY, 0)
        for descriptor in [other, late] {
            #expect(throws: Errno(EIO)) { try others.fsync(descriptor) }
            try others.fsync(descriptor)
        }
        #expect(throws: Errno(EIO)) { try calls.fsync(file) }
        try calls.fsync(file)
        try others.fsync(try others.open(AT_FDCWD, "/queue/f", O_RDONLY, 0))
        try others.fsync(clean)
    }

    @Test func `open files and locks end with the power`() throws {
        let machine = SimulatedMachine()
        let calls = machine.calls(of: 1)
        try calls.makeDirectory("/queue")
        try calls.write("", to: "/queue/lock", syncs: true)
        let file = try calls.open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        #expect(try calls.lock(file))
        machine.cutPower(1)
        #expect(throws: Errno(EBADF)) { try calls.unlock(file) }
        let again = try machine.calls(of: 2).open(AT_FDCWD, "/queue/lock", O_RDWR, 0)
        #expect(try machine.calls(of: 2).lock(again))
    }

    @Test func `a power cut gives freed bytes and inodes back`() throws {
        for seed in UInt64(1)...50 {
            let machine = SimulatedMachine(.perDirectory)
            machine.disk.freeBytes = 100
            machine.disk.freeInodes = 10
            let calls = machine.calls(of: 1)
            try calls.makeDirectory("/queue")
            try calls.write("0123456789", to: "/queue/f", syncs: true)
            try calls.write("0123456789", to: "/queue/g")
            try calls.unlink(AT_FDCWD, "/queue/f")
            machine.cutPower(seed)
            let left = machine.disk.files(in: ".")
            let made = left.count + (machine.disk.status(of: ".") == nil ? 0 : 1)
            #expect(machine.disk.freeBytes == 100 - left.reduce(0) { $0 + $1.bytes.count })
            #expect(machine.disk.freeInodes == 10 - made)
        }
    }
}
