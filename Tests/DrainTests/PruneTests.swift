import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The removal of what is too old: an error in one search leaves the others.
struct PruneTests {
    @Test func `a full disk keeps no copy that is too old, and the run reports the note that it cannot write`() throws {
        var isFull = false
        var system = SystemCalls.real
        let real = system
        system.write = { (descriptor, bytes) throws(Errno) in
            if isFull { throw Errno(ENOSPC) }
            return try real.write(descriptor, bytes)
        }
        let bench = try Bench(system: system)
        bench.configuration.retention.delivered = .seconds(2)
        bench.configuration.retention.failed = .seconds(30 * 86_400)
        try bench.add(3)
        _ = try bench.run()
        #expect(try bench.names(.delivered).count == 3)
        try FileManager.default.removeItem(at: bench.directory.appending(path: "state/retention"))
        isFull = true
        // The age of a copy is that of its file.
        let later = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6)) + .seconds(60)
        let errors = bench.spool.prune(by: bench.configuration, now: later)
        #expect(try bench.names(.delivered).isEmpty)
        #expect(errors.map(\.isFullDisk) == [true])
    }
}
