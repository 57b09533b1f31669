import Drain
import Policy
import Spool

/// `drainq export`: prints each operation with everything that belongs to it on a line, as it finds it.
struct ExportCommand: Command {
    static let name = "export"

    var ids: [String] = []
    var filter = FilterOptions()
    /// Whether `--all` is given: delivered operations are exported too.
    var isForAll = false
    /// The new file that gets the operations; `nil` for standard output.
    var file: String?
    /// Whether the exported operations leave the queue.
    var isMoving = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .all, \.isForAll, "choose every operation",
            "Chooses every operation that waits or has failed, and the kept copies of delivered ones.")
        Option(
            .to, .file("FILE"), \.file, "write to this new file",
            """
            Writes the operations to this file instead of standard output, readable by you alone, and syncs the file \
            and its directory. The file must not exist.
            """)
        Option(
            .thenDrop, \.isMoving, "then remove them from the queue",
            """
            Removes the exported operations from the queue once the file of --to is safe on disk; if it cannot be \
            written, the queue keeps every operation. Operations that are in flight are not exported then. An \
            operation that a run claims meanwhile is in the file, stays in the queue, and is reported; the status is \
            then 1.
            """)
        FilterOptions.options.map { $0.within(\.filter) }
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }

    static let description = CommandDescription(
        Self.self, "print complete operations",
        """
        Prints one line of JSON for each operation, with everything that its file and its file name say: its header, \
        its body byte for byte, its attempts, its state and when it is due. `drainq import` makes the same operation \
        of the line. Without ids, filters or --all the command prints every operation that waits or has failed. It \
        removes operations only with --then-drop.

        The body is in `payload` if it is JSON on one line, else in `bodyBase64`; a body in a file of its own stays \
        there. You may edit the lines, also the body. Some versions of `jq` rewrite numbers of more than 17 digits, \
        and numbers such as 1.10, anywhere in a line.

        A file in quarantine is not an operation; the command does not export it. While a run works on the queue, the \
        output can lack an operation or have it twice, and the run may still deliver an exported operation that is in \
        flight: use `drainq pause` first.
        """,
        operands: .optionalSelection,
        onlyPrints: true,
        examples: [
            Example("drainq export > backup.ndjson", "export the waiting and failed operations"),
            Example(
                "drainq export --state failed | jq -c '.payload.version = 2' | drainq import -q /var/spool/other",
                "edit failed operations, and import them into another queue"),
            Example("drainq export --type crm --to moved.ndjson --then-drop", "move the operations of a type out"),
        ])

    func perform(environment: [String: String]) throws(CommandFailure) -> ExitStatus {
        try failing {
            if isMoving, self.file == nil {
                throw CommandFailure(
                    .usage, "'--then-drop' needs '--to'", hint: "drainq export --to FILE --then-drop")
            }
            let queue = try OpenQueue(self.queue, environment)
            let file = try self.file.map {
                try ExportFile(creating: $0.hasPrefix("/") ? $0 : "\(absolutePath("."))/\($0)", besides: queue.spool)
            }
            var exportation = Exporter(queue: queue, file: file, isMoving: isMoving)
            if ids.isEmpty {
                try exportation.perform(self)
            } else {
                try exportation.perform(try namedTargets(ids))
            }
            try file?.finish()
            if isMoving, let file = self.file {
                try exportation.drop(savedIn: file, isQuiet: verbosity.isQuiet)
            }
            if !verbosity.isQuiet { exportation.reportOmissions() }
            return .first(of: exportation.applying)
        }
    }
}

/// The work of one `export`. Keeps one operation in memory at a time, and names only while their directory is read,
/// or to drop the operations in the end.
private struct Exporter {
    let queue: OpenQueue
    /// The file that gets the operations; `nil` for standard output.
    private let file: ExportFile?
    private let isMoving: Bool
    /// The exported operations, if they are to be dropped.
    private var exported: [Entry] = []
    private(set) var applying: Set<ExitStatus> = []
    private var claimed = 0
    private var bodyFiles = 0
    private var foreign = 0
    private var quarantined = 0

    init(queue: OpenQueue, file: ExportFile?, isMoving: Bool) {
        (self.queue, self.file, self.isMoving) = (queue, file, isMoving)
    }

