import Foundation
import Policy
import Spool
import Testing

/// Files outside of the queue, written for other programs.
struct PublishTests {
    let queue: TemporaryQueue
    private var outside: String { queue.path + "/tmp/outside" }
    private var file: String { outside + "/x.prom" }

    init() throws {
        queue = try TemporaryQueue()
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
    }

    private func names() -> [String] { queue.names("tmp/outside") }

    @Test func `publish replaces the file, readable by everybody whatever the umask`() throws {
        let open = try queue.open()
        let old = umask(0o077)
        defer { umask(old) }
        try open.publish(Array("one\n".utf8), at: file)
        try open.publish(Array("two\n".utf8), at: file)
        #expect(queue.text("tmp/outside/x.prom") == "two\n")
        #expect(names() == ["x.prom"])
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o644)
    }

    @Test func `publish overwrites the temporary file of a crash`() throws {
        try queue.put("half", at: "tmp/outside/.x.prom.new")
        try queue.open().publish([1], at: file)
        #expect(names() == ["x.prom"] && queue.bytes("tmp/outside/x.prom") == [1])
    }

    @Test func `publish does not write through a link at the temporary name`() throws {
        try queue.put("mine", at: "victim")
        try FileManager.default.createSymbolicLink(
            atPath: outside + "/.x.prom.new", withDestinationPath: queue.path + "/victim")
        try queue.open().publish([1], at: file)
        #expect(queue.text("victim") == "mine")
        #expect(queue.bytes("tmp/outside/x.prom") == [1])
    }

    @Test func `after an error at any call a reader sees the old or the new file`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        try open.publish([0], at: file)
        var index = 0
        var failures = 0
        repeat {
            index += 1
            calls.reset(.error(ENOSPC, at: index))
            do throws(SpoolError) { try open.publish([1], at: file) } catch { failures += 1 }
            let bytes = queue.bytes("tmp/outside/x.prom")
            #expect(bytes == [0] || bytes == [1], "after call \(index)")
        } while calls.count >= index
        #expect(failures > 3)
        #expect(calls.descriptors.count == 1, "that of the queue")
        calls.reset()
        try open.publish([2], at: file)
        #expect(names() == ["x.prom"] && queue.bytes("tmp/outside/x.prom") == [2])
    }

    @Test func `after a crash at any call a reader sees the old or the new file, and the next publish works`() throws {
        var index = 0
        var count = 0
        repeat {
            index += 1
            let calls = InterceptedCalls()
            let open = try queue.open(calls.calls)
            calls.reset(.crash(at: index))
            try? open.publish([1], at: file)
            count = calls.count
            let bytes = queue.bytes("tmp/outside/x.prom")
            #expect(bytes == nil || bytes == [1] || bytes == [2], "after call \(index)")
            try queue.open().publish([2], at: file)
            #expect(names() == ["x.prom"] && queue.bytes("tmp/outside/x.prom") == [2])
        } while count >= index
        #expect(index > 5)
    }

    @Test(arguments: [("/nowhere/at/all/x.prom", "No such file or directory"), ("/proc/x.prom", "")])
    func `an error names the path that cannot be written`(path: String, reason: String) throws {
        let error = #expect(throws: SpoolError.self) { try queue.open().publish([1], at: path) }
        #expect(error?.description.hasPrefix("cannot write '\(path)': \(reason)") == true)
    }

    @Test func `publish does not replace a directory`() throws {
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
        #expect(throws: SpoolError.self) { try queue.open().publish([1], at: file) }
        #expect(names() == ["x.prom"])
    }
}
