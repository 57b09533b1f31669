import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// An error with one entry of a directory is that entry's: the others go on.
struct EntryErrorTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// The real system, which does not let this user look at paths that begin with `prefix`.
    private func system(forbidding prefix: String, _ code: Int32 = EACCES) -> SystemCalls {
        var system = SystemCalls.real
        let real = system
        func check(_ path: SystemCalls.Path) throws(Errno) {
            if String(cString: path).hasPrefix(prefix) { throw Errno(code) }
        }
        system.open = { (directory, path, flags, mode) throws(Errno) in
            try check(path)
            return try real.open(directory, path, flags, mode)
        }
        system.statusAt = { (directory, path) throws(Errno) in
            try check(path)
            return try real.statusAt(directory, path)
        }
        system.list = { (directory, path, body) throws(Errno) in
            try check(path)
            try real.list(directory, path, body)
        }
        return system
    }

    @Test func `a writer's directory that belongs to another user stops no recovery`() throws {
        let name = "20261121T091500.123456Z-9f86d081884c7d65"
        mkdir("\(queue.path)/tmp/\(name)", 0o700)
        mkdir("\(queue.path)/tmp/20261121T091500.123457Z-9f86d081884c7d65", 0o700)
        let run = try queue.open(system(forbidding: "tmp/\(name)/")).beginRun(now: now)
        let recovery = try run.recover(now: now)
        #expect(recovery.errors.isEmpty && queue.names("tmp") == [name])
        try run.end()
    }

    @Test func `a run's directory that belongs to another user hides no other claims, and counts as a name`() throws {
        let entries = try queue.add(["a", "b"])
        let run = try queue.open().beginRun(now: now)
        _ = try #require(try run.claim(entries[0]))
        mkdir("\(queue.path)/claimed/other", 0o700)
        let open = try queue.open(system(forbidding: "claimed/other"))
        var listed: Set<String> = []
        let unnamed = try open.forEachStandingName { name, _ in listed.insert("\(name.id)") }
        #expect(listed == ["a", "b"] && unnamed.claimed == 1)
        try run.end()
    }

    @Test func `an operation that cannot be compared with its other file stops no recovery`() throws {
        for id in ["a", "b"] {
            try queue.add([id])
            var later = EntryName(naming: queue.operation(id).header)
            later.attempts = 1
            try queue.put(OperationFile.encode(queue.operation(id)), at: "deferred/\(later)")
        }
        let hidden = try #require(queue.names("deferred").first { $0.contains("-a,") })
        let run = try queue.open(system(forbidding: "deferred/\(hidden)", EIO)).beginRun(now: now)
        let recovery = try run.recover(now: now)
        #expect(recovery.errors.map(\.path) == ["deferred/\(hidden)"] && recovery.repaired == 1)
        try run.end()
        #expect(queue.names("new").count == 1)
    }

    @Test func `an operation that a backup has brought back beside its later file is there once`() throws {
        try queue.add(["a", "b"])
        let entry = try #require(try queue.entries().first { $0.name.id.description == "a" })
        let copy = try #require(queue.bytes(entry.path))
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        let later = Disposition.deferred(until: now + .seconds(60), countsAttempt: true)
        _ = try run.settle(claim, later, record: TemporaryQueue.record(), now: now)
        try run.end()
        try queue.put(copy, at: entry.path)
        let recovery = try queue.recover()
        #expect(recovery.repaired == 1 && recovery.deadRuns.isEmpty)
        #expect(try queue.entries().map { "\($0.name.id)\($0.name.attempts)" }.sorted() == ["a1", "b0"])
    }

    @Test func `a file that cannot be removed keeps no other file from its retention`() throws {
        for id in ["a", "b", "c"] {
            try queue.put(OperationFile.encode(queue.operation(id)), at: "delivered/\(id).json")
        }
        var system = SystemCalls.real
        let real = system
        system.unlink = { (directory, path) throws(Errno) in
            if String(cString: path) == "delivered/b.json" { throw Errno(EPERM) }
            try real.unlink(directory, path)
        }
        let open = try queue.open(system)
        let error = #expect(throws: SpoolError.self) {
            try open.prune(.delivered, olderThan: .lastInNames, at: TemporaryQueue.now)
        }
        #expect(error?.path == "delivered/b.json" && queue.names("delivered") == ["b.json"])
    }

    // MARK: - Missing directories

    @Test(arguments: ["new", "tmp", "claimed", "deferred", "failed", "quarantine", "delivered", "state"])
    func `a missing directory is made again when the queue is opened, and when a run begins a pass`(name: String) throws
    {
        try FileManager.default.removeItem(atPath: "\(queue.path)/\(name)")
        let open = try queue.open()
        #expect(try SpoolDirectory.missingDirectories(at: queue.path) == [] && open.damages(now: now).isEmpty)
        guard name != "claimed" else { return }
        let run = try open.beginRun(now: now)
        try FileManager.default.removeItem(atPath: "\(queue.path)/\(name)")
        #expect(try run.recover(now: now).errors.isEmpty)
        #expect(try SpoolDirectory.missingDirectories(at: queue.path) == [])
        try run.end()
    }

    @Test func `a copy without empty directories is a queue, and another directory is none`() throws {
        try queue.add(["a"])
        for name in ["tmp", "claimed", "deferred", "failed", "quarantine", "delivered"] {
            try FileManager.default.removeItem(atPath: "\(queue.path)/\(name)")
        }
        #expect(try queue.entries().count == 1)
        let mail = try TemporaryQueue(create: false)
        mkdir(mail.path, 0o700)
        for name in ["cur", "new", "tmp"] { mkdir("\(mail.path)/\(name)", 0o700) }
        let error = #expect(throws: SpoolError.self) { try mail.open() }
        #expect(error?.kind == .notAQueue && mail.names("").sorted() == ["cur", "new", "tmp"])
    }

    // MARK: - Foreign files

    @Test func `a copy of a foreign file is named by the admission also after a death, so its id stands once`() throws {
        try queue.put(#"{"drainq":1,"id":"x","payload":1}"#, at: "new/x")
        var system = SystemCalls.real
        let real = system
        // The run dies when it gives the copy its canonical name.
        system.renameNoReplace = { (directory, from, to) throws(Errno) in
            if String(cString: to).hasPrefix("new/") { throw Errno(ECANCELED) }
            try real.renameNoReplace(directory, from, to)
        }
        do {
            let dead = try queue.open(system).beginRun(now: now)
            #expect(try dead.admitForeign(now: now, limits: Limits()).errors.count == 1)
        }
        let added = try queue.open().accept([queue.operation("x")], limits: Limits(), givenIDs: [OperationID("x")!])
        guard case .accepted = added.results[0] else { throw Errno(0) }
        #expect(try queue.recover().errors.isEmpty)
        let run = try queue.open().beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits())
        try run.end()
        #expect(admission.admitted.isEmpty && admission.quarantined.count == 1)
        let entries = try queue.entries()
        #expect(entries.filter { $0.state != .quarantine }.map(\.name.id.description) == ["x"])
    }
}
