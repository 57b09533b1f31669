import Testing

/// The one door out of the queue (`Departure`), and the files beside it that rename or remove.
struct `The one door out` {
    /// How many calls of `unlink`, `link` and `rename` a file of Spool has, and what they concern. A call that takes an
    /// operation out of the six directories belongs in Departure.swift.
    static let calls = [
        "Admission/CommittedBatch.swift": (1, "the file 'committed' of a writer"),
        "Admission/ScratchDirectory.swift": (3, "files of a writer in tmp/, or of a directory in quarantine/"),
        "Admission/SpoolRun+Admit.swift": (2, "new/ to claimed/, and to a name in new/ that listings skip"),
        "Claims/LockedDirectory.swift": (3, "the directories of runs and their lock files"),
        "Claims/SpoolRun.swift": (1, "new/ or deferred/ to claimed/"),
        "FileSystem/SpoolDirectory+Files.swift": (7, "`move` and `replace`, and a new file that could not be written"),
        "FileSystem/SpoolDirectory+Publish.swift": (2, "files outside the queue"),
        "FileSystem/SpoolDirectory+State.swift": (2, "state/"),
        "Log/SpoolDirectory+Log.swift": (1, "state/log/"),
        "Operator/ExportFile.swift": (1, "files outside the queue"),
        "Operator/SpoolDirectory+Operator.swift": (1, "the reasons beside files in quarantine/"),
        "Operator/SpoolDirectory+Quarantine.swift": (2, "the reasons beside files in quarantine/"),
        "Repair/SpoolDirectory+Repair.swift": (2, "state/, and the reasons beside files in quarantine/"),
        "Settling/Departure.swift": (2, "the door"),
        "Settling/SpoolDirectory+Kept.swift": (2, "state/keys/"),
        "SpoolDirectory.swift": (1, "the file 'paused'"),
    ]

    /// How many moves a file of Spool has (`move`, `replace`), and between which rows of the table of states.
    static let moves = [
        "Admission/CommittedBatch.swift": (1, "the file 'committed' of a writer"),
        "Admission/SpoolDirectory+Readmit.swift": (2, "Q to N or D"),
        "Admission/SpoolDirectory+Write.swift": (3, "W to N, D, X, K or C, and back to W before the promise"),
        "Admission/SpoolRun+Admit.swift": (4, "C to C, N or F"),
        "FileSystem/SpoolDirectory+Files.swift": (3, "`move` itself"),
        "FileSystem/SpoolDirectory+Publish.swift": (1, "files outside the queue"),
        "FileSystem/SpoolDirectory+State.swift": (1, "state/"),
        "Log/SpoolDirectory+Log.swift": (1, "state/log/"),
        "Operator/SpoolDirectory+Operator.swift": (6, "between N, D, X and Q, under the names lock"),
        "Operator/SpoolDirectory+Quarantine.swift": (1, "any row to Q"),
        "Recovery/SpoolRun+Recover.swift": (3, "C of a dead run to C or F"),
        "Repair/SpoolDirectory+Repair.swift": (1, "two files of a directory in tmp/"),
        "Settling/Departure+Delivered.swift": (2, "C to K, with a `Delivery`, also over the copy of an earlier life"),
        "Settling/Departure.swift": (1, "the door"),
        "Settling/SpoolRun+Settle.swift": (1, "C to N, D or X"),
        "Settling/SpoolRun+Withhold.swift": (1, "X to C"),
    ]

    private static func count(_ words: Set<String>) -> [String: Int] {
        var counts: [String: Int] = [:]
        for file in House.sources where file.target == "Spool" && !file.path.hasSuffix("/SystemCalls.swift") {
            let count = file.lines.reduce(0) { count, line in
                line.words.contains("func") ? count : count + line.words.count(where: words.contains)
            }
            if count > 0 { counts[String(file.path.dropFirst("Sources/Spool/".count))] = count }
        }
        return counts
    }

    @Test func `nothing leaves the queue beside its one door`() {
        let found = Self.count([".unlink(", ".link(", ".rename(", ".renameNoReplace("])
        #expect(found == Self.calls.mapValues(\.0), "say in this table what the call concerns, or use Departure")
    }

    @Test func `each file that moves operations names the rows`() {
        let found = Self.count([".move(", "move(", "moveOnce(", "moveIfThere(", ".replace(", "replace("])
        #expect(found == Self.moves.mapValues(\.0), "say in this table between which rows the call moves files")
    }

    @Test func `each way out has its evidence in the table at the head of the door`() {
        let text = House.text("Sources/Spool/Settling/Departure.swift")
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("/// | ") }
        let evidence = text.matches(of: /\n    case [a-zA-Z]+\(([A-Z][A-Za-z]+)\)/).map(\.1)
        #expect(evidence.count == 8)
        for type in evidence {
            let row = rows.first { $0.contains("| `\(type)` |") }
            #expect(row?.contains("| type") == true, "\(type)")
            let makers = House.sources.filter { $0.target == "Spool" }.filter { file in
                House.text(file.path).contains("struct \(type): ~Copyable")
            }
            #expect(makers.count == 1 && House.text(makers[0].path).contains("fileprivate init("), "\(type)")
        }
    }
}
