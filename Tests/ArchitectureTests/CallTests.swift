import Testing

/// Functions with a single place, so that all code uses them the same way.
struct Law: Sendable, CustomTestStringConvertible {
    var functions: [String]
    /// The files that may call the functions, relative to Sources/.
    var places: [String]
    var reason: String

    var testDescription: String { functions.joined(separator: ", ") }
}

struct `What is done in one place only` {
    static let laws = [
        Law(
            functions: ["print", "debugPrint", "dump", "fputs", "puts", "putchar", "printf", "perror", "vfprintf"],
            places: ["DrainqCLI/Output/Messages.swift"],
            reason: "words are DrainqCLI's: return a value and let Messages.swift say it"),
        Law(
            functions: ["exit"],
            places: ["DrainqCLI/Output/Messages.swift", "drainq/main.swift", "drainq-urlsession/main.swift"],
            reason: "the exit status is decided where all that happened is known: return a value"),
        Law(
            functions: ["_exit"], places: ["DrainqCLI/Output/Messages.swift", "Delivery/Agents/DeliveryAgent.swift"],
            reason: "only a delivery agent ends in the middle: exit(3) crashes with transfers in flight"),
        Law(
            functions: [
                "rename", "renameat", "renameat2", "renameatx_np", "csystem_rename_noreplace", "unlink", "unlinkat",
                "rmdir", "link", "linkat",
            ],
            places: ["Spool/FileSystem/SystemCalls.swift"],
            reason: "rename is the transaction: call it through SystemCalls, so that a test can fail the nth"),
        Law(
            functions: ["posix_spawn", "posix_spawnp", "execve", "execvp", "fork", "vfork", "popen"],
            places: ["Delivery/Spawn.swift"],
            reason: "Spawn starts each program with a ProgramEnvironment, which has no credentials"),
        Law(
            functions: ["Precedence", "FailedSequences"],
            places: ["Drain/Choosing/QueueView.swift", "Drain/Status/KnownDestinations.swift"],
            reason: "QueueView is the one reader of order: ask for a standing"),
        Law(
            functions: ["socket", "connect", "getaddrinfo"],
            places: ["LoopbackReceiver/LoopbackReceiver.swift", "LoopbackReceiver/Responder.swift"],
            reason: "Delivery's transports are the only code that opens a connection"),
    ]

    @Test(arguments: laws)
    func `a function is called only in its allowed files`(law: Law) {
        let files = House.sources.filter { !law.places.map { "Sources/\($0)" }.contains($0.path) }
        for call in files.flatMap({ $0.calls(of: law.functions) }) {
            Issue.record("\(call)\n\(law.reason)")
        }
    }

    @Test(arguments: [
        Law(
            functions: [".moveItem(", ".removeItem(", ".replaceItem(", ".replaceItemAt(", ".trashItem(", ".linkItem("],
            // The demo removes its own temporary directory.
            places: ["DrainqCLI/Commands/DemoCommand.swift"],
            reason: "FileManager.moveItem is not race-free: only SystemCalls renames and unlinks"),
        Law(
            functions: [".readState(", ".updateState(", ".writeState("],
            places: [
                "Drain/State/StateFile.swift", "Spool/SpoolDirectory.swift",
                "Spool/FileSystem/SpoolDirectory+State.swift",
            ],
            reason: "what runs remember is a case of StateFile: one list of the files of state/"),
        Law(
            functions: [".standardOutput", ".standardError"], places: ["DrainqCLI/Output/Messages.swift"],
            reason: "words are DrainqCLI's: return a value and let Messages.swift say it"),
    ])
    func `a member is called only in its allowed files`(law: Law) {
        for file in House.sources where !law.places.contains(where: { "Sources/\($0)" == file.path }) {
            for line in file.lines(where: { $0.words.contains(where: law.functions.contains) }) {
                Issue.record("\(line)\n\(law.reason)")
            }
        }
    }

