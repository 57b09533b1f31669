import Policy
import Testing

@testable import Simulation

/// The list of drainq-queue(5), State, as the simulation checks it.
struct LockTableTests {
    private static let plain = "20261121T091500.123456Z-a,r=p.json"
    private static let keyed = "20261121T091500.123456Z-a,r=c,k=0123456789abcdef01234567.json"
    private static let keyless = "20261121T091500.123456Z-a,r=c.json"
    private static let strict = "20261121T091500.123456Z-a,r=s.json"

    private var table: LockTable {
        var ordered = Setup.Kind(TypeName("c")!, host: "one")
        ordered.coalescing = .replace
        var strict = Setup.Kind(TypeName("s")!, host: "one")
        strict.order = .strict
        return LockTable(setup: Setup(kinds: [Setup.Kind(TypeName("p")!, host: "one"), ordered, strict]))
    }

    /// The lock file of the only destination.
    private var sequences: String {
        let name = EntryName(Self.strict)!
        return "state/sequences/\(DestinationTable(table.setup.configuration).destination(of: name).digest)"
    }

    private func lacks(_ from: String, _ to: String, having locks: String...) -> [String] {
        table.lacks(from: from, to: to) { locks.contains($0) }
    }

    @Test func `a file of a run or writer moves under the lock of its directory`() {
        #expect(lacks("tmp/w/\(Self.plain)", "new/\(Self.plain)") == ["tmp/w/lock"])
        #expect(lacks("tmp/w/\(Self.plain)", "new/\(Self.plain)", having: "tmp/w/lock").isEmpty)
        #expect(lacks("new/\(Self.plain)", "claimed/r/\(Self.plain)", having: "claimed/s/lock") == ["claimed/r/lock"])
        #expect(
            lacks("claimed/dead/\(Self.plain)", "claimed/r/\(Self.plain)", having: "claimed/r/lock")
                == ["claimed/dead/lock"])
        #expect(lacks("state/spare", "claimed/r").isEmpty)
    }

    @Test func `only a claim of an operation with an order needs the lock of orders`() {
        for name in [Self.plain, Self.keyless] {
            #expect(lacks("new/\(name)", "claimed/r/\(name)", having: "claimed/r/lock").isEmpty)
        }
        for name in [Self.keyed, Self.strict] {
            #expect(
                lacks("deferred/\(name)", "claimed/r/\(name)", having: "claimed/r/lock")
                    == ["\(sequences) or state/sequence.lock or state/names.lock"])
            #expect(
                lacks("claimed/r/\(name)", "new/\(name)", having: "claimed/r/lock", sequences).isEmpty)
        }
    }

    @Test func `a foreign file is claimed under the names lock`() {
        #expect(lacks("new/x.json", "claimed/r/admitting-1", having: "claimed/r/lock") == ["state/names.lock"])
    }

    @Test func `an operation with an order enters and is dropped under the names lock`() {
        for name in [Self.keyed, Self.strict] {
            #expect(lacks("tmp/w/0", "new/\(name)", having: "tmp/w/lock") == ["state/names.lock"])
            #expect(lacks("new/\(name)", "tmp/w/0", having: "tmp/w/lock") == ["state/names.lock"])
        }
        #expect(lacks("tmp/w/0", "new/\(Self.plain)", having: "tmp/w/lock").isEmpty)
    }

    @Test func `in a queue with limits an operation enters under the names lock`() {
        var setup = Setup(kinds: [Setup.Kind(TypeName("p")!, host: "one")])
        for limit in [nil, 5] {
            setup.operations = limit
            for target in ["new/\(Self.plain)", "claimed/r/\(Self.plain)"] {
                let locks = ["tmp/w/lock", "claimed/r/lock"]
                let lacks = LockTable(setup: setup).lacks(from: "tmp/w/0", to: target) { locks.contains($0) }
                #expect(lacks == (limit == nil ? [] : ["state/names.lock"]))
            }
        }
    }

    @Test func `a process needs the names lock to rename an operation or to bring an operation back`() {
        for (from, to) in [("new", "deferred"), ("failed", "new"), ("quarantine", "new"), ("delivered", "deferred")] {
            #expect(lacks("\(from)/\(Self.keyed)", "\(to)/\(Self.keyed)") == ["state/names.lock"])
            #expect(lacks("\(from)/\(Self.plain)", "\(to)/\(Self.plain)").isEmpty)
        }
        #expect(lacks("state/.destinations.json", "state/destinations.json") == ["state/lock"])
    }
}
