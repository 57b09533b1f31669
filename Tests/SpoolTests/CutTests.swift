import Testing

@testable import Policy
@testable import Spool

struct CutTests {
    @Test func `a cut has the operations in the queue at its end, and the foreign files once they have names`() throws {
        let queue = try TemporaryQueue()
        let spool = try queue.open()
        let first = try queue.add(["a"])[0].name.id
        try queue.put("1", at: "new/early")
        var cut = try spool.cut(patience: .zero) { _ in true }
        let second = try queue.add(["b"])[0].name.id
        try queue.put("2", at: "new/late")
        let run = try spool.beginRun(now: TemporaryQueue.now)
        let admission = try run.admitForeign(now: TemporaryQueue.now, limits: Limits())
        try run.end()
        cut.take(admission)
        let early = try #require(admission.named[Array("early".utf8)])
        let late = try #require(admission.named[Array("late".utf8)])
        let belongs = [cut.has(first), cut.has(second), cut.has(early), cut.has(late)]
        #expect(belongs == [true, false, true, false])
    }

    @Test func `a cut fails while another process has the names lock`() throws {
        let queue = try TemporaryQueue()
        let (spool, other) = (try queue.open(), try queue.open())
        try other.withNamesLock { () throws(SpoolError) in
            _ = #expect(throws: SpoolError.self) { _ = try spool.cut(patience: .zero) { _ in true } }
        }
    }

    @Test func `a cut is not whole while foreign files stand in the directory of a dead run`() throws {
        let queue = try TemporaryQueue()
        let spool = try queue.open()
        let run = try spool.beginRun(now: TemporaryQueue.now)
        var isWhole: [Bool] = []
        func cut() throws {
            let cut = try spool.cut(patience: .zero) { _ in true }
            isWhole.append(cut.isWhole)
        }
        try cut()
        try queue.put("1", at: "claimed/\(run.name)/admitting-1")
        try cut()
        #expect(isWhole == [true, false])
    }
}
