import Testing

/// Imports run one way: Policy ← Spool, Delivery ← Drain ← DrainqCLI ← drainq.
struct `Who may import whom` {
    /// The modules that a target may import. A new target needs a row, and a new import a reason.
    static let allowed: [String: Set<String>] = [
        "CSystem": cLibraries.union(foundation).union(["CPlatform"]),
        "Policy": [],
        "Spool": machine.union(["Policy"]),
        "Configuration": ["Policy"],
        "SpoolWriter": machine.union(["Policy", "Configuration", "Spool"]),
        "Delivery": machine.union(["Policy", "CCurl", "CZlib"]),
        "drainq-urlsession": machine.union([
            "Policy", "Delivery", "CFoundationCurl", "Foundation", "FoundationNetworking",
        ]),
        "LoopbackReceiver": machine,
        "Drain": machine.union(["Policy", "Spool", "Delivery"]),
        "DrainqCLI": machine.union([
            "Policy", "Configuration", "Spool", "Delivery", "Drain", "LoopbackReceiver", "CManual",
        ]),
        "drainq": ["DrainqCLI"],
    ]

    static let foundation: Set<String> = ["FoundationEssentials", "Foundation"]
    static let machine: Set<String> = ["CSystem", "Dispatch", "Synchronization"]
    static let cLibraries: Set<String> = ["Glibc", "Musl", "Darwin"]

    static let reasons = [
        "CSystem": "CSystem is the C library and the few types of Foundation, and nothing else",
        "Policy": "Policy decides on values and touches no machine: pass in what it needs to know",
        "Spool":
            "the queue directory knows nothing of attempts; Spool and Delivery never meet, Drain stands between them",
        "Configuration": "drainq.json becomes values of Policy: a text in, a value or findings out",
        "SpoolWriter": "who enqueues needs the queue directory, not what sends: keep the library small",
        "Delivery":
            "attempts know nothing of the queue directory; Spool and Delivery never meet, Drain stands between them",
        "LoopbackReceiver": "the receiver plays a stranger: it must not know what drainq knows",
        "Drain": "a run receives values and returns a summary: words and statuses are DrainqCLI's",
        "drainq":
            "main.swift hands arguments to DrainqCLI and exits: what it did besides could not be tested",
    ]

    @Test(arguments: House.sources)
    func `a file imports only the modules allowed for its target`(file: SourceFile) throws {
        let allowed = try #require(
            Self.allowed[file.target], "\(file.target) is a new target: give it a row in ImportTests.allowed")
        for (module, line) in file.imports where !allowed.contains(module) {
            Issue.record(
                "\(file.path):\(line) imports \(module), but \(Self.reasons[file.target, default: "that is not its business"])"
            )
        }
    }

    @Test(arguments: House.sources + House.tests)
    func `only CSystem names a C library`(file: SourceFile) {
        if file.target == "CSystem" || file.path.hasPrefix("Tests/Benchmarks/") { return }
        let lines = file.lines { line in
            guard line.words.contains("import") || line.words.contains("canImport(") else { return false }
            return !Self.cLibraries.isDisjoint(with: line.words)
        }
        for line in lines { Issue.record("\(line)\nimport CSystem: it has the C library of every system") }
    }

    @Test(arguments: House.sources)
    func `only CSystem uses canImport`(file: SourceFile) {
        if file.target == "CSystem" { return }
        for line in file.lines(where: { $0.words.contains("canImport(") }) {
            Issue.record("\(line)\nimport CSystem: it has the C library and the types of Foundation of every system")
        }
    }

    /// A model that asked the program for the right result would find no defect.
    @Test func `the model of the simulation uses only names and times of Policy`() {
        let simulation = House.tests.filter { $0.path.hasPrefix("Tests/Simulation/Simulation/") }
        let model = simulation.filter { $0.path.contains("/Model/") }
        #expect(model.count > 20 && model.allSatisfy { $0.imports.allSatisfy { $0.module == "Policy" } })
        let own = Self.types(in: simulation)
        let decisions = Self.types(in: House.sources.filter { $0.target == "Policy" })
            .subtracting(["EntryName", "OperationID", "TypeName", "Timestamp", "Gate"]).subtracting(own)
        #expect(decisions.contains("Precedence") && decisions.contains("StormGuard"))
        for file in model {
            for line in file.lines(where: { line in
                line.words.contains { decisions.contains($0.replacing("(", with: "")) }
            }) { Issue.record("\(line)\nwrite it from the manual's sentence") }
        }
    }

    /// The names of the types that the files declare.
    private static func types(in files: [SourceFile]) -> Set<String> {
        let kinds: Set = ["struct", "enum", "class", "protocol", "typealias"]
        return Set(
            files.flatMap(\.lines).flatMap { line in
                zip(line.words, line.words.dropFirst()).filter { kinds.contains($0.0) }.map(\.1)
            })
    }

    @Test func `URLSession is in a single file of a separate program`() {
        let files = House.sources.filter { $0.imports.contains { $0.module == "FoundationNetworking" } }.map(\.path)
        #expect(
            files == ["Sources/drainq-urlsession/URLSessionTransport.swift"],
            "FoundationNetworking is behind one transport, and drainq begins several times faster without it"
        )
    }

    @Test func `libcurl is only in the files of Delivery named after libcurl`() {
        let files = House.sources.filter { $0.imports.contains { $0.module == "CCurl" } }.map(\.path)
        #expect(
            files.allSatisfy {
                $0.hasPrefix("Sources/Delivery/Transports/Curl") || $0 == "Sources/Delivery/Transports/Libcurl.swift"
            },
            "libcurl is behind one transport: what others need of it is a value")
    }

    @Test func `the search for imports finds every form of import`() {
        let file = SourceFile(
            path: "Sources/Policy/X.swift",
            text: """
                import A
                @preconcurrency import B
                package import C
                @testable @preconcurrency import D
                    import struct E.F // indented
                // import G
                let text = "import H"; important()
                case .import, `import`(I):
                """)
        #expect(file.imports.map(\.module) == ["A", "B", "C", "D", "E"])
        #expect(file.imports.last?.line == 5)
    }
}
