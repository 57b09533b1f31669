import CSystem
import Foundation
import Spool
import Synchronization
import Testing

@testable import Policy

/// The users that a queue trusts, by the modes and owners of its parts.
struct TrustTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    private func refusal(_ body: () throws(SpoolError) -> Void) -> SpoolError? {
        do throws(SpoolError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        (".", 0o702, Distrust.others(mode: 0o702)), (".", 0o1777, .others(mode: 0o777)),
        (".", 0o770, .group(mode: 0o770)), (".", 0o755, nil), (".", 0o2770, nil), (".", 0o2772, .others(mode: 0o772)),
        ("state", 0o777, .others(mode: 0o777)), ("claimed", 0o1777, .others(mode: 0o777)),
        ("failed", 0o720, .group(mode: 0o720)), ("deferred", 0o2770, nil), ("quarantine", 0o711, nil),
        ("new", 0o777, .notSticky(mode: 0o777)), ("new", 0o1777, nil), ("new", 0o1733, nil), ("new", 0o3730, nil),
        ("new", 0o730, .notSticky(mode: 0o730)), ("new", 0o2730, nil), ("tmp", 0o777, .notSticky(mode: 0o777)),
        ("tmp", 0o1777, nil), ("delivered", 0o700, nil),
    ])
    func `a directory whose mode lets other users do harm is refused`(part: String, mode: Int, distrust: Distrust?)
        throws
    {
        chmod("\(queue.path)/\(part)", mode_t(mode))
        let operations = [queue.operation("a")]
        let open = try queue.open()
        let refusals = [
            refusal { () throws(SpoolError) in try open.beginRun(now: now).end() },
            refusal { () throws(SpoolError) in
                _ = try open.accept(operations, limits: Limits(), durable: false)
            },
        ]
        for refusal in refusals { #expect(refusal?.kind == distrust.map { .untrusted($0) }) }
        #expect(queue.names("new").count == (distrust == nil ? 1 : 0))
        if let distrust {
            #expect(
                refusals[0]?.description
                    == "cannot use '\(part == "." ? queue.path : "\(queue.path)/\(part)")': \(distrust.reason)")
            #expect(refusals[0]?.hint == distrust.hint(for: part == "." ? queue.path : "\(queue.path)/\(part)"))
            #expect(
                try open.damages(now: now).contains { if case .directoryMode(part, _) = $0 { true } else { false } })
            _ = open.repair(by: ReplacementRule(Configuration(), at: now), now: now)
            try open.beginRun(now: now).end()
        }
    }

    @Test(arguments: ["new", "tmp", "claimed", "deferred", "failed", "quarantine", "delivered", "state"])
    func `a link in place of a queue's directory is refused, and nothing is written through the link`(part: String)
        throws
    {
        let elsewhere = queue.path + "-elsewhere"
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        let open = try queue.open()
        try FileManager.default.moveItem(atPath: "\(queue.path)/\(part)", toPath: elsewhere)
        symlink(elsewhere, "\(queue.path)/\(part)")
        let before = try FileManager.default.subpathsOfDirectory(atPath: elsewhere).sorted()
        let refused = refusal { () throws(SpoolError) in _ = try open.beginRun(now: now) }
        #expect(refused?.kind == .notAQueue && refused?.path == "\(queue.path)/\(part)")
        #expect(try FileManager.default.subpathsOfDirectory(atPath: elsewhere).sorted() == before)
    }

    @Test func `a configuration of a stranger, or writable by strangers, is not trusted`() throws {
        let open = try queue.open()
        try open.checkTrustOfConfiguration()
        let file = "\(queue.path)/drainq.json"
        try queue.put("{}", at: "drainq.json")
        for (mode, distrust) in [
            (0o600, nil), (0o644, nil), (0o666, Distrust.others(mode: 0o666)), (0o664, .group(mode: 0o664)),
        ] {
            chmod(file, mode_t(mode))
            let refused = refusal { () throws(SpoolError) in try open.checkTrustOfConfiguration() }
            #expect(refused?.kind == distrust.map { .untrusted($0) })
        }
        var system = SystemCalls.real
        let real = system
        system.status = { (descriptor) throws(Errno) in
            var status = try real.status(descriptor)
            if status.kind == .regular { status.owner = 4242 }
            return status
        }
        chmod(file, 0o600)
        let other = try queue.open(system)
        let refused = refusal { () throws(SpoolError) in try other.checkTrustOfConfiguration() }
        #expect(refused?.kind == .untrusted(.owner(4242)))
    }

    // MARK: - Strangers where others may write

    /// System calls for which files whose first name contains "stranger" belong to a stranger.
    private var withStrangers: SystemCalls {
        var system = SystemCalls.real
        let real = system
        let strangers = Mutex<Set<UInt64>>([])
        system.statusAt = { (directory, path) throws(Errno) in
            var status = try real.statusAt(directory, path)
            let inode = status.inode
            let isTheirs = strangers.withLock { strangers in
                if String(cString: path).contains("stranger") { strangers.insert(inode) }
                return strangers.contains(inode)
            }
            if isTheirs { status.owner = 4242 }
            return status
        }
        return system
    }

    @Test func `a stranger's canonical file is no operation, and goes to quarantine`() throws {
        chmod("\(queue.path)/new", 0o1777)
        let mine = try queue.add(["mine"])[0]
        try queue.put("", at: "new/19700101T000000.000000Z-stranger,k=\(Digest(of: "k")).json")
        let open = try queue.open(withStrangers)
        var seen: [Entry] = []
        #expect(try open.forEachEntry(in: .new) { seen.append($0) } == 1)
        #expect(seen == [mine])
        let run = try open.beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits())
        #expect(
            admission.quarantined.first?.reason?.hasPrefix("it belongs to user") == true
                && admission.quarantined.count == 1 && admission.admitted.isEmpty)
        #expect(admission.quarantined.first?.name?.id.description == "stranger")
        try run.end()
        #expect(queue.names("new") == [mine.name.description])
    }

    @Test func `a delivery removes the older values of its key in quarantine, and no stranger's file with such a name`()
        throws
    {
        let key = Digest(of: "k").description
        for id in ["own", "stranger"] {
            let name = "19700101T000000.000000Z-\(id),k=\(key).json"
            try queue.put("", at: "quarantine/\(name)")
            try queue.put("{}", at: "quarantine/\(name).reason")
        }
        var operation = queue.operation("newer")
        operation.header.key = "k"
        var configuration = Configuration()
        configuration.defaultRoute.coalesce = true
        let accepted = try queue.open().accept([operation], limits: Limits(), durable: false)
        guard case .accepted(let name)? = accepted.results.first else { throw Errno(0) }
        let newer = Entry(state: .new, name: name)
        let open = try queue.open(withStrangers)
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(newer))
        let removed = try open.supersedeDeadLetters(
            by: run.successor(sent: claim), ReplacementRule(configuration, at: now), patience: .seconds(5), at: now)
        #expect(removed.map(\.name.id.description) == ["own"])
        let left = queue.names("quarantine")
        #expect(left.count == 2 && left.allSatisfy { $0.contains("stranger") })
    }

    @Test func `an operation replaces older ones only if a run would send its file`() throws {
        let newer = try queue.add(["newer"])[0]
        let rule = ReplacementRule(Configuration(), at: now)
        #expect(try queue.open().successor(newer, rule) != nil)
        // A move between its link and its unlink.
        let second = "\(queue.path)/deferred/\(newer.name)"
        link("\(queue.path)/\(newer.path)", second)
        #expect(try queue.open().successor(newer, rule) != nil)
        unlink(second)
        link("\(queue.path)/\(newer.path)", "\(queue.path)/outside")
        #expect(try queue.open().successor(newer, rule) == nil)
        unlink("\(queue.path)/outside")
        var system = SystemCalls.real
        system.status = { (descriptor) throws(Errno) in
            var status = try SystemCalls.real.status(descriptor)
            if status.kind == .regular { status.owner = 4242 }
            return status
        }
        #expect(try queue.open(system).successor(newer, rule) == nil)
    }

    @Test func `a system error does not make an accepted operation a stranger's file`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            chmod("\(fresh.path)/new", 0o1777)
            let mine = try fresh.add(["mine"])[0]
            let calls = InterceptedCalls()
            let run = try fresh.open(calls.calls).beginRun(now: now)
            calls.reset(.error(EIO, at: index))
            _ = try? run.admitForeign(now: now, limits: Limits())
            let count = calls.count
            calls.reset()
            try? run.end()
            try fresh.recover()
            #expect(fresh.names("new") == [mine.name.description] && fresh.names("quarantine").isEmpty)
            if count < index { break }
        }
    }

    @Test func `recovery does not empty a stranger's directory in tmp`() throws {
        let path = "\(queue.path)/tmp/20200101T000000.000000Z-stranger89abcdef"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try queue.put("", at: "tmp/20200101T000000.000000Z-stranger89abcdef/file")
        let later = Timestamp.now + .seconds(40 * 3600)
        for name in ["", "empty"] {
            let open = try queue.open(withStrangers)
            if !name.isEmpty { try FileManager.default.removeItem(atPath: path + "/file") }
            let run = try open.beginRun(now: later)
            _ = try run.recover(now: later)
            try run.end()
            #expect(queue.names("tmp").count == (name.isEmpty ? 1 : 0))
        }
    }

    @Test func `a run admits a bounded number of files at once, and the rest afterwards`() throws {
        let count = SpoolRun.admissionSize + 1
        for number in 0..<count { close(creat("\(queue.path)/new/junk-\(number)", 0o600)) }
        let run = try queue.open().beginRun(now: now)
        let first = try run.admitForeign(now: now, limits: Limits())
        #expect(first.hasMore && first.quarantined.count == SpoolRun.admissionSize)
        let second = try run.admitForeign(now: now, limits: Limits())
        #expect(!second.hasMore && second.quarantined.count == 1)
        try run.end()
        #expect(queue.names("new").isEmpty && queue.names("quarantine").count == 2 * count)
    }
}

extension Timestamp {
    fileprivate static var now: Timestamp {
        Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    }
}
