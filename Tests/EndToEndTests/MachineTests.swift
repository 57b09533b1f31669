import Foundation
import LoopbackReceiver
import Testing

/// The machine lacks a library, or its agents are broken: no request is sent, no operation and no destination is
/// charged, `check` reports the same as a run, and all operations are delivered after the repair.
@Suite(.serialized) final class MachineTests {
    private let receiver: LoopbackReceiver
    private let drainq: Drainq
    /// On the file system of the programs, for hard links.
    private let place = builtProgram.deletingLastPathComponent().appending(path: "test-machine-\(UUID().uuidString)")

    init() throws {
        receiver = try LoopbackReceiver()
        drainq = try Drainq(to: receiver)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: place)
    }

    /// Runs and checks the queue with the lack, then runs the queue again without the lack.
    private func meets(
        _ lack: [String: String], program: URL? = nil, run status: Int32, check checked: Set<Int32>, _ words: String
    ) throws {
        try #require(try drainq.run("add", input: "1\n2\n").status == 0)
        drainq.environment = lack
        let run = try drainq.start(["run", "-v"], input: "", program: program).finish()
        #expect(run.status == status, "\(run)")
        #expect(run.error.contains(words), "\(run)")
        let check = try drainq.start(["check"], input: "", program: program).finish()
        #expect(checked.contains(check.status), "\(check)")
        #expect((check.error + check.output).contains(words), "\(check)")
        drainq.environment = [:]
        #expect(receiver.receivedCount == 0)
        #expect(try drainq.names("failed") == [] && drainq.names("quarantine") == [])
        for state in ["new", "deferred"] {
            for name in try drainq.names(state) { #expect(!name.contains(",a="), "\(name)") }
        }
        #expect(!(try drainq.run("status").output.contains("circuit breaker")))
        try #require(try drainq.run("release", "--all").status == 0)
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(receiver.receivedCount == 2)
    }

    /// An environment with an empty file in the place of a library.
    private func without(_ library: String) throws -> [String: String] {
        try Data().write(to: place.appending(path: library))
        return ["LD_LIBRARY_PATH": place.path]
    }

    @Test func `without libcurl the destination is held`() throws {
        // URLSession's agent may be linked to libcurl, and then does not begin.
        try meets(without("libcurl.so.4"), run: 69, check: [74, 78], "libcurl.so.4: file too short")
    }

    @Test func `without zlib the destination of a compressing route is held`() throws {
        let routes = "{ routes: { default: { url: \"\(receiver.url)/\", compress: \"gzip\" } } }"
        try routes.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        try meets(without("libz.so.1"), run: 69, check: [78], "'compress' needs zlib, which cannot be used here")
    }

    @Test(arguments: [
        ("exit 0", "exited with status 0"), ("exit 70", "exited with status 70"),
        ("head -c 100000 /dev/zero | tr '\\0' x >&0", "cannot start a delivery agent: "),
        (#"printf '\x00\x00\x00\x09\x04\x00\x00\x00\x00\x00\x00\x00\x63' >&0; sleep 5"#, "its version differs"),
    ])
    func `a broken agent ends the run`(lines: String, words: String) throws {
        let (bin, libexec) = (place.appending(path: "bin"), place.appending(path: "libexec/drainq"))
        for directory in [bin, libexec] {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        }
        let program = bin.appending(path: "drainq")
        try FileManager.default.linkItem(at: builtProgram, to: program)
        let agent = libexec.appending(path: "drainq-urlsession")
        // Another program writes the file: a child of a concurrent test may have this process's descriptors, and
        // execve(2) of a file that is open for writing fails with ETXTBSY.
        let writing = try drainq.start(
            ["-m", "755", "/dev/stdin", agent.path], input: "#!/bin/bash\n\(lines)\n",
            program: URL(filePath: "/usr/bin/install"))
        try #require(try writing.finish().status == 0)
        try meets(["DRAINQ_TRANSPORT": "urlsession"], program: program, run: 74, check: [74], words)
    }
}
