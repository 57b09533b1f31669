import Foundation
import Policy
import Testing

@testable import Simulation

/// The program, built together with the tests.
private let program: URL = {
    var directory = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    func isThere() -> Bool {
        FileManager.default.isExecutableFile(atPath: directory.appending(path: "simulate").path)
    }
    while directory.path != "/", !isThere() { directory.deleteLastPathComponent() }
    return directory.appending(path: "simulate")
}()

private let known = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../known.txt")
    .standardizedFileURL

/// Runs `simulate`, and returns the exit status and the output.
private func simulate(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment["LLVM_PROFILE_FILE"]?.replace("%m.%p", with: "%4m")
    process.environment = environment
    let (output, error) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = error
    // The text on standard error is shorter than a pipe's buffer.
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let words = try error.fileHandleForReading.readToEnd() ?? Data()
    return (process.terminationStatus, String(decoding: text, as: UTF8.self), String(decoding: words, as: UTF8.self))
}

@Test func `no history breaks a sentence, except by a known defect`() throws {
    let played = try simulate(
        "--seeds", "0..<8", "--known", known.path, "--story", "--jobs",
        "\(max(2, ProcessInfo.processInfo.activeProcessorCount))")
    let told = Comment(rawValue: played.output + played.error)
    #expect(played.status == 0, told)
    for workload in Workload.allCases {
        #expect(played.output.contains("ok \(workload.rawValue): 8 histories"), told)
    }
}

@Test(arguments: [
    ("key", 1_795_903_661), ("newest", 1_796_400_030), ("newest", 1_795_903_978), ("hosts", 1_796_400_007),
    ("chains", 1_795_904_053), ("send", 1_795_903_709), ("chains", 1_795_903_749), ("newest", 1_796_400_000),
    ("limits", 1_795_900_152), ("merge", 1_795_919_824), ("chains", 1_795_919_859), ("strict", 1_795_920_752),
    ("import", 1_795_920_888), ("hosts", 1_795_920_839), ("plain", 1_795_921_835), ("storms", 1_795_921_854),
    ("plain", 1_795_924_789), ("limits", 1_795_924_893), ("foreign", 1_795_924_890), ("batches", 442), ("key", 237),
    ("chains", 1_795_922_572), ("key", 1_795_923_495), ("foreign", 1_795_923_545), ("foreign", 1_795_923_558),
    ("operators", 1_795_923_753), ("foreign", 1_795_924_405), ("send", 1_796_140_162),
    ("merge", 1_796_137_226),
])
func `a history that once broke a sentence breaks none`(workload: String, seed: Int) throws {
    let played = try simulate("--workload", workload, "--seeds", "\(seed)")
    #expect(played.status == 0, Comment(rawValue: played.output))
}

@Test func `the same seed gives the same history, and different seeds give different histories`() throws {
    func digest(_ seeds: String, _ jobs: String) throws -> String {
        let line = try simulate("--workload", "mixed", "--seeds", seeds, "--jobs", jobs).output
            .split(separator: "\n").last
        return try #require(line?.split(separator: " ").last.map(String.init))
    }
    let first = try digest("0..<4", "1")
    #expect(try digest("0..<4", "2") == first)
    #expect(try digest("4..<8", "1") != first)
}

@Test func `an unknown workload, range of seeds or option is a usage error`() throws {
    for (arguments, words) in [
        (["--workload", "nonsense"], "no workload 'nonsense'"), (["--workload", "merge,"], "no workload ''"),
        (["--seeds", "5..<5"], "'5..<5' is neither a seed nor a range"),
        (["--seeds", "-1"], "'-1' is neither a seed nor a range"), (["--seeds"], "--seeds: its value is missing"),
        (["--jobs", "0"], "'0' is not a number from 1 to 64"), (["--faster"], "no option '--faster'"),
        (["--known", "/nonexistent"], "no file '/nonexistent'"),
    ] {
        let ended =
            switch arguments.count {
            case 1: try simulate(arguments[0])
            default: try simulate(arguments[0], arguments[1])
            }
        #expect(ended.status == 64)
        #expect(ended.error.contains(words), "\(ended.error)")
        #expect(ended.output.isEmpty)
    }
}

@Test func `a known defect has a workload, a property, an example and words`() throws {
    let defects = try KnownDefects(
        """
        # a comment

        * | byte for byte | merge 7 | A member is lost.
        send|repeats|send 0|It is sent twice | after a kill.
        """)
    #expect(defects.entries.map(\.line) == [3, 4])
    #expect(defects.entries.map(\.words) == ["A member is lost.", "It is sent twice | after a kill."])
    func found(_ workload: String, _ property: String) -> Found {
        Found(workload: workload, seed: 9, property: property, sentence: "", schedule: "")
    }
    #expect(defects.contains(found("merge", "byte for byte")))
    #expect(defects.contains(found("send", "repeats")))
    #expect(!defects.contains(found("merge", "repeats")))
    for line in [
        "* | byte for byte | merge 7", "* | nonsense | merge 7 | words", "all | repeats | merge 7 | words",
        "* | repeats | merge | words", "* | repeats | merge x | words", "* | repeats | merge 7 |",
    ] {
        #expect(throws: UsageError.self) { try KnownDefects(line) }
    }
}

@Test func `a known defect whose example is good fails the campaign`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "known-\(UUID().uuidString).txt")
    try "plain | atomic | plain 0 | It never was one.\n".write(to: file, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let ended = try simulate("--workload", "plain", "--seeds", "0", "--known", file.path)
    #expect(ended.status == 1)
    #expect(ended.output.contains("not ok known defects, line 1: plain 0 no longer breaks 'atomic'"))
}

/// Tells the story of a real history that breaks a sentence. On a file system that orders only the changes of each
/// directory, a power cut may lose an operation just claimed by a run.
@Test func `a history that breaks a sentence is shrunk to a story of some twenty lines`() throws {
    let told = try simulate(
        "--worker", "--tell", "kept", "--workload", "merge", "--seeds", "0..<200", "--weak", "--tries", "150")
    let words = Comment(rawValue: told.output + told.error)
    let lines = told.output.split(separator: "\n")
    let head = try #require(lines.first?.split { !$0.isNumber }.compactMap { Int($0) }, words)
    // The seed, then processes, operations and faults after and before.
    try #require(head.count == 7, words)
    #expect(zip(head[1...3], head[4...6]).allSatisfy { $0 <= $1 }, words)
    #expect(head[1] + head[2] < head[4] + head[5], words)
    #expect((6...25).contains(lines.count), words)
    for part in ["  the routes: ", "hands in #", "the power is cut", "broken: kept: operation"] {
        #expect(told.output.contains(part), words)
    }
}
