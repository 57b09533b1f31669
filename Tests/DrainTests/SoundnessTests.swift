import CSystem
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

    @Test(arguments: [false, true], [false, true])
    func `an expired newest value does not supersede a good value`(isHeld: Bool, isOwn: Bool) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        if !isOwn { bench.configuration.defaultRoute.expiresAfter = .seconds(5) }
        try bench.add(2) { header in
            header.key = "k"
            if isOwn, header.id.description == "default-1" { header.expiresAt = header.createdAt + .seconds(5) }
        }
        if isHeld { _ = try bench.spool.hold(Entry(state: .new, name: try #require(try bench.names(.new).last))) }
        bench.pass(.seconds(10))
        let summary = try bench.run()
        #expect(bench.bodies == (isOwn ? ["0"] : []))
        #expect(summary.superseded == 0 && summary.expired == (isOwn ? 1 : 2))
        #expect(try bench.names(.new).isEmpty && bench.names(.failed).count == summary.expired)
    }

    @Test func `a newest value whose body file is gone does not supersede a good value`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        let path = try addBodyFile(to: bench)
        try FileManager.default.removeItem(atPath: path)
        let summary = try bench.run()
        #expect(bench.bodies == ["0"])
        #expect(summary.delivered == 1 && summary.superseded == 0 && summary.failed == 1)
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `a newest value whose body file comes back in the pass is not sent before older values are gone`() throws
    {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1, type: "other")
        try bench.add(1) { $0.key = "k" }
        let path = try addBodyFile(to: bench)
        try FileManager.default.moveItem(atPath: path, toPath: path + "-away")
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in
            if FileManager.default.fileExists(atPath: path + "-away") {
                try? FileManager.default.moveItem(atPath: path + "-away", toPath: path)
            }
            return .status(204)
        }
        #expect(summary.delivered == 2 && summary.superseded == 1 && summary.failed == 0)
        #expect(bench.sink?.requests.map { $0.bodyFile != nil } == [false, true])
    }

    /// Adds a newer value whose body is a file. Returns the file's path.
    private func addBodyFile(to bench: Bench) throws -> String {
        let root = try #require(realpath(bench.directory.path, nil).map { String(cString: $0) })
        bench.configuration.bodyFileRoots = [root]
        try Data("file".utf8).write(to: URL(filePath: root + "/body"))
        let file = try bench.spool.bodyFile(at: root + "/body", roots: [root]).get()
        bench.now = bench.now + .microseconds(1)
        let header = OperationHeader(
            id: OperationID("file")!, type: .default, createdAt: bench.now, contentType: nil, key: "k", bodyFile: file)
        try bench.spool.accept([Policy.Operation(header: header, body: [])], by: bench.configuration)
        return file.path
    }

    @Test func `a newest value with a name outside the queue does not supersede a good value`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(2) { $0.key = "k" }
        let newest = try #require(try bench.names(.new).last)
        try FileManager.default.linkItem(
            at: bench.directory.appending(path: "new/\(newest)"), to: bench.directory.appending(path: "outside"))
        let summary = try bench.run()
        #expect(bench.bodies == ["0"])
        #expect(summary.delivered == 1 && summary.superseded == 0 && summary.quarantined == 1)
        #expect(try bench.names(.new).isEmpty)
    }

    /// The newest value of a key, whose file the system does not let this run read or claim.
    @Test(arguments: [false, true])
    func `a newest value that cannot be taken is set aside, its key waits, and the rest goes on`(isRead: Bool) throws {
        var newest = ""
        var system = SystemCalls.real
        let real = system
        func isNewest(_ path: SystemCalls.Path) -> Bool { !newest.isEmpty && String(cString: path).hasSuffix(newest) }
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if isRead, isNewest(path) { throw Errno(EACCES) }
            return try real.open(directory, path, flags, mode)
        }
        system.rename = { (directory, from, target, to) throws(Errno) in
            if !isRead, isNewest(from) { throw Errno(EPERM) }
            try real.rename(directory, from, target, to)
        }
        let bench = try Bench(system: system)
        bench.configuration.routes[TypeName("other")!]!.coalesce = true
        try bench.add(3)
        try bench.add(2, type: "other") { $0.key = "k" }
        newest =
            isRead ? try #require(try bench.names(.new).last).description : "other-0,r=other,k=\(Digest(of: "k")).json"
        let summary = try bench.run()
        #expect(summary.delivered == 3 && summary.end == .done && summary.inputOutputErrors == 1)
        #expect(try bench.names(.new).map(\.id.description) == ["other-0", "other-1"])
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

    @Test func `a refused value stays as a dead letter if the newer value of its key is damaged`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        let summary = try bench.run { _ in
            // The newer value comes while the older one is in flight.
            if bench.bodies.count == 1 {
                _ = try? bench.add(1, body: "newer") { $0.key = "k" }
                let path = bench.directory.appending(path: "new/\((try? bench.names(.new).first)!)")
                try? Data("no operation".utf8).write(to: path)
            }
            return .status(404)
        }
        #expect(summary.failed == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-0"])
    }

    @Test func `a refused value stays as a dead letter if the newer value cannot be read, and the rest goes on`() throws
    {
        var newer = ""
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if !newer.isEmpty, String(cString: path).hasSuffix(newer) { throw Errno(EIO) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        try bench.add(3, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in
            if !newer.isEmpty { return .status(204) }
            // The newer value comes while the older one is in flight.
            _ = try? bench.add(1) { $0.key = "k" }
            newer = (try? bench.names(.new))?.first { $0.id.description == "default-1" }?.description ?? ""
            return .status(404)
        }
        #expect(summary.failed == 1 && summary.delivered == 3 && summary.end == .done)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-0"])
        #expect(try bench.names(.new).map(\.id.description) == ["default-1"])
    }

    @Test func `a refused value goes if the newer value of its key is good`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        _ = try bench.run { _ in
            _ = try? bench.add(1) { $0.key = "k" }
            return .status(404)
        }
        #expect(try bench.names(.failed).isEmpty && bench.names(.new).map(\.id.description) == ["default-1"])
        #expect(try bench.run().delivered == 1)
    }
}
