import Foundation
import LoopbackReceiver
import Scratch
import Testing

/// The built program, beside the test bundle.
let builtProgram: URL = {
    var directory = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    while directory.path != "/", !FileManager.default.isExecutableFile(atPath: directory.appending(path: "drainq").path)
    {
        directory.deleteLastPathComponent()
    }
    return directory.appending(path: "drainq")
}()

/// The status and the output of a finished process.
struct Finished {
    var status: Int32
    var output: String
    var error: String
    var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A queue in a new directory for a test. Runs the program on the queue.
final class Drainq {
    let directory: URL
    var queue: URL { directory.appending(path: "queue") }
    /// Variables for the started processes, in addition to this process's own.
    var environment: [String: String] = [:]

    /// `configuration` replaces the drainq.json of `init`; `nil` keeps the file.
    init(_ configuration: String? = nil) throws {
        directory = Scratch.directory.appending(path: "drainq-e2e-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try #require(try run("init").status == 0)
        if let configuration {
            try configuration.write(to: queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        }
    }

    /// A queue whose default route goes to the receiver.
    convenience init(to receiver: LoopbackReceiver, _ more: String = "") throws {
        try self.init("{ routes: { default: { url: \"\(receiver.url)/{type}\", \(more) } } }")
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// Runs the program to its end. Standard input and the outputs are files, never a terminal.
    @discardableResult
    func run(_ arguments: String..., input: String = "") throws -> Finished {
        try start(arguments, input: input).finish()
    }

    func start(_ arguments: String..., input: String = "") throws -> Started {
        try start(arguments, input: input)
    }

    /// Starts the program. With `standardError`, the caller reads standard error instead of `finish`.
    func start(
        _ arguments: [String], input: String, standardError: FileHandle? = nil, program: URL? = nil
    ) throws -> Started {
        try Started(
            arguments, input: input, standardError: standardError, queue: queue, directory: directory,
            environment: environment, program: program)
    }

    /// Runs a bash script with `drainq` as the program and this queue as the default.
    func shell(_ script: String) throws -> Finished {
        try Started(
            ["-c", "drainq() { \"$DRAINQ\" \"$@\"; }; export -f drainq; cd \"$WORK\"; \(script)"], input: "",
            queue: queue, directory: directory, environment: ["DRAINQ": builtProgram.path, "WORK": directory.path],
            program: URL(filePath: "/bin/bash")
        ).finish()
    }

    /// The names of the operations in a directory of the queue.
    func names(_ state: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: queue.appending(path: state).path).sorted()
    }

    /// How many operations wait: new, deferred or claimed.
    func waiting() throws -> Int {
        let claimed = try names("claimed").reduce(0) { count, run in
            try count + names("claimed/\(run)").count { $0.hasSuffix(".json") }
        }
        return try names("new").count + names("deferred").count + claimed
    }

    /// Puts a file into `new/` as another program would: written elsewhere, then renamed.
    func drop(_ contents: Data, as name: String) throws {
        let temporary = directory.appending(path: UUID().uuidString)
        try contents.write(to: temporary)
        try FileManager.default.moveItem(at: temporary, to: queue.appending(path: "new/\(name)"))
    }
}

/// Lets SIGHUP reach the program: under nohup(1) the tests ignore SIGHUP, and a child inherits the disposition.
private func stopIgnoringHangups() {
    signal(SIGHUP, SIG_DFL)
}

/// A started process.
final class Started {
    let process = Process()
    private let directory: URL
    private let stem = UUID().uuidString
    /// The file of the standard output.
    var output: URL { directory.appending(path: "\(stem).out") }

    init(
        _ arguments: [String], input: String, standardError: FileHandle? = nil, queue: URL, directory: URL,
        environment added: [String: String], program: URL? = nil
    ) throws {
        self.directory = directory
        process.executableURL = program ?? builtProgram
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        environment["DRAINQ_QUEUE"] = queue.path
        environment["SWIFT_BACKTRACE"] = "enable=no"
        // The processes add their coverage to four files. With a file for each process, merging the files at the end took
        // about two fifths of the CPU time of these tests.
        environment["LLVM_PROFILE_FILE"]?.replace("%m.%p", with: "%4m")
        environment.merge(added) { $1 }
        process.environment = environment
        let stem = directory.appending(path: stem).path
        for (suffix, text) in [("in", input), ("out", ""), ("err", "")] {
            try text.write(toFile: "\(stem).\(suffix)", atomically: false, encoding: .utf8)
        }
        process.standardInput = FileHandle(forReadingAtPath: "\(stem).in")
        process.standardOutput = FileHandle(forWritingAtPath: "\(stem).out")
        process.standardError = standardError ?? FileHandle(forWritingAtPath: "\(stem).err")
        stopIgnoringHangups()
        try process.run()
    }

    /// Waits for the end. Kills a hanging process after five minutes, so that the status shows the hang.
    func finish() throws -> Finished {
        let pid = process.processIdentifier
        let guardian = DispatchWorkItem { kill(pid, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 300, execute: guardian)
        process.waitUntilExit()
        guardian.cancel()
        let stem = directory.appending(path: stem).path
        return Finished(
            status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
            output: try String(contentsOfFile: "\(stem).out", encoding: .utf8),
            error: try String(contentsOfFile: "\(stem).err", encoding: .utf8))
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }
}

/// `{"n":1}` … `{"n":count}`, each on a line.
func numbered(_ count: Int) -> String {
    (1...count).map { "{\"n\":\($0)}\n" }.joined()
}