    @Test func `Policy reads no clock, no random numbers and no machine`() {
        let words: Set = [
            ".now", "ContinuousClock", "ContinuousClock(", "SuspendingClock", "SuspendingClock(",
            "SystemRandomNumberGenerator", "SystemRandomNumberGenerator(", "FileManager", "ProcessInfo", "URLSession",
        ]
        for file in House.sources where file.target == "Policy" {
            for line in file.lines(where: { !words.isDisjoint(with: $0.words) || $0.has("Date()") }) {
                Issue.record(
                    """
                    \(line)
                    time is an argument and chance a generator: `at now: Timestamp`, `using: inout some RandomNumberGenerator`
                    """)
            }
        }
    }

    /// The files of a target that may read the machine's clocks and random numbers. The rest of the target gets both
    /// from these files.
    static let origins = [
        "Spool": ["FileSystem/SystemCalls.swift"],
        "Drain": ["Surroundings/RunClock+Process.swift"],
        "SpoolWriter": ["WriterSurroundings.swift"],
        "DrainqCLI": ["Output/Timestamp+Now.swift", "Queue/OpenQueue+World.swift"],
        "Configuration": [],
    ]

    @Test(arguments: origins)
    func `a target reads clocks and random numbers only in its allowed files`(target: String, places: [String]) {
        let others = House.sources.filter {
            $0.target == target && !places.map { "Sources/\(target)/\($0)" }.contains($0.path)
        }
        for line in others.flatMap({ $0.lines(where: Self.readsTheMachine) }) {
            Issue.record(
                "\(line)\nclocks and chance come from outside: SystemCalls, RunClock, World, WriterSurroundings")
        }
    }

    /// Whether a line reads a clock of the machine or a random number: `.now` of a clock, `Date()`, `UUID()`, the
    /// system's generator, or `random(in:)` without a generator.
    static func readsTheMachine(_ line: SourceFile.Line) -> Bool {
        line.has("SystemRandomNumberGenerator")
            || ["Date()", "UUID()", ".random("].contains(where: line.has)
                && line.code.contains(#/\b(Date|UUID)\(\)|\.random\(in:(?!.*using:)|\b(Bool|Int)\.random\(\)/#)
            || line.has(".now")
                && line.code.contains(#/(?:Clock|Date|Instant|DispatchTime|^|[ (\[{])\.now(?![A-Za-z0-9_(,])/#)
    }

    @Test(arguments: [
        ("let now = ContinuousClock.now", true), ("init(now: Instant = .now) {", true), ("{ .now }", true),
        ("deadline - .now", true), ("Date()", true), ("Int.random(in: 0..<4)", true), ("UUID().uuidString", true),
        ("SystemRandomNumberGenerator()", true), ("Bool.random()", true), ("Timestamp.now()", false),
        ("self.now = now", false), ("settings(at: .now())", false), ("Int.random(in: 0..<4, using: &chance)", false),
        ("system.random()", false), ("Date(timeIntervalSince1970: 1)", false),
    ])
    func `the search for clocks and random numbers finds only these`(code: String, isFound: Bool) {
        let file = SourceFile(path: "Sources/Spool/X.swift", text: code)
        #expect(Self.readsTheMachine(file.lines[0]) == isFound)
    }

    @Test func `only SpoolWriter has public declarations`() {
        let sources = House.sources.filter { $0.target != "SpoolWriter" }
        for line in sources.flatMap({ $0.lines { $0.words.first == "public" || $0.code.hasPrefix("open ") } }) {
            Issue.record("\(line)\nwrite package, or nothing")
        }
    }

    /// The state of a run is in three move-only structures, which `Passes` owns and hands on `inout`. A class is for a
    /// table that all of them share, for a resource, or for a value that many places refer to.
    @Test func `the state of a run is in three structures and few shared objects`() {
        let drain = House.sources.filter { $0.target == "Drain" }.flatMap(\.lines)
        let structures = drain.filter { $0.code.hasPrefix("struct ") && $0.code.hasSuffix(": ~Copyable {") }
        let owned: Set = ["Choice", "Dispatch", "Settling", "Passes", "SendRun", "Listing"]
        #expect(Set(structures.map { $0.words[1].filter { $0 != ":" } }) == owned)
        let shared: Set = [
            "RunTally", "DestinationBook", "MachineConditions", "RequestSender", "RunDestination", "DestinationLimits",
            "RequestMaker", "Candidate", "Kind", "OwnExpiries", "KeptLookup",
            "SplitBatch", "CredentialWork", "Attempt", "Member", "Made", "AttemptEvent",
        ]
        let classes = drain.compactMap { line -> String? in
            guard let word = line.words.firstIndex(of: "class"), word + 1 < line.words.count else { return nil }
            return String(line.words[word + 1])
        }
        #expect(Set(classes) == shared)
    }

    /// A type made of many things may hide a second noun. Tables, formats and surroundings need many.
    @Test func `few initialisers have six parameters or more`() {
        let long = House.sources.filter { file in
            let code = file.lines.map(\.code).joined(separator: " ")
            return code.ranges(of: " init(").contains { Self.countOfParameters(in: code[$0.upperBound...]) >= 6 }
        }
        #expect(long.count > 10 && long.count <= 30, "\(long.count) files: \(long.map(\.path))")
    }

    /// The number of parameters before the parenthesis that ends them.
    static func countOfParameters(in code: Substring) -> Int {
        var (depth, count) = (1, 1)
        for byte in code.utf8 {
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ",") where depth == 1: count += 1
            default: break
            }
            if depth == 0 { break }
        }
        return count
    }

