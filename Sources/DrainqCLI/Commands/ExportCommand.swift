import Drain
import Policy
import Spool

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
    var global = GlobalOptions()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .all, \.isForAll, "choose every operation",
            "Chooses every operation that waits or has failed, and the kept copies of delivered ones.")
        Option(
            .to, .file("FILE"), \.file, "write to this new file",
            """
            Writes the operations to this file instead of standard output, readable by you alone, and syncs the file \
            and its directory. The file must not exist, and must be outside of the queue's directory.
            """)
        Option(
            .thenDrop, \.isMoving, "then remove them from the queue",
            """
            Removes the exported operations from the queue once the file of --to is safe on disk; if it cannot be \
            written, the queue keeps every operation. An operation that is in flight is not exported then. An \
            operation that a run claims meanwhile, or that another command changes or replaces, is in the file. Both \
            stay in the queue and are reported, and the status is then 1.
            """)
        FilterOptions.options.map { $0.within(\.filter) }
        GlobalOptions.optionsButJSON.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "print complete operations",
        """
        Prints one line of JSON for each operation, with everything that its file and its file name say: its header, \
        its body byte for byte, its attempts, its state and when it is due. `drainq import` makes the same operation \
        of the line. Without ids, filters or --all the command prints every operation that waits or has failed. It \
        removes operations only with --then-drop.

        The body is in `payload` if it is JSON on one line, else in `bodyBase64`; a body in a file of its own stays \
        there, and kept values stay in the queue. You may edit the lines. To replace a body in `bodyBase64`, remove \
        this field and add `payload`. Some versions of `jq` rewrite numbers of more than 17 digits, and numbers such as 1.10, \
        anywhere in a line.

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

    func perform(environment: [String: String]) throws -> ExitStatus {
        if isMoving, self.file == nil {
            throw CommandFailure(.usage, "'--then-drop' needs '--to'", hint: "drainq export --to FILE --then-drop")
        }
        let queue = try OpenQueue(global, environment)
        let file = try self.file.map { (name) throws in
            let path = name.hasPrefix("/") ? name : "\(absolutePath("."))/\(name)"
            if try queue.spool.contains(path) {
                throw CommandFailure(
                    .usage, "cannot export to '\(name)': runs sweep and send what is in the queue's directory",
                    hint: "name a file outside of '\(queue.spool.path)'")
            }
            return try ExportFile(creating: path, besides: queue.spool)
        }
        let report = ExportReport(queue: queue, file: file, isMoving: isMoving)
        var export = OperationExport(from: queue.spool, isMoving: isMoving) { (event) throws(SpoolError) in
            try report.take(event)
        }
        if ids.isEmpty {
            let known = try queue.knownDestinations()
            try export.perform(try chosen(of: known), known)
            if report.isEmpty, export.claimed + export.foreign == 0, filter.isGiven, !global.verbosity.isQuiet {
                try queue.reportNoMatch(filter, known)
            }
        } else {
            try export.perform(try namedTargets(ids))
        }
        try file?.finish()
        // Who has not got the lines has not seen the operations.
        if standardOutput.finish() == nil { queue.noteSeen(export.seen) }
        if isMoving, let file = self.file {
            try report.drop(export.saved, in: file, isQuiet: global.verbosity.isQuiet)
        }
        if !global.verbosity.isQuiet {
            let isOfAll = ids.isEmpty && !filter.isGiven
            report.reportOmissions(export, quarantined: isOfAll ? try queue.spool.quarantined().count : 0)
        }
        return .first(of: report.applying)
    }

    private func chosen(of known: KnownDestinations) throws -> OperationFilter {
        let waitingAndFailed: Set<ShownState> = [.new, .deferred, .claimed, .held, .failed]
        let filter = try OperationFilter(
            self.filter, states: isForAll && !isMoving ? waitingAndFailed.union([.delivered]) : waitingAndFailed,
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
        return filter
    }
}

/// The output and the messages of one `export`.
private final class ExportReport {
    private let queue: OpenQueue
    /// The file that gets the operations; `nil` for standard output.
    private let file: ExportFile?
    private let isMoving: Bool
    private(set) var applying: Set<ExitStatus> = []
    /// Whether no operation was exported or refused.
    private(set) var isEmpty = true

    init(queue: OpenQueue, file: ExportFile?, isMoving: Bool) {
        (self.queue, self.file, self.isMoving) = (queue, file, isMoving)
    }

    func take(_ event: OperationExport.Event) throws(SpoolError) {
        isEmpty = false
        switch event {
        case .line(let line): if let file { try file.append(line) } else { standardOutput.write(bytes: line) }
        case .missing(let target):
            applying.insert(.failed)
            Messages.error("cannot export '\(target)': no such operation in the queue", hint: target.hint)
        case .quarantined(let target):
            applying.insert(.failed)
            Messages.error(
                "cannot export '\(target)': it is in quarantine, and not an operation",
                hint: pasted("show", target.description))
        case .claimed(let target):
            applying.insert(.failed)
            Messages.error("cannot move '\(target)': it is in flight", hint: pasted("pause"))
        case .unusable(let entry, let error):
            if case .newerFormat = error.kind { applying.insert(.configuration) } else { applying.insert(.dataInvalid) }
            Messages.error("cannot export '\(entry.path)': \(error.detail)", hint: pasted("check"))
        }
    }

    /// Drops the exported operations: the file is safe on disk. An operation that a process has claimed, changed or
    /// replaced meanwhile stays.
    func drop(_ saved: [SavedOperation], in file: String, isQuiet: Bool) throws {
        var dropped: [String] = []
        var count = 0
        var kept: [(id: String, objection: OperatorAction.Objection)] = []
        var change = OperationChange(.drop(), in: queue.spool, queue.configuration, clock: .ofProcess) { event in
            switch event {
            case .changed(let entry, due: _):
                count += 1
                if dropped.count < LogEvent.mostIDs { dropped.append("\(entry.name.id)") }
            case .refused(let entry, let objection): kept.append(("\(entry.name.id)", objection))
            case .released(let count): reportReleased(count, isQuiet: isQuiet)
            case .missing, .unread, .skipped, .changedFile, .refusedFile, .leftFile, .fileGone, .madeRoom: break
            }
        }
        defer { queue.log("\(ExportCommand.name) --then-drop", of: dropped, count: count) }
        do throws(SpoolError) {
            try change.perform(on: .saved(saved))
        } catch {
            throw CommandFailure(error, hasBegun: change.hasBegun)
        }
        for (id, objection) in kept {
            applying.insert(.failed)
            let place = objection == .isGone ? "has left the queue meanwhile" : "still in the queue: \(objection.words)"
            Messages.error("'\(id)' is in '\(file)', and \(place)", hint: pasted("show", id))
        }
        if !isQuiet { Messages.notice("\(InWords.count(count, "operation")) moved to '\(file)'") }
    }

    func reportOmissions(_ export: OperationExport, quarantined: Int) {
        let (claimed, bodyFiles, foreign) = (export.claimed, export.bodyFiles, export.foreign)
        if claimed > 0 {
            Messages.notice("\(InWords.are(claimed, "exported operation")) in flight: the run may still deliver them")
        }
        if bodyFiles > 0 {
            Messages.notice("\(InWords.are(bodyFiles, "body file")) not exported: the output has only the paths")
        }
        let senders = export.types.filter { !queue.configuration.route(of: $0.key).keptNames.isEmpty }
            .reduce(0) { $0 + $1.value }
        if senders > 0 {
            Messages.notice(
                "kept values are not exported: \(InWords.are(senders, "exported operation")) to send them")
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
