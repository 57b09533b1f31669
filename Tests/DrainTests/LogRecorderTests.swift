import Drain
import Policy
import Spool
import Testing

/// The events that the log has of a run.
struct LogRecorderTests {
    private func name(_ number: Int64) -> EntryName {
        EntryName(
            createdAt: Timestamp(microseconds: number), id: OperationID("operation-\(number)")!, type: .default)
    }

    @Test func `the log distinguishes operations put back from operations that a dead run had delivered`() {
        var recovery = Recovery()
        recovery.returned = [Entry(state: .new, name: name(1)), Entry(state: .deferred, name: name(2))]
        recovery.delivered = [name(3)]
        var recorder = LogRecorder()
        recorder.take(.recovered(recovery), at: Timestamp(microseconds: 9))
        let events = recorder.take()
        #expect(events.first { $0.kind == .recovered }?.ids == ["operation-1", "operation-2"])
        #expect(events.first { $0.kind == .completed }?.ids == ["operation-3"])
        #expect(events.count == 2)
    }
}
