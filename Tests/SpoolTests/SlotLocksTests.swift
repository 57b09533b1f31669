import Policy
import Testing

@testable import Spool

struct SlotLocksTests {
    private let queue: TemporaryQueue
    private let spool: SpoolDirectory

    init() throws {
        queue = try TemporaryQueue()
        spool = try queue.open()
    }

    private func slots(_ size: Int, of name: String = "one") -> SlotLocks {
        SlotLocks(of: Digest(of: name), size: size, in: spool)
    }

    @Test func `processes take no more slots than exist, and a returned slot is free for another process`() throws {
        let (first, second) = (slots(3), slots(3))
        #expect(try first.acquire() && first.acquire() && second.acquire())
        #expect(try !first.acquire() && !second.acquire())
        first.giveBack(downTo: 1)
        #expect(try second.acquire() && !second.acquire() && !first.acquire())
        #expect(first.count == 1 && second.count == 2)
        first.giveBack(downTo: 5)
        #expect(first.count == 1)
    }

    @Test func `the slots of an ended process are free`() throws {
        do {
            let gone = slots(2)
            #expect(try gone.acquire() && gone.acquire())
        }
        #expect(try slots(2).acquire())
    }

    @Test func `only taken slots have an open file`() throws {
        let calls = InterceptedCalls()
        let spool = try queue.open(calls.calls)
        let slots = SlotLocks(of: Digest(of: "one"), size: 40, in: spool)
        let before = calls.descriptors.count
        for _ in 0..<20 { #expect(try slots.acquire()) }
        #expect(calls.descriptors.count == before + 20)
        slots.giveBack(downTo: 3)
        #expect(calls.descriptors.count == before + 3)
    }

    @Test func `each name has its own slots`() throws {
        let (one, two) = (slots(1), slots(1, of: "two"))
        #expect(try one.acquire() && two.acquire())
    }
}
