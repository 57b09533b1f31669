import Drain
import Policy
import Spool

/// The input of `add` and `send` as operations: from a JSON value, a body, or a file that stays where it is.
struct OperationInput {
    /// One operation of the input, or a refused part of it.
    enum Item {
        case operation(Given)
        /// A part that is no operation.
        case refused(GivenValue, reason: String)
        case refusedFile(String, BodyFileRefusal)
    }

    struct Given {
        var operation: Operation
        /// Whether the user chose the id: the same id in the queue then means the same operation.
        var hasOwnID: Bool
        /// The value of the input that became the operation.
        var value: GivenValue
        /// The time of the input; the times of one input increase.
        var at: Timestamp

        /// The value in a message: the id that the user chose, or else its place.
        var name: String { hasOwnID ? "'\(operation.header.id)'" : "\(value.place)" }

        var submission: Submission {
            Submission(operation, hasOwnID: hasOwnID, at: at, isDated: operation.header.createdAt != at)
        }
    }

    /// The longest value in bytes. A longer one is a bad part before it fills the memory: its buffer doubles as it
    /// grows, and for one of 256 MiB would double once more.
    private static let longestValue = 255 * 1_048_576

    /// Returns the queue with the configuration of the moment.
    private let queue: () -> OpenQueue
    private let options: InputOptions
    private let reading: Reading
    private var times = SubmissionClock()
    /// The time of the last header.
    private var at = Timestamp(microseconds: 0)
    private var values = 0
    /// The field names that the command has warned of.
    private var warned: Set<String> = []
    private var hasSeenPlainText = false
    private var hasSeenArray = false

    init(queue: @autoclosure @escaping () -> OpenQueue, options: InputOptions, reading: Reading) {
        self.queue = queue
        self.options = options
        self.reading = reading
    }

    /// Reads the sources that the command line names, else standard input. Calls `pause` if the next part of the input
    /// may come late, and before it throws. Reads nothing if no operation can be sent with the options.
    ///
    /// If the command line names an id, reads the whole input first: only its end shows that there is one operation.
    mutating func read(_ take: (Item) throws -> Void, pause: () throws -> Void = {}) throws {
        if let due = reading.notBefore, let end = reading.expiresAt, end <= due {
            throw CommandFailure(.usage, "the operations would expire before they are due")
        }
        if let refusal = AdmissionRule(queue().configuration).objection(toOptions: reading) {
            throw CommandFailure(
                .usage, "no operation can be sent with these options: \(refusal)", hint: "drainq has read no input")
        }
        guard options.id != nil else { return try readSources(take, pause) }
        var items: [Item] = []
        try readSources({ items.append($0) }, {})
        if values > 1 {
            throw CommandFailure(
                .usage, "--id is for a single operation", hint: "with --envelope each operation can have an id")
        }
        for item in items { try take(item) }
    }

    private mutating func readSources(_ take: (Item) throws -> Void, _ pause: () throws -> Void) throws {
        let files = options.bodyFiles
        if let operand = options.files.first, !files.isEmpty {
            throw CommandFailure(
                .usage, "'\(operand)' and '--body-file' exclude each other",
                hint: "drainq reads operands now, and the file of --body-file when it sends the operation")
        }
        for path in files { try read(bodyFile: path, take) }
        let paths = options.files.isEmpty && files.isEmpty ? ["-"] : options.files
        try InputSource.forEach(paths, pause: pause) { try read(from: $0, take, pause) }
    }

    // MARK: - Sources

    private mutating func read(
        from source: InputSource, _ take: (Item) throws -> Void, _ pause: () throws -> Void
    ) throws {
        if options.contentType != nil, !options.isEnvelope {
            if !source.isReady { try pause() }
            // The whole source is one body, whatever its bytes are.
            let body = try source.all(upTo: Self.longestValue)
            return try read(GivenValue(body, GivenValue.Place(source: source.name, line: 1)), take)
        }
        try source.forEachValue(upTo: Self.longestValue, pause: pause) { given, reason in
            hint(at: given)
            try take(.refused(given, reason: reason))
        } take: { given in
            if given.text.first == UInt8(ascii: "["), !(options.isEnvelope && !options.isEach) {
                if options.isEach { return try readEach(of: given, take) }
                noteArray(source.name)
            }
            try read(given, take)
        }
    }

