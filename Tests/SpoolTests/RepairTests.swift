import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// Broken queues: the damages that `check` finds, and the state after `--repair`.
struct RepairTests {
    let queue: TemporaryQueue
    /// The machine's time, as files have the machine's times.
    let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))

    init() throws {
        queue = try TemporaryQueue()
    }

    private func damages() throws -> [Damage] { try queue.open().damages(now: now) }

    private func repair() throws -> Recovery {
        try queue.open().repair(by: ReplacementRule(Configuration(), at: now), now: now)
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(queue.path)/\(path)")
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func age(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date.distantPast], ofItemAtPath: "\(queue.path)/\(path)")
    }

    /// Expects exactly these damages, repairs the queue, and expects no damage afterwards.
    private func mends(_ expected: [Damage]) throws {
        #expect(try damages() == expected)
        let recovery = try repair()
        #expect(recovery.errors.isEmpty)
        #expect(try damages() == [])
    }

    @Test func `a healthy queue has no damage, and a repair changes nothing`() throws {
        let added = try queue.add(["a", "b"])
        let open = try queue.open()
        _ = try open.hold(added[0])
        try open.writeState("destinations.json", Array("{}".utf8))
        _ = try open.keepBadInput(
            [.init([1], reason: "r", source: "s", reading: Reading(.payload))], by: AdmissionRule(Configuration()),
            now: now)
        let before = try queue.entries()
        try mends([])
        #expect(try queue.entries() == before && queue.names("quarantine").count == 2)
    }

    @Test func `a foreign file in quarantine keeps its mode`() throws {
        try queue.put("{", at: "new/foreign")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(queue.path)/new/foreign")
        let run = try queue.open().beginRun(now: now)
        let item = try #require(try run.admitForeign(now: now, limits: Limits()).quarantined.first)
        try run.end()
        #expect(try mode("quarantine/\(item.fileName)") == 0o644)
        try mends([])
    }

    @Test func `a link in place of a directory is reported as a link, and stays`() throws {
        try queue.add(["a"])
        let (new, elsewhere) = ("\(queue.path)/new", "\(queue.path)/elsewhere")
        try FileManager.default.moveItem(atPath: new, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: elsewhere)
        try FileManager.default.removeItem(atPath: "\(queue.path)/tmp")
        let missing = try SpoolDirectory.missingDirectories(at: queue.path)
        #expect(missing == [.missingDirectory("tmp"), .notADirectory("new", .symbolicLink)])
        try SpoolDirectory.makeDirectories(missing, at: queue.path)
        #expect(try SpoolDirectory.missingDirectories(at: queue.path) == [.notADirectory("new", .symbolicLink)])
    }

    @Test(arguments: ["new", "tmp", "claimed", "deferred", "failed", "quarantine", "delivered"])
    func `a queue that lacks a directory is examined all the same`(name: String) throws {
        try queue.put("{", at: "state/destinations.json")
        try FileManager.default.removeItem(atPath: "\(queue.path)/\(name)")
        let missing = try SpoolDirectory.missingDirectories(at: queue.path)
        let open = try SpoolDirectory(examining: queue.path, without: missing)
        #expect(
            try open.damages(now: now)
                == [.fileModes(in: "state", count: 1), .unreadableState("state/destinations.json")])
    }

    // MARK: - Each damage

    @Test(arguments: ["new", "tmp", "claimed", "deferred", "failed", "quarantine", "delivered", "state"])
    func `a missing directory of the layout is made`(name: String) throws {
        try queue.add(["a"])
        try FileManager.default.removeItem(atPath: "\(queue.path)/\(name)")
        let missing = try SpoolDirectory.missingDirectories(at: queue.path)
        #expect(missing == [.missingDirectory(name)])
        try SpoolDirectory.makeDirectories(missing, at: queue.path)
        #expect(try SpoolDirectory.missingDirectories(at: queue.path) == [])
        #expect(try mode(name) == 0o700)
        #expect(queue.text("state/format") == "1\n")
        #expect(try damages() == [])
    }

    @Test func `a path that never was a queue is refused`() throws {
        let empty = try TemporaryQueue(create: false)
        #expect(throws: SpoolError.self) { try SpoolDirectory.missingDirectories(at: empty.path) }
        mkdir(empty.path, 0o700)
        mkdir("\(empty.path)/state", 0o700)
        let error = #expect(throws: SpoolError.self) { try SpoolDirectory.missingDirectories(at: empty.path) }
        #expect(error?.kind == .notAQueue)
    }

    @Test func `repair sets modes to 0700 and 0600`() throws {
        let entry = try queue.add(["a", "b"])[0]
        for path in [".", "failed", "new"] { chmod("\(queue.path)/\(path)", 0o755) }
        chmod("\(queue.path)/\(entry.path)", 0o644)
        try queue.put("{}", at: "new/foreign")
        chmod("\(queue.path)/new/foreign", 0o644)
        try mends([
            .directoryMode(".", is: 0o755), .directoryMode("new", is: 0o755), .directoryMode("failed", is: 0o755),
            .fileModes(in: "new", count: 1),
        ])
        #expect(try mode("failed") == 0o700 && mode(entry.path) == 0o600)
        #expect(try mode("new/foreign") == 0o644)
    }

    @Test func `repair leaves new open to other users if new is sticky`() throws {
        for path in [".", "new", "tmp", "state"] { chmod("\(queue.path)/\(path)", path == "new" ? 0o1733 : 0o711) }
        try mends([.directoryMode("state", is: 0o711)])
        #expect(try mode("new") == 0o1733 && mode("tmp") == 0o711 && mode(".") == 0o711)
    }

    @Test func `repair removes files of dead writers from tmp, not files of live writers`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.crash(at: 18))
        #expect(throws: SpoolError.self) { try open.accept([queue.operation("a")], limits: Limits()) }
        let dead = queue.names("tmp")[0]
        let live = try LiveWriter(queue, now)
        try queue.put("foreign", at: "tmp/young")
        try queue.put("foreign", at: "tmp/old")
        try age("tmp/old")
        #expect(try Set(damages()) == [.leftover("tmp/\(dead)"), .leftover("tmp/old")])
        #expect(try repair().errors.isEmpty)
        #expect(try Set(queue.names("tmp")) == Set([live.name, "young"]) && damages() == [])
    }

    @Test func `claims of a dead run come back with an interruption, claims of a live run stay`() throws {
        let added = try queue.add(["a", "b"])
        let open = try queue.open()
        do {
            let dead = try open.beginRun(now: now)
            dead.begin([try #require(try dead.claim(added[0]))])
        }
        let name = queue.names("claimed")[0]
        let live = try open.beginRun(now: now)
        let claim = try #require(try live.claim(added[1]))
        #expect(try damages() == [.deadRun(name, claims: 1)])
        let recovery = try repair()
        #expect(recovery.returned.map(\.name.interruptions) == [1])
        #expect(queue.names("claimed") == [live.name])
        #expect(queue.names("claimed/\(live.name)").contains(claim.name.description))
        #expect(try damages() == [])
        try live.end()
    }

    @Test func `a claim with too many interruptions goes to quarantine`() throws {
        let entry = try queue.add(["a"])[0]
        var tired = entry
        tired.name.interruptions = 4
        rename("\(queue.path)/\(entry.path)", "\(queue.path)/\(tired.path)")
        do {
            let dead = try queue.open().beginRun(now: now)
            dead.begin([try #require(try dead.claim(tired))])
        }
        #expect(try repair().quarantined.count == 1)
        #expect(queue.names("quarantine").count == 2)
    }

    @Test func `repair finishes an interrupted move: the later name stays`() throws {
        let entry = try queue.add(["a"])[0]
        var later = Entry(state: .failed, name: entry.name)
        later.name.attempts = 1
        link("\(queue.path)/\(entry.path)", "\(queue.path)/\(later.path)")
        try mends([.interruptedMove(entry.path, of: later.path)])
        #expect(try queue.entries() == [later])
        var held = later
        held.name.isHeld = true
        link("\(queue.path)/\(later.path)", "\(queue.path)/\(held.path)")
        try mends([.interruptedMove(later.path, of: held.path)])
        #expect(try queue.entries() == [held])
    }

    @Test func `repair removes an earlier generation, but no different operation with the same id`() throws {
        let entry = try queue.add(["a", "b"])[0]
        var later = Entry(state: .deferred, name: entry.name)
        later.name.attempts = 1
        later.name.gate = .retryAt(now)
        try queue.put(
            try #require(queue.bytes(entry.path)) + OperationFile.encode(TemporaryQueue.record()), at: later.path)
        chmod("\(queue.path)/\(later.path)", 0o600)
        try mends([.earlierGeneration(entry.path, of: later.path)])
        let other = queue.operation("b", 5, body: "{}")
        let conflicting = Entry(state: .failed, name: EntryName(naming: other.header))
        try queue.put(OperationFile.encode(other), at: conflicting.path)
        chmod("\(queue.path)/\(conflicting.path)", 0o600)
        let found = try damages()
        guard case .conflict? = found.first, found.count == 1 else { throw Errno(0) }
        let before = try queue.entries()
        #expect(try repair().errors.isEmpty)
        #expect(try damages() == found && queue.entries() == before)
    }

    @Test func `repair moves an unreadable file of state aside`() throws {
        let open = try queue.open()
        try open.writeState("destinations.json", Array("{\"version\":1".utf8))
        try open.writeState("last-run.json", Array("{}".utf8))
        try mends([.unreadableState("state/destinations.json")])
        #expect(queue.text("state/destinations.json.damaged") == "{\"version\":1")
        #expect(queue.text("state/last-run.json") == "{}")
    }

    @Test func `repair removes an old reason without a file, but no young reason`() throws {
        try queue.put("{}", at: "quarantine/x.reason")
        chmod("\(queue.path)/quarantine/x.reason", 0o600)
        #expect(try damages() == [])
        let later = now + .seconds(3700)
        #expect(try queue.open().damages(now: later) == [.orphanedReason("quarantine/x.reason")])
        #expect(try queue.open().repair(by: ReplacementRule(Configuration(), at: later), now: later).errors.isEmpty)
        #expect(queue.names("quarantine").isEmpty)
    }

    // MARK: - All of them

    @Test(arguments: [true, false])
    func `a crash or an error at any call of a repair loses nothing, and the next repair finishes`(isCrash: Bool) throws
    {
        for index in 1... {
            let broken = try TemporaryQueue()
            let added = try broken.add(["claimed", "twice", "well"])
            do { _ = try #require(try broken.open().beginRun(now: now).claim(added[0])) }
            var later = Entry(state: .deferred, name: added[1].name)
            later.name.attempts = 1
            link("\(broken.path)/\(added[1].path)", "\(broken.path)/\(later.path)")
            chmod("\(broken.path)/\(added[2].path)", 0o644)
            try broken.put("{", at: "state/destinations.json")
            chmod("\(broken.path)/state/destinations.json", 0o600)
            let calls = InterceptedCalls()
            do {
                let open = try broken.open(calls.calls)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                _ = open.repair(by: ReplacementRule(Configuration(), at: now), now: now)
            }
            #expect(calls.descriptors.isEmpty)
            #expect(try broken.open().repair(by: ReplacementRule(Configuration(), at: now), now: now).errors.isEmpty)
            #expect(try broken.open().damages(now: now) == [])
            #expect(try Set(broken.entries().map(\.name.id.description)) == ["claimed", "twice", "well"])
            #expect(try broken.entries().count == 3)
            if calls.count < index { break }
        }
    }

    @Test func `the proof of a file system says whether locks exclude and renames refuse to replace`() throws {
        let proof = try queue.open().prove(now: now)
        #expect(proof.locks && proof.renamesWithoutReplacing)
        var system = SystemCalls.real
        system.lock = { _ throws(Errno) in true }
        system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) }
        let disproof = try queue.open(system).prove(now: now)
        #expect(!disproof.locks && !disproof.renamesWithoutReplacing)
        #expect(queue.names("tmp").isEmpty)
    }
}

/// A directory in `tmp/` with a taken lock, as while an `add` writes.
private final class LiveWriter {
    let name = "20261121T091500.123456Z-9f86d081884c7d65"
    private let descriptor: Int32

    init(_ queue: TemporaryQueue, _ now: Timestamp) throws {
        mkdir("\(queue.path)/tmp/\(name)", 0o700)
        descriptor = open("\(queue.path)/tmp/\(name)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw Errno(errno) }
    }

    deinit {
        close(descriptor)
    }
}