    mutating func perform(_ command: ExportCommand) throws {
        let known = try queue.knownDestinations()
        let waitingAndFailed: Set<ShownState> = [.new, .deferred, .claimed, .held, .failed]
        let filter = try OperationFilter(
            command.filter,
            states: command.isForAll && !isMoving ? waitingAndFailed.union([.delivered]) : waitingAndFailed,
            of: known, now: .now())
        if isMoving, filter.states.contains(.delivered) {
            throw CommandFailure(
                .usage, "cannot drop the copies of delivered operations",
                hint: "retention.delivered in drainq-config(5) says how long the queue keeps them")
        }
        if filter.states.contains(.quarantined) {
            throw CommandFailure(
                .usage, "cannot export files in quarantine: they are not operations",
                hint: "'\(pasted("retry", "--state", "quarantined"))' reads them again")
        }
        for state in QueueState.allCases where filter.states.contains(where: { $0.queueStates.contains(state) }) {
            var failure: (any Error)?
            var moved: [OperationID] = []
            let others = try queue.spool.forEachEntry(in: state) { entry in
                guard failure == nil, filter.includes(entry, known) else { return }
                do { if try !write(entry, filter) { moved.append(entry.name.id) } } catch { failure = error }
            }
            if let failure { throw failure }
            if state == .new { foreign = others }
            // Runs have claimed these operations, or put them back, since the listing.
            for case .operation(let entry) in try queue.spool.found(moved.map { .id($0) }).values.joined()
            where filter.includes(entry, known) {
                _ = try write(entry, filter)
            }
        }
        if !command.filter.isGiven { quarantined = try queue.spool.quarantined().count }
    }

    mutating func perform(_ targets: [NamedTarget]) throws {
        let found = try queue.spool.found(targets)
        for target in targets {
            guard let found = found[target] else {
                applying.insert(.failed)
                Messages.error("cannot export '\(target)': no such operation in the queue", hint: target.hint)
                continue
            }
            for one in found {
                switch one {
                case .operation(let entry): _ = try write(entry)
                case .quarantined:
                    applying.insert(.failed)
                    Messages.error(
                        "cannot export '\(target)': it is in quarantine, and not an operation",
                        hint: pasted("show", target.description))
                }
            }
        }
    }

    /// Prints the operation if it passes the filter. Returns false if its file is gone.
    private mutating func write(_ entry: Entry, _ filter: OperationFilter? = nil) throws -> Bool {
        if let filter, filter.needsContent, !filter.includes(try queue.spool.attempts(of: entry)) { return true }
        if isMoving, entry.state == .claimed {
            claimed += 1
            return true
        }
        guard let result = try queue.spool.portable(entry) else { return false }
        let line: [UInt8]
        do throws(OperationFileError) {
            let operation = try result.get()
            line = try operation.line()
            if entry.state == .claimed { claimed += 1 }
            if operation.header.bodyFile != nil { bodyFiles += 1 }
        } catch {
            if case .newerFormat = error.kind { applying.insert(.configuration) } else { applying.insert(.dataInvalid) }
            Messages.error("cannot export '\(entry.path)': \(error.detail)", hint: pasted("check"))
            return true
        }
        if let file { try file.append(line) } else { standardOutput.write(bytes: line) }
        if isMoving { exported.append(entry) }
        return true
    }

    /// Drops the exported operations: the file is safe on disk. One that a run has claimed meanwhile stays.
    mutating func drop(savedIn file: String, isQuiet: Bool) throws {
        var dropped: [String] = []
        var count = 0
        var kept: [(id: String, reason: String)] = []
        var change = OperationChange(.drop(), in: queue.spool, queue.configuration, clock: .ofProcess) { event in
            switch event {
            case .changed(let entry, due: _):
                count += 1
                if dropped.count < LogEvent.mostIDs { dropped.append("\(entry.name.id)") }
            case .refused(let entry, let objection): kept.append(("\(entry.name.id)", objection.words))
            case .released(let count): reportReleased(count, isQuiet: isQuiet)
            case .missing, .unread, .skipped, .changedFile, .refusedFile, .fileGone, .madeRoom: break
            }
        }
        defer { queue.log(ExportCommand.name, of: dropped, count: count) }
        do throws(SpoolError) {
            try change.perform(on: .entries(exported))
        } catch {
            throw CommandFailure(error, hasBegun: change.hasBegun)
        }
        for (id, reason) in kept {
            applying.insert(.failed)
            Messages.error("'\(id)' is in '\(file)', and still in the queue: \(reason)", hint: pasted("show", id))
        }
        if !isQuiet { Messages.notice("\(InWords.count(count, "operation")) moved to '\(file)'") }
    }

    func reportOmissions() {
        if claimed > 0 {
            Messages.notice(
                isMoving
                    ? "\(InWords.are(claimed, "operation")) in flight, and not exported"
                    : "\(InWords.are(claimed, "exported operation")) in flight: the run may still deliver them")
        }
        if bodyFiles > 0 {
            Messages.notice("\(InWords.are(bodyFiles, "body file")) not exported: the output has only the paths")
        }
        if foreign > 0 {
            Messages.notice(
                "\(InWords.are(foreign, "file in 'new'", "files in 'new'")) not exported: a run has to read 'new' first"
            )
        }
        if quarantined > 0 {
            Messages.notice(
                "\(InWords.are(quarantined, "file in quarantine", "files in quarantine")) not exported: '\(pasted("list", "--state", "quarantined"))' lists them"
            )
        }
    }
}
