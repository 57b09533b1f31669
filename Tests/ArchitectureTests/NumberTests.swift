import Testing

/// Where the code names a number that came from outside.
struct ForeignNumber: Sendable, CustomTestStringConvertible {
    /// What a line of code has in it that names one.
    var names: [String]
    var origin: String

    var testDescription: String { origin }
}

/// Numbers from outside are any numbers, and Swift's operators and conversions end the process where a result does not fit.
///
/// What these rules see is a line that names such a number, by one of the names below. They do not see one that was given
/// another name first: whoever reads a new kind of number adds its name here.
struct `Numbers never trap` {
    static let foreign = [
        ForeignNumber(
            names: [
                "status.size", "st_size", "st_nlink", "st_dev", "st_ino", "tv_sec", "tv_nsec", "f_bavail", "f_frsize",
                "modifiedNanoseconds", "csystem_modified", "csystem_changed", "freeBytes", "free -", "free +",
            ],
            origin: "the file system"),
        ForeignNumber(
            names: [
                "operationBytes", "minimumFree", "limits.operations", "limits.bytes", "answerLimit", "maxBytes",
            ],
            origin: "a configuration"),
        ForeignNumber(
            names: [
                "timeIntervalSince1970", "wholeMicroseconds", "boundedComponents", "inSeconds", "moment.microseconds",
                "time.microseconds", "createdAt.microseconds",
            ],
            origin: "a clock, or a time or duration that was read"),
        ForeignNumber(
            names: [".integer(", "durationMs", "file.length", "bodyFile.length", "file.modified", "retryAfter {"],
            origin: "an operation's file"),
    ]

    /// What looks unchecked and is in range all the same: a file, a piece of the line, and why.
    static let inRange = [
        ("Spool/Admission/AdmissionControl.swift", "free -= size", "size is that of bytes in memory"),
        (
            "Spool/Admission/AdmissionControl.swift", "waiting.operations + batch.operations >= limit",
            "operations are counted one by one, not read"
        ),
        ("Policy/Answers/BackoffSchedule+Next.swift", "inSeconds * factor", "floating point; no factor is above 2"),
        ("DrainqCLI/Output/InWords.swift", "inSeconds * 1000", "floating point"),
        ("DrainqCLI/Output/Timestamp+Now.swift", "timeIntervalSince1970 * 1_000_000", "floating point"),
        ("DrainqCLI/Commands/ReceivedLine.swift", "request.arrival - start", "moments of one process"),
        ("SpoolWriter/NewOperation.swift", "timeIntervalSince1970 * 1_000_000", "floating point"),
        ("DrainqCLI/Commands/WatchedStatus.swift", ".now() + interval.inSeconds", "Dispatch saturates"),
        ("drainq-urlsession/URLSessionTransport.swift", "patience.inSeconds.rounded(.up) + 1", "floating point"),
        ("Delivery/Transports/OpenBodyFile.swift", "file.length - offset", "the offset is within the length"),
        ("Delivery/Transports/OpenBodyFile.swift", "offset + count == file.length", "count is at most what is left"),
        ("Policy/Requests/BatchDraft.swift", "bytes + item.count < batch.maxBytes", "both are bytes in memory"),
    ]