    @Test(arguments: [("a: Int)", 1), ("_ a: (Int, Int), b: [Int: Int] = [:]) { f(1, 2)", 2), ("a: A, b: B, c: C)", 3)])
    func `the reader of parameters counts them`(code: String, count: Int) {
        #expect(Self.countOfParameters(in: code[...]) == count)
    }

    @Test func `no type is named Manager, Helper, Handler or the like`() {
        let kinds: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]
        let hiding = [
            "Manager", "Helper", "Util", "Utils", "Utility", "Handler", "Service", "Engine", "Context", "Info",
        ]
        for file in House.sources {
            let lines = file.lines { line in
                zip(line.words, line.words.dropFirst()).contains { kind, name in
                    kinds.contains(kind) && hiding.contains(where: name.hasSuffix)
                }
            }
            for line in lines { Issue.record("\(line)\nwhat is it that it manages, helps or handles? Call it that") }
        }
    }

    @Test func `the search for calls finds only calls`() {
        let file = SourceFile(
            path: "Sources/Spool/X.swift",
            text: #"""
                unlink(path)
                try checked { unlinkat(1, path, 0) }
                if unlink(path) != 0 {}
                try system.unlink(path)
                func rmdir(_ path: String) {}
                rmdir(path)
                // unlink(path)
                let text = "unlink(path)", myunlink = unlinking(path)
                let long = """
                    unlink(path)
                    """
                CSystem.unlink(path)
                """#)
        let found = file.calls(of: ["unlink", "unlinkat", "rmdir"]).map { $0.split(separator: ":")[1] }
        #expect(found == ["1", "2", "3", "12"])
    }

    /// Calls whose only error is an invalid text.
    private static let readers = [
        "JSONScanner.", "scanner.next()", "OperationFields(", "decodeHeader(", "OperationFile.split(", "JSONDocument(",
        "JSONDecoder()", "encoder.encode(", "fields.", "answer.",
    ]
    /// Calls that tidy up. A sweep or the end of the process removes the rest.
    private static let tidying = ["close(", "unlock(", "unlink(", "removeDirectory("]

    @Test(arguments: House.sources.filter { ["Drain", "Spool"].contains($0.target) })
    func `every optional try reads a text, tidies up or has a comment`(file: SourceFile) {
        if file.path.hasPrefix("Sources/Spool/Format/") { return }
        let text = House.text(file.path).split(separator: "\n", omittingEmptySubsequences: false)
        for line in file.lines {
            guard line.has("try?"), let call = line.code.firstMatch(of: /(?:^|[^A-Za-z])try\? (.*)/)?.1 else {
                continue
            }
            let tidies = Self.tidying.contains {
                call.hasPrefix("system.\($0)") || call.hasPrefix("queue.system.\($0)")
            }
            let reads = Self.readers.contains { call.contains($0) }
            let isNamed = line.number > 1 && text[line.number - 2].contains("// try?: ")
            if !tidies, !reads, !isNamed {
                Issue.record(
                    "\(file.path):\(line.number): \(line.code)\nhandle the error, or say in a line `// try?: …` above why it means the same"
                )
            }
        }
    }
}