    /// Reads the elements of an array, each as a value of its own.
    private mutating func readEach(of array: GivenValue, _ take: (Item) throws -> Void) throws {
        let text = array.text
        var elements: [Range<Int>] = []
        _ = try? JSONScanner.forEachElement(of: text, in: 0..<text.count) { elements.append($0) }
        var (place, offset) = (array.place, 0)
        for element in elements {
            place.line += text[offset..<element.lowerBound].count { $0 == UInt8(ascii: "\n") }
            offset = element.lowerBound
            try read(GivenValue(Array(text[element]), place), take)
        }
    }

    /// Says once that an array is one operation.
    private mutating func noteArray(_ source: String) {
        if hasSeenArray { return }
        hasSeenArray = true
        Messages.notice("'\(source)' has a JSON array, which is one operation; --each adds its elements")
    }

    private mutating func read(_ given: GivenValue, _ take: (Item) throws -> Void) throws {
        let (text, place) = (given.text, given.place)
        let id = newID()
        var fault: (path: String, refusal: BodyFileRefusal)?
        let (operation, hasOwnID): (Operation, Bool)
        do throws(OperationFileError) {
            (operation, hasOwnID) = try reading.operation(
                from: text, id: id, createdAt: at, file: place.source, line: place.line
            ) { path in
                let result = examine(bodyFile: path)
                if case .failure(let refusal) = result, refusal.isFault { fault = (path, refusal) }
                return result
            }
        } catch {
            values += 1
            // The value may be an operation: it is no bad line.
            if let fault { return try take(.refusedFile(fault.path, fault.refusal)) }
            return try take(.refused(given, reason: error.detail))
        }
        if options.isEnvelope { warn(of: operation.header.unknown.map(\.name), place) }
        try give(given, operation, hasOwnID: hasOwnID, take)
    }

    /// Warns once of each unknown field whose name resembles one of an operation. The operation keeps the field.
    private mutating func warn(of unknown: [String], _ place: GivenValue.Place) {
        for name in unknown where warned.count < 10 && !warned.contains(name) {
            guard let meant = nearest(to: name, in: Envelope.fields) else { continue }
            warned.insert(name)
            Messages.warning(
                "\(place): '\(name)' is not a known field of an operation and has no effect",
                hint: "did you mean '\(meant)'?")
        }
    }

    /// Says once how plain text becomes an operation.
    private mutating func hint(at given: GivenValue) {
        guard !hasSeenPlainText, let first = given.text.first(where: { !$0.isJSONWhitespace }), first.isASCIILetter
        else { return }
        hasSeenPlainText = true
        Messages.warning(
            "\(given.place) looks like plain text, and not like JSON",
            hint: "'jq -R .' makes each line a JSON string; '--content-type text/plain' makes the whole input one body")
    }

    /// Makes an operation whose body is the file, which stays where it is.
    private mutating func read(bodyFile path: String, _ take: (Item) throws -> Void) throws {
        switch examine(bodyFile: path.utf8.first == UInt8(ascii: "/") ? path : "\(absolutePath("."))/\(path)") {
        case .success(let file):
            let header = OperationHeader(id: newID(), type: .default, createdAt: at, contentType: nil, bodyFile: file)
            var operation = Operation(header: header, body: [])
            let given = GivenValue([], GivenValue.Place(source: path, line: 1))
            do throws(RequestError) { try reading.override(&operation) } catch {
                values += 1
                return try take(.refused(given, reason: "\(error)"))
            }
            try give(given, operation, hasOwnID: false, take)
        case .failure(let refusal): try take(.refusedFile(path, refusal))
        }
    }

    private func examine(bodyFile path: String) -> Result<BodyFile, BodyFileRefusal> {
        let queue = queue()
        return queue.spool.bodyFile(at: path, roots: queue.configuration.bodyFileRoots)
    }

    // MARK: - Operations

    private mutating func give(
        _ given: GivenValue, _ operation: Operation, hasOwnID: Bool, _ take: (Item) throws -> Void
    ) throws {
        values += 1
        if options.id != nil, values > 1 { return }
        let hasOwnID = hasOwnID || options.id != nil
        try take(.operation(Given(operation: operation, hasOwnID: hasOwnID, value: given, at: at)))
    }

    /// Returns the id of the next operation. Its time, `at`, is later than the times before.
    private mutating func newID() -> OperationID {
        at = times.next(now: .now())
        return options.id ?? .random()
    }
}

extension BodyFileRefusal {
    /// Whether the system failed to read the file, which may be usable.
    var isFault: Bool { fault != nil }

    /// The exit status of a command whose input names the file.
    var status: ExitStatus { isFault ? .inputOutput : .dataInvalid }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
