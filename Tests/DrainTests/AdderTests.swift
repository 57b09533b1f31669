import CSystem
import Scratch
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The addition of operations by `add` and `import`.
struct AdderTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// The reports of an adder, in order.
    private final class Reports {
        var lines: [String] = []
        var batches = 0

        func take(_ event: AdderEvent) {
            switch event {
            case .answered(let submission, let result, _, let replaces):
                let word =
                    switch result {
                    case .accepted: replaces ? "replaced" : "accepted"
                    case .duplicate: "duplicate"
                    case .inFlight, .isBeingSent: "in flight"
                    case .isGone: "gone"
                    case .rejected: "full"
                    case .refused: "refused"
                    case .notAttempted: "not attempted"
                    }
                lines.append("\(submission.header.id) \(word)")
            case .refused(let place, _, let path, let error):
                lines.append("line \(place.line) \(path != nil ? "kept" : error != nil ? "lost" : "refused")")
            case .added: batches += 1
            case .batchEnded: break
            }
        }
    }

    private let reports = Reports()

    private func adder(_ options: Adder.Options = Adder.Options(Reading(.payload), isDurable: false)) -> Adder {
        Adder(to: bench.spool, { [bench] in bench.configuration }, options, clock: bench.clock) { [reports] in
            reports.take($0)
        }
    }

    private func submission(_ number: Int, key: String? = nil) -> Submission {
        let header = OperationHeader(
            id: OperationID("\(number)")!, type: .default, createdAt: bench.now + .microseconds(number),
            contentType: "application/json", key: key)
        return Submission(
            Operation(header: header, body: Array("\(number)".utf8)), hasOwnID: true, at: bench.now, isDated: true)
    }

    private func given(_ line: Int, _ text: String = "1") -> GivenValue {
        GivenValue(Array(text.utf8), GivenValue.Place(source: "input", line: line))
    }

    @Test func `the adder adds a thousand operations and refused values at once, and the rest at a pause or the end`()
        throws
    {
        var adder = adder()
        for number in 1...999 { try adder.take(submission(number), given(number)) }
        #expect(reports.lines.isEmpty)
        try adder.refuse(given(1000, "{"), reason: "it is truncated")
        #expect(reports.batches == 1 && reports.lines.count == 1000)
        #expect(reports.lines.first == "line 1000 kept" && reports.lines.last == "999 accepted")
        try adder.take(submission(1001), given(1001))
        try adder.pause()
        #expect(reports.lines.last == "1001 accepted" && reports.batches == 2)
        try adder.take(submission(1002), given(1002))
        #expect(try adder.end())
        #expect(try bench.names(.new).count == 1001 && bench.spool.quarantined().count == 1)
    }

    @Test func `all or none: a refused value keeps every operation out, and stays with the user`() throws {
        var adder = adder(Adder.Options(Reading(.payload), isAtomic: true))
        try adder.take(submission(1), given(1))
        try adder.pause()
        try adder.refuse(given(2, "{"), reason: "it is truncated")
        #expect(try !adder.end())
        #expect(reports.lines == ["line 2 refused"])
        #expect(try bench.names(.new).isEmpty && bench.spool.quarantined().isEmpty)
    }

    @Test func `all or none: an operation that could never be sent keeps every operation out`() throws {
        var adder = adder(Adder.Options(Reading(.payload), isAtomic: true))
        try adder.take(submission(1), given(1))
        try adder.take(submission(2, key: String(repeating: "k", count: 1025)), given(2))
        #expect(try !adder.end())
        #expect(reports.lines == ["1 not attempted", "line 2 refused"])
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `the adder answers an operation beyond a limit, and keeps nothing of the operation`() throws {
        bench.configuration.limits.operations = 1
        var adder = adder()
        try adder.take(submission(1), given(1))
        try adder.pause()
        try adder.take(submission(2), given(7))
        try adder.pause()
        #expect(reports.lines == ["1 accepted", "2 full"])
        #expect(adder.hasAdded)
    }

    @Test func `exported operations are duplicates or replacements of the operations in the queue, as asked`() throws {
        try bench.add(3)
        let entries = try bench.names(.new).map { Entry(state: .new, name: $0) }
        var lines: [PortableOperation] = []
        for entry in entries { lines.append(try #require(try bench.spool.portable(entry)).get()) }
        var first = adder()
        for (number, line) in lines.enumerated() { try first.take(line, given(number + 1)) }
        #expect(try first.end())
        #expect(reports.lines == ["default-0 duplicate", "default-1 duplicate", "default-2 duplicate"])
        reports.lines = []
        var second = adder(Adder.Options(Reading(.replacement), replaces: true, isDurable: false))
        for (number, line) in lines.enumerated() { try second.take(line, given(number + 1)) }
        try second.pause()
        #expect(reports.lines.isEmpty)
        #expect(try second.end())
        #expect(reports.lines == ["default-0 replaced", "default-1 replaced", "default-2 replaced"])
        #expect(try bench.names(.new).count == 3)
    }

    @Test func `a refused value is in quarantine before a later operation has its name`() throws {
        var counts: [Int] = []
        var queue: SpoolDirectory?
        var calls = SystemCalls.real
        calls.renameNoReplace = { (directory, from, to) throws(Errno) in
            if String(cString: to).hasPrefix("new/") { counts.append((try? queue?.quarantined().count) ?? -1) }
            try SystemCalls.real.renameNoReplace(directory, from, to)
        }
        let bench = try Bench(system: calls)
        queue = bench.spool
        var adder = Adder(
            to: bench.spool, { bench.configuration }, Adder.Options(Reading(.payload), isDurable: false),
            clock: bench.clock
        ) { [reports] in reports.take($0) }
        try adder.take(submission(1, key: String(repeating: "k", count: 1025)), given(1))
        try adder.take(submission(2), given(2))
        #expect(try adder.end())
        #expect(counts == [1] && reports.lines == ["2 accepted", "line 1 kept"])
    }

    @Test func `a refused value of a sequence has its place behind those that wait, although the clock was set back`()
        throws
    {
        bench.configuration.defaultRoute.coalesce = true
        let ahead = OperationHeader(
            id: OperationID("1")!, type: .default, createdAt: bench.now + .seconds(3600),
            contentType: "application/json", key: "k")
        try bench.spool.accept([Policy.Operation(header: ahead, body: [0x31])], by: bench.configuration)
        var adder = adder()
        var header = OperationHeader(
            id: OperationID("2")!, type: .default, createdAt: bench.now, contentType: "application/json", key: "k")
        header.method = "NO METHOD"
        let refused = Submission(
            Operation(header: header, body: [0x32]), hasOwnID: false, at: bench.now, isDated: false)
        try adder.take(refused, given(1))
        #expect(try adder.end() && reports.lines == ["line 1 kept"])
        let name = try #require(try bench.spool.quarantined().first?.name)
        #expect(name.createdAt > ahead.createdAt)
    }
}
