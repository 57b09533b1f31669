import Drain
import Policy
import Spool

/// Performs `drainq import`: restores operations that `export` printed, and prints each id once it is safe.
func importOperations(_ arguments: ImportArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus
{
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        let report = AddReport(verb: .import, isJSON: arguments.isJSON)
        defer { queue.log(LogEvent.evictions(report.evicted, at: .now())) }
        var importer = Importer(
            adder: Adder(
                to: queue.spool, queue.configuration,
                Adder.Options(
                    isAtomic: arguments.isAtomic, replaces: arguments.replaces, isDurable: arguments.sync.isDurable),
                clock: .ofProcess
            ) { report.take($0) })
        do {
            try importer.read(arguments.files)
            _ = try importer.adder.end()
            if arguments.isAtomic, report.entered == 0, !report.applying.isEmpty {
                throw report.nothingEntered(.first(of: report.applying))
            }
        } catch let error as AdderError {
            throw CommandFailure(error, .import)
        } catch let error as SpoolError {
            throw CommandFailure(error, hasBegun: importer.adder.hasAdded)
        }
        if report.entered == 0, report.duplicates > 0, report.applying.isEmpty {
            let command = pasted("import", "--replace")
            throw CommandFailure(
                .failed, "no operation was imported: every id is in the queue already",
                hint: "'\(command)' replaces the operations in the queue")
        }
        return .first(of: report.applying)
    }
}

/// The input of one `import`.
private struct Importer {
    /// The longest value in bytes, enough for the base64 of the largest body. A longer one is an error.
    private static let longestLine = 512 * 1_048_576

    var adder: Adder

    mutating func read(_ files: [String]) throws {
        for path in files.isEmpty ? ["-"] : files {
            do {
                try read(from: path)
            } catch {
                // The operations before the error are imported.
                try adder.pause()
                throw error
            }
        }
    }

    private mutating func read(from path: String) throws {
        let source = try InputSource(path)
        source.noteTerminal()
        var input = JSONInput(longest: Self.longestLine)
        while true {
            if !source.isReady { try adder.pause() }
            let chunk = try source.next(atMost: max(65_536, min(input.pending, 16 * 1_048_576)))
            for item in input.feed(chunk, atEnd: chunk.isEmpty) { try take(item, source.name) }
            if chunk.isEmpty { return }
            if input.pending > Self.longestLine {
                throw CommandFailure(
                    .dataInvalid, "cannot read '\(source.name)': a value is longer than \(Self.longestLine) bytes")
            }
        }
    }

    private mutating func take(_ item: JSONInput.Item, _ source: String) throws {
        switch item {
        case .bad(let text, let line, let mistake, let reason):
            try adder.refuse(
                GivenValue(text, GivenValue.Place(source: source, line: line)),
                reason: mistake == line ? reason : "\(reason) in line \(mistake)")
        case .value(let text, let line):
            let given = GivenValue(text, GivenValue.Place(source: source, line: line))
            let operation: PortableOperation
            do throws(OperationFileError) {
                operation = try PortableOperation(json: text, file: source, line: line)
            } catch {
                return try adder.refuse(given, reason: error.detail)
            }
            try adder.take(operation, given)
        }
    }
}
