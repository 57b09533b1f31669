import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Operations whose body files lie in a directory that is away for a while.
struct BodyRootTests {
    @Test func `operations whose directory of body files is away are deferred, not charged, and sent once it is back`()
        throws
    {
        let bench = try Bench()
        let directory = try #require(realpath(bench.directory.path, nil).map { String(cString: $0) })
        let (root, away) = (directory + "/scans", directory + "/away")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        bench.configuration.bodyFileRoots = [root]
        for name in ["a", "b"] {
            try Data(name.utf8).write(to: URL(filePath: "\(root)/\(name)"))
            let file = try bench.spool.bodyFile(at: "\(root)/\(name)", roots: [root]).get()
            bench.now = bench.now + .microseconds(1)
            let header = OperationHeader(
                id: OperationID(name)!, type: .default, createdAt: bench.now, contentType: nil, bodyFile: file)
            try bench.spool.accept([Operation(header: header, body: [])], by: bench.configuration)
        }
        try bench.add(1)
        try FileManager.default.moveItem(atPath: root, toPath: away)
        let first = try bench.run()
        #expect(first.failed == 0 && first.deferred == 2 && first.delivered == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [0, 0])
        let name = try #require(try bench.names(.deferred).first)
        guard case .operation(let stored) = try bench.spool.read(Entry(state: .deferred, name: name)) else {
            Issue.record("no operation")
            return
        }
        #expect(stored.operation.attempts.last?.excerpt?.contains("'\(root)'") ?? false)
        try FileManager.default.moveItem(atPath: away, toPath: root)
        bench.pass(.seconds(3600))
        #expect(try bench.run().delivered == 2)
    }
}
