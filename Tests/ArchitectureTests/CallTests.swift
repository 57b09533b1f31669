import Testing

/// A thing that is done in one place, so that it is done one way.
struct Law: Sendable, CustomTestStringConvertible {
    var functions: [String]
    /// The files that may, from Sources/.
    var places: [String]
    var reason: String

    var testDescription: String { functions.joined(separator: ", ") }
}

@Suite struct `What is done in one place only` {
    static let laws = [
        Law(
            functions: ["print", "debugPrint", "dump", "fputs", "puts", "putchar", "printf", "perror", "vfprintf"],
            places: ["DrainqCLI/Messages.swift"],
            reason: "words are DrainqCLI's: return a value and let Messages.swift say it"),
        Law(
            functions: ["exit"], places: ["DrainqCLI/Messages.swift", "drainq/main.swift"],
            reason: "the exit status is decided where all that happened is known: return a value"),
        Law(
            functions: ["_exit"], places: ["DrainqCLI/Messages.swift", "Delivery/DeliveryAgent.swift"],
            reason: "only a delivery agent ends in the middle: exit(3) crashes with transfers in flight (FACTS §1)"),
        Law(
            functions: [
                "rename", "renameat", "renameat2", "renameatx_np", "csystem_rename_noreplace", "unlink", "unlinkat",
                "remove",
                "rmdir", "link", "linkat",
            ],
            // The receiver removes the socket that it has made itself.
            places: ["Spool/SystemCalls.swift", "LoopbackReceiver/LoopbackReceiver.swift"],
            reason: "rename is the transaction: call it through SystemCalls, so that a test can fail the nth"),
        Law(
            functions: ["socket", "connect", "getaddrinfo"],
            places: [
                "LoopbackReceiver/LoopbackReceiver.swift", "LoopbackReceiver/Socket.swift",
                "LoopbackReceiver/Listener.swift",
            ],
            reason: "Delivery's transports are the only code that opens a connection"),
    ]

    @Test(arguments: laws)
    func `a function is called only where it may be`(law: Law) {
        let files = House.sources.filter { !law.places.map { "Sources/\($0)" }.contains($0.path) }
        for call in files.flatMap({ $0.calls(of: law.functions) }) {
            Issue.record("\(call)\n\(law.reason)")
        }
    }

    @Test func `Foundation moves and removes no file, and writes to no stream`() {
        let pattern = /\.(moveItem|removeItem|replaceItem\w*|trashItem|linkItem)\(|\.standard(Output|Error)\b/
        for line in House.sources.flatMap({ $0.lines(matching: pattern) }) {
            Issue.record(
                "\(line)\nFileManager.moveItem is not race-free (FACTS §4), and words are DrainqCLI's: SystemCalls, Messages.swift"
            )
        }
    }

    @Test func `Policy asks no clock, no chance and no machine`() {
        let pattern =
            /\bDate\(\)|\.now\b|\b(Continuous|Suspending)Clock\(|SystemRandomNumberGenerator|FileManager|ProcessInfo|\bURLSession/
        for line in House.sources.filter({ $0.target == "Policy" }).flatMap({ $0.lines(matching: pattern) }) {
            Issue.record(
                "\(line)\ntime is an argument and chance a generator: `at now: Timestamp`, `using generator: inout some RandomNumberGenerator`"
            )
        }
    }

    @Test func `nothing is public: drainq is a program`() {
        for line in House.sources.flatMap({ $0.lines(matching: /^\s*(public|open)\s/) }) {
            Issue.record("\(line)\nwrite package, or nothing")
        }
    }

    @Test func `no type has a name that hides a noun`() {
        let pattern =
            /\b(struct|class|enum|actor|protocol|typealias) \w*(Manager|Helper|Utils?|Utility|Handler|Service|Engine|Context|Info)\b/
        for line in House.sources.flatMap({ $0.lines(matching: pattern) }) {
            Issue.record("\(line)\nwhat is it that it manages, helps or handles? Call it that")
        }
    }

    @Test func `the reader of calls sees calls and nothing else`() {
        let file = SourceFile(
            path: "Sources/Spool/X.swift",
            text: #"""
                unlink(path)
                try checked { unlinkat(1, path, 0) }
                if unlink(path) != 0 {}
                try system.unlink(path)
                func unlink(_ path: String) {}
                // unlink(path)
                let text = "unlink(path)", myunlink = unlinking(path)
                let long = """
                    unlink(path)
                    """
                Glibc.unlink(path)
                """#)
        let found = file.calls(of: ["unlink", "unlinkat"]).map { $0.split(separator: ":")[1] }
        #expect(found == ["1", "2", "3", "11"])
    }
}