    /// An operator that traps, or a conversion without a word that says what happens to a number that does not fit.
    static func isUnchecked(_ code: String) -> Bool {
        let conversion = #/\bU?Int(8|16|32|64)?\((?!clamping:|exactly:|saturating:|truncatingIfNeeded:|bitPattern:|\))/#
        return code.contains(#/ (\+|-|\*|\+=|-=|\*=) /#) || code.contains(conversion)
    }

    @Test(arguments: foreign)
    func `arithmetic on a number from outside saturates`(number: ForeignNumber) {
        for file in House.sources where file.path != "Sources/Policy/Saturation.swift" {
            let proved = Self.inRange.filter { file.path == "Sources/\($0.0)" }.map(\.1)
            let lines = file.lines { line in
                number.names.contains(where: line.code.contains) && Self.isUnchecked(line.code)
                    && !line.code.contains("static let") && !proved.contains(where: line.code.contains)
            }
            for line in lines {
                Issue.record(
                    """
                    \(line)
                    this comes from \(number.origin) and can be any number: +| -| *| and Int(clamping:), Int(saturating:) \
                    (Policy/Saturation.swift), or a row of inRange that says why it fits
                    """)
            }
        }
    }

    @Test func `a fraction becomes a whole number by saturating`() {
        for file in House.sources where file.path != "Sources/Policy/Saturation.swift" {
            let conversion = #/\bU?Int(8|16|32|64)?\((?!saturating:).*\.rounded\(/#
            for line in file.lines(where: { $0.code.contains(conversion) }) {
                Issue.record("\(line)\na fraction can be infinite, or none: Int(saturating:)")
            }
        }
    }

    @Test func `a duration is taken apart where it is bounded`() {
        // The receiver knows nothing of Policy; its durations are those of its script.
        for file in House.sources where file.target != "LoopbackReceiver" && !file.path.hasSuffix("/Timestamp.swift") {
            for line in file.lines(where: { $0.words.contains("attoseconds") && $0.code.contains(#/\bcomponents\b/#) })
            {
                Issue.record("\(line)\n`components` traps beyond 64 bits of seconds: `boundedComponents`")
            }
        }
    }

    @Test func `what the system says of a file is read in few places`() {
        let fields = ["st_size", "st_mtim", "st_ctim", "st_mtimespec", "tv_sec", "tv_nsec", "f_bavail", "f_blocks"]
        let places = ["Spool/FileSystem/SystemCalls.swift", "Delivery/Transports/OpenBodyFile.swift"].map {
            "Sources/\($0)"
        }
        for file in House.sources where !places.contains(file.path) {
            for line in file.lines(where: { line in fields.contains { line.words.contains(".\($0)") } }) {
                Issue.record("\(line)\nask SystemCalls.status: its numbers are bounded")
            }
        }
    }

    @Test func `a reason that a number is in range has a line that it is for`() {
        for (path, code, reason) in Self.inRange {
            let file = House.sources.first { $0.path == "Sources/\(path)" }
            #expect(file?.lines.contains { $0.code.contains(code) } == true, "\(path): \(code) (\(reason))")
        }
    }

    @Test(arguments: [
        ("status.size + 1", true), ("limit -= 1", true), ("Int(status.st_size)", true), ("UInt32(x)", true),
        ("status.size +| 1", false), ("Int(clamping: status.st_size)", false), ("[UInt8]()", false),
        ("Timestamp(microseconds: 0)", false), ("a &- b", false), ("-1", false),
    ])
    func `the reader of arithmetic sees what can trap`(code: String, isUnchecked: Bool) {
        #expect(Self.isUnchecked(code) == isUnchecked)
    }
}

/// Paths are bytes: `String(raw:)` keeps them, and a call that got their text would find another file.
struct `Paths are bytes` {
    @Test func `a system call gets a path as bytes`() {
        let calls: Set = ["open(", "openat(", "stat(", "access(", "realpath(", "strdup(", "opendir(", "mkdir("]
        // The first has pointers already, the others name files of the kernel.
        let places = [
            "Spool/FileSystem/SystemCalls.swift", "Spool/FileSystem/FileSystem+Read.swift",
            "Delivery/Surroundings/KernelFile.swift",
        ]
        for file in House.sources where !["Policy", "LoopbackReceiver", "Drain"].contains(file.target) {
            if places.contains(where: { file.path == "Sources/\($0)" }) { continue }
            let lines = file.lines { line in
                !calls.isDisjoint(with: line.words) && !line.words.contains("func")
                    && !line.code.contains(#/(open|stat|access|realpath)\((""|\)|[a-z]+, &path|path, R_OK|running)/#)
                    && !line.words.contains(".rawCString")
            }
            for line in lines { Issue.record("\(line)\npath.rawCString: a path need not be text") }
        }
    }
}
