import Foundation
import Policy
import Spool
import Testing

@testable import Drain

/// A newer value removes older ones only once its own file has been opened.
struct SoundnessTests {
    @Test(arguments: [#"{"n":2}"# + "\n" + #"{"n":3}"#, "", "no operation"])
    func `a damaged newest value does not supersede a good value`(damage: String) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(3) { $0.key = "k" }
        let newest = try #require(try bench.names(.new).last)
        try Data(damage.utf8).write(to: bench.directory.appending(path: "new/\(newest)"))
        let summary = try bench.run()
        #expect(bench.bodies == ["1"])
        #expect(summary.delivered == 1 && summary.superseded == 1 && summary.quarantined == 1)
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `a newest value beyond a lowered limit is sent, and supersedes the older value`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        bench.now = bench.now + .microseconds(1)
        let header = OperationHeader(
            id: OperationID("long")!, type: TypeName("default")!, createdAt: bench.now, contentType: "application/json",
            key: "k")
        try bench.spool.accept([Policy.Operation(header: header, body: Array(repeating: UInt8(ascii: "1"), count: 9))])
        bench.configuration.limits.operationBytes = 5
        #expect(try bench.run().superseded == 1)
        #expect(bench.bodies == ["111111111"])
    }
}
