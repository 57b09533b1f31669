import Foundation
import LoopbackReceiver
import Testing

/// Runs in a network namespace of their own, with loopback up and nothing else.
struct OfflineTests {
    /// Whether this process may make a network namespace. Suites with privileges must be able to.
    static let namespaces: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["unshare", "-n", "true"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0 || ProcessInfo.processInfo.environment["CI"] != nil
    }()

    private static let offline = #"offline() { unshare -n bash -c 'ip link set lo up; "$DRAINQ" "$@"' drainq "$@"; }; "#

    @Test(.enabled(if: namespaces, "this process may make no network namespace"))
    func `runs without a network count no attempts, and say so once`() throws {
        let drainq = try Drainq(
            #"{ routes: { default: { url: "http://api.example.com/", retry: { schedule: ["1s", "1s"] } } } }"#)
        try drainq.run("add", input: numbered(3))
        let runs = try drainq.shell(
            Self.offline + "for i in 1 2 3 4 5; do offline run --now; echo $?; done; drainq list --json")
        #expect(runs.lines.prefix(5) == ["75", "75", "75", "75", "75"])
        #expect(runs.error.components(separatedBy: "this machine has no network").count == 2, "\(runs.error)")
        #expect(runs.lines.dropFirst(5).allSatisfy { $0.contains(#""attempts":0"#) })
        #expect(try drainq.names("new").count == 3 && drainq.names("failed").isEmpty)
        let waits = try drainq.shell(Self.offline + "offline list --json")
        let reason = #""waitsFor":{"reason":"this machine has no network"#
        #expect(waits.lines.count == 3 && waits.lines.allSatisfy { $0.contains(reason) }, "\(waits.output)")
        let status = try drainq.shell(Self.offline + "offline status")
        #expect(status.output.contains("waiting: this machine has no network"))
    }

    @Test(.enabled(if: namespaces, "this process may make no network namespace"))
    func `an unreachable address counts no attempt, and send queues the operation`() throws {
        let drainq = try Drainq(#"{ routes: { default: { url: "http://192.0.2.1/" } } }"#)
        let sent = try drainq.shell(Self.offline + "echo 1 | offline send; echo $?; offline run -v; echo $?")
        #expect(sent.lines == ["75", "75"])
        #expect(sent.error.contains("this machine has no network"))
        #expect(try drainq.names("new").count == 1)
    }

    @Test(.enabled(if: namespaces, "this process may make no network namespace"))
    func `a destination on loopback is reached`() throws {
        let drainq = try Drainq(#"{ routes: { default: { url: "http://127.0.0.1:8089/" } } }"#)
        try drainq.run("add", input: numbered(2))
        let ran = try drainq.shell(
            Self.offline.replacing(
                #""$DRAINQ" "$@"'"#,
                with: #""$DRAINQ" receive --port 8089 >/dev/null 2>&1 & r=$!; "#
                    + #"until (: < /dev/tcp/127.0.0.1/8089) 2>/dev/null; do :; done; "$DRAINQ" "$@"; s=$?; kill $r; exit $s'"#
            )
                + "offline run -v; echo $?")
        #expect(ran.lines == ["0"], "\(ran.error)")
        #expect(try drainq.waiting() == 0)
    }
}
