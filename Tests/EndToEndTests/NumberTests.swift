import Foundation
import LoopbackReceiver
import Testing

/// Limits the size of files that a process writes. A truncated coverage profile would spoil all profiles.
private let limited = "export LLVM_PROFILE_FILE=/dev/null; ulimit -f 1"

/// Unchecked numbers from callers, and limits of the process.
struct NumberTests {
    @Test(arguments: [
        "new", "tmp/f", "drainq.json", "new/$first", "failed/x", ".", "new/f", "state", "state/format",
    ])
    func `commands work with a file or directory from the year 2300`(path: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(3))
        let finished = try drainq.shell(
            """
            umask 077; cd queue; first=$(ls new | head -n1); path=\(path); [[ -e $path ]] || echo '{"n":0}' >"$path"
            touch -d 2300-01-01 "$path"
            for command in run list status check 'check --repair'; do
                drainq $command >>../log 2>&1; echo "$command $?"
            done
            echo '{"n":9}' | drainq add >/dev/null; echo "add $?"
            """)
        // Every command ends. Status 75 is a warning of check about the file.
        let statuses = finished.lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        #expect(statuses.count == 6 && statuses.allSatisfy { [0, 75].contains($0) }, "\(finished.lines)")
        #expect(Set(receiver.requests().map(\.text)).isSuperset(of: (1...3).map { "{\"n\":\($0)}" }))
        #expect(try drainq.waiting() == 1)
    }

    @Test func `the largest number as limit of bytes accepts operations, and a run sends the operations`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try "{ routes: { default: { url: \"\(receiver.url)/\" } }, limits: { operationBytes: 9223372036854775807 } }"
            .write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        #expect(try drainq.run("add", input: numbered(1)).status == 0)
        try drainq.drop(Data("{\"n\":2}".utf8), as: "dropped")
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().count == 2)
    }

    @Test func `a limit on the size of files acts like a full disk: attempted operations are deferred`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(503)))
        let drainq = try Drainq(to: receiver, "retry: { schedule: [\"1s\", \"1s\", \"1s\", \"1s\"] }")
        try drainq.run("add", input: "\"\(String(repeating: "x", count: 3000))\"\n")
        for attempt in 1...3 {
            // bash counts in KiB. The file is longer already, so that no line of an attempt fits.
            let run = try drainq.shell("\(limited); exec \"$DRAINQ\" run --now -q queue")
            #expect([74, 75].contains(run.status), "\(run.status) \(run.error)")
            #expect(receiver.requests().count == attempt)
            let name = try #require(drainq.names("deferred").first)
            #expect(name.contains("a=\(attempt)") && !name.contains("i="), "\(name)")
        }
        #expect(try drainq.names("quarantine").isEmpty)
    }

    @Test func `an addition beyond the limit on the size of files is refused with the limit's name`() throws {
        let drainq = try Drainq()
        let add = try drainq.shell(
            "printf '\"%3000s\"\\n' x >input; \(limited); exec \"$DRAINQ\" add -q queue <input")
        #expect(add.status == 74 && add.error.contains("ulimit -f"), "\(add.status) \(add.error)")
        #expect(try drainq.waiting() == 0)
    }
}
