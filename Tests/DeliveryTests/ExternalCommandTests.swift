import Delivery
import Foundation
import Testing

struct `External commands` {
    private func run(
        _ arguments: String..., input: [UInt8] = [], environment: [String: String] = [:], directory: String = "/",
        within timeout: Duration = .seconds(20), outputLimit: Int = 1 << 20
    ) -> ExternalCommandResult {
        ExternalCommand(arguments, directory: directory, environment: ProgramEnvironment().adding(environment))
            .run(input: input, within: timeout, outputLimit: outputLimit)
    }

    @Test func `a program's input and output are complete, even at three megabytes`() {
        let input = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let result = run("cat", input: input, outputLimit: .max)
        #expect(result.failure == nil)
        #expect(result.output == input)
        #expect(!result.isCut)
    }

    @Test func `arguments reach the program unchanged, without a shell`() {
        let result = run("printf", "%s|", "a b", "$HOME", "*", "; exit 3", "ü", "")
        #expect(result.output == Array("a b|$HOME|*|; exit 3|ü||".utf8))
    }

    @Test(arguments: [
        (["false"], "exited with status 1"),
        (["sh", "-c", "exit 3"], "exited with status 3"),
        (["sh", "-c", "kill -9 $$"], "was killed by signal 9 (Killed)"),
        (["/nonexistent/program"], "cannot be started: No such file or directory"),
        (["/"], "cannot be started: Permission denied"),
        ([], "cannot be started: Invalid argument"),
    ])
    func `a failure names the exit status, the signal or the error of the start`(arguments: [String], failure: String) {
        let result = ExternalCommand(arguments, directory: "/", environment: ProgramEnvironment()).run(
            within: .seconds(120))
        #expect(result.failure == failure)
    }

    @Test func `a script without a #! line cannot be started`() throws {
        #expect(run(try executable("echo hello\n")).failure == "cannot be started: Exec format error")
    }

    @Test func `the child gets exactly the given variables`() {
        let result = run("env", environment: ["B": "2 x", "A": "1"])
        #expect(result.output == Array("A=1\nB=2 x\n".utf8))
    }

    @Test func `the child works in the given directory`() {
        let directory = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
        #expect(run("pwd", directory: directory).output == Array("\(directory)\n".utf8))
    }

    @Test func `the child has exactly the three standard descriptors`() {
        // ls opens the fourth to read the directory.
        let result = run("ls", "/proc/self/fd")
        #expect(result.output == Array("0\n1\n2\n3\n".utf8))
    }

    @Test func `the child starts with no signal ignored or blocked, and leads its own process group`() throws {
        let before = signal(SIGPIPE, SIG_IGN)
        defer { signal(SIGPIPE, before) }
        let status = String(decoding: run("cat", "/proc/self/status").output, as: UTF8.self)
        #expect(status.contains("SigBlk:\t0000000000000000\n"))
        // glibc's posix_spawn ignores its internal signals 32 and 33.
        #expect(status.contains(/SigIgn:\t0000000[01]80000000\n|SigIgn:\t0000000000000000\n/))
        let fields = String(decoding: run("cat", "/proc/self/stat").output, as: UTF8.self).split(separator: " ")
        #expect(fields[0] == fields[4])
    }

    @Test func `a program need not read its input`() {
        let input = [UInt8](repeating: 0x61, count: 1 << 20)
        #expect(run("true", input: input).failure == nil)
        // The pipe is full until its living reader closes: SIGPIPE would arrive here, were it not held back.
        #expect(run("sh", "-c", "exec <&-; printf done", input: input).output == Array("done".utf8))
    }

    @Test func `a program that neither reads its input nor ends is ended at the time-out`() {
        let result = run("sleep", "1000", input: [UInt8](repeating: 0, count: 1 << 20), within: .milliseconds(200))
        #expect(result.failure == "did not end within 200ms")
    }

    @Test func `the exit status counts after a program has closed its streams`() {
        let result = run("sh", "-c", "exec <&- >&- 2>&-; sleep 0.2; exit 7")
        #expect(result.failure == "exited with status 7")
    }

    @Test func `the beginning of endless output is kept, and the time-out ends the program`() {
        let result = run("yes", within: .seconds(5), outputLimit: 10)
        #expect(result.output == Array("y\ny\ny\ny\ny\n".utf8))
        #expect(result.isCut)
        #expect(result.ending == .timedOut(after: .seconds(5)))
    }

    @Test func `output as long as the limit is not cut`() {
        let result = run("printf", "0123456789", outputLimit: 10)
        #expect(!result.isCut)
        #expect(run("printf", "0123456789x", outputLimit: 10).isCut)
        #expect(result.output.count == 10)
    }

    @Test func `the beginning of standard error is kept`() {
        let result = run("sh", "-c", "yes error | head -n 100000 >&2; printf out")
        #expect(result.errors.count == ExternalCommandResult.errorLimit)
        #expect(result.errors.starts(with: "error\n".utf8))
        #expect(result.output == Array("out".utf8))
    }

    @Test func `a program that ignores SIGTERM is killed with all its children`() throws {
        let start = ContinuousClock.now
        let result = run(
            "sh", "-c", "trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done", within: .seconds(5))
        #expect(result.failure == "did not end within 5s")
        #expect(ContinuousClock.now - start < .seconds(60))
        let text = String(decoding: result.output, as: UTF8.self).trimmingCharacters(in: .newlines)
        let grandchild = try #require(pid_t(text))
        while isAlive(grandchild), ContinuousClock.now - start < .seconds(60) { usleep(1000) }
        #expect(!isAlive(grandchild))
    }

    @Test func `a background process that a program leaves is neither awaited nor killed`() throws {
        let start = ContinuousClock.now
        let result = run("sh", "-c", "sleep 1000 & echo $!")
        #expect(result.failure == nil)
        #expect(ContinuousClock.now - start < .seconds(60))
        let text = String(decoding: result.output, as: UTF8.self).trimmingCharacters(in: .newlines)
        let grandchild = try #require(pid_t(text))
        #expect(isAlive(grandchild))
        kill(grandchild, SIGKILL)
    }

    @Test func `finished commands leave no descriptors open`() throws {
        func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        _ = run("true")
        let before = try descriptors()
        for _ in 0..<200 { _ = run("true", input: [1]) }
        // Concurrent tests open descriptors too.
        #expect(try descriptors() < before + 200)
    }

    @Test func `descriptions of a result do not contain the program's output`() {
        let result = run("sh", "-c", "echo marker-6b1; echo marker-6b1 >&2; exit 1")
        var dumped = ""
        dump(result, to: &dumped)
        for text in ["\(result)", String(reflecting: result), dumped, "\([result])", "\(Optional(result) as Any)"] {
            #expect(!text.contains("marker-6b1"))
            #expect(!text.contains("109"), "the bytes of the output are not there as numbers either")
        }
    }

    /// Whether the process exists and is not a zombie that its new parent has not reaped yet.
    private func isAlive(_ process: pid_t) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        return !stat.contains(") Z ")
    }
}
