import Testing

/// A kind of number from outside, by its names in the code.
struct ForeignNumber: Sendable, CustomTestStringConvertible {
    /// The texts in a line of code that name the number.
    var names: [String]
    var origin: String

    var testDescription: String { origin }
}

/// Numbers from outside can be any numbers. Swift's operators and conversions end the process if a result does not fit.
///
/// These rules find a line with a name of such a number, from the list below. They do not find a number under a new
/// name: code that reads a new kind of number needs its name here.
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

    /// Code that looks unchecked but is in range: a file, a piece of the line, and the reason.
    static let inRange = [
        ("Spool/Admission/AdmissionRoom.swift", "free -= size", "size is that of bytes in memory"),
        (
            "Spool/Admission/AdmissionRoom.swift", "operations + new > max(limit, before.operations)",
            "operations are counted one by one, not read"
        ),
        ("Policy/Answers/BackoffSchedule+Next.swift", "inSeconds * factor", "floating point; no factor is above 2"),
        ("DrainqCLI/Output/InWords.swift", "inSeconds * 1000", "floating point"),
        ("DrainqCLI/Output/Timestamp+Now.swift", "timeIntervalSince1970 * 1_000_000", "floating point"),
        ("DrainqCLI/Commands/ReceivedLine.swift", "request.arrival - start", "moments of one process"),
        ("SpoolWriter/NewOperation.swift", "timeIntervalSince1970 * 1_000_000", "floating point"),
        ("Delivery/Transports/OpenBodyFile.swift", "file.length - offset", "the offset is within the length"),
        ("Delivery/Transports/OpenBodyFile.swift", "offset + count == file.length", "count is at most what is left"),
        ("Policy/Requests/BatchDraft.swift", "bytes + item.count < batch.maxBytes", "both are bytes in memory"),
    ]

    /// Whether the code has an operator that traps, or a conversion without a label for numbers out of range.
    static func isUnchecked(_ code: String) -> Bool {
        let conversion = #/\bU?Int(8|16|32|64)?\((?!clamping:|exactly:|saturating:|truncatingIfNeeded:|bitPattern:|\))/#
        return code.contains(#/ (\+|-|\*|\+=|-=|\*=) /#) || code.contains(conversion)
    }

    @Test(arguments: foreign)
    func `arithmetic on a number from outside saturates`(number: ForeignNumber) {
        for file in House.sources where file.path != "Sources/Policy/Saturation.swift" {
            let proved = Self.inRange.filter { file.path == "Sources/\($0.0)" }.map(\.1)
            let lines = file.lines { line in
                number.names.contains(where: line.has) && Self.isUnchecked(line.code)
                    && !line.has("static let") && !proved.contains(where: line.has)
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

    @Test func `a rounded floating-point number is converted by saturating`() {
        for file in House.sources where file.path != "Sources/Policy/Saturation.swift" {
            let conversion = #/\bU?Int(8|16|32|64)?\((?!saturating:).*\.rounded\(/#
            for line in file.lines(where: { $0.has(".rounded(") && $0.code.contains(conversion) }) {
                Issue.record("\(line)\na fraction can be infinite, or none: Int(saturating:)")
            }
        }
    }

    @Test func `a duration is taken apart only by boundedComponents`() {
        // The receiver does not import Policy. Its durations come from its script.
        for file in House.sources where file.target != "LoopbackReceiver" && !file.path.hasSuffix("/Timestamp.swift") {
            for line in file.lines(where: { $0.words.contains("attoseconds") && $0.code.contains(#/\bcomponents\b/#) })
            {
                Issue.record("\(line)\n`components` traps beyond 64 bits of seconds: `boundedComponents`")
            }
        }
    }

    @Test func `the fields of a file's status are read only in the allowed files`() {
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

    @Test func `every row of inRange matches a line of its file`() {
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
    func `the search for arithmetic finds operations that can trap`(code: String, isUnchecked: Bool) {
        #expect(Self.isUnchecked(code) == isUnchecked)
    }
}

/// Paths are bytes: `String(raw:)` keeps them, and a call with their text would find a different file.
struct `Paths are bytes` {
    @Test func `a system call gets a path as bytes`() {
        let calls: Set = ["open(", "openat(", "stat(", "access(", "realpath(", "strdup(", "opendir(", "mkdir("]
        // The first file has pointers already. The rest name files of the kernel.
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
