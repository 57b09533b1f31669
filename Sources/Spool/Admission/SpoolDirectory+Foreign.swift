import CSystem
package import Policy

/// Reads files of other programs as operations.
extension SpoolDirectory {
    /// Returns the bytes of a file in quarantine, to show them; none if the file is gone, is no file, or is longer than
    /// `limit`.
    package func content(of item: QuarantineItem, limit: Int = 1 << 20) throws(SpoolError) -> [UInt8] {
        try attempt("read", item.path) { () throws(Errno) in
            if case .bytes(let bytes, _) = try content(item.path, limit: limit) { bytes } else { [] }
        }
    }

    /// Returns the header of the operation that a file in quarantine is, or would be; `nil` if it has no readable one.
    package func header(of item: QuarantineItem) throws(SpoolError) -> OperationHeader? {
        let bytes = try content(of: item, limit: Self.readLimit)
        if !item.isOperation {
            guard let reading = item.reading else { return nil }
            // try?: a defect of its content may be the reason why the file is in quarantine.
            return try? question(in: bytes, reading, file: item.fileName).header
        }
        guard let headerEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        // try?: as above.
        return try? OperationFile.decodeHeader(bytes, in: 0..<headerEnd, file: item.fileName).0
    }

    /// Returns the name in quarantine of a command's input: it has what is known of the operation that the input asks
    /// for. `nil` if its type is not known, and for a replacement, which asks for no operation of its own.
    func inputName(of bytes: [UInt8], _ reading: Reading, _ rule: AdmissionRule) -> EntryName? {
        if reading.form == .replacement { return nil }
        // try?: the options alone may say what the input asks for.
        if var asked = try? question(in: bytes, reading, file: "") {
            rule.setKey(of: &asked)
            return asked.inputName
        }
        guard let type = reading.fixedType, let id = reading.id, let createdAt = reading.createdAt else { return nil }
        let header = OperationHeader(
            id: id, type: type, createdAt: createdAt, key: reading.fixedKey, url: reading.url)
        return Submission(Operation(header: header, body: []), hasOwnID: true, at: createdAt, isDated: true).inputName
    }

    /// Returns what bytes in quarantine without a record look like. An envelope may have headers with credentials: it
    /// is not to be sent as a payload.
    package func likelyForm(of item: QuarantineItem) throws(SpoolError) -> Reading.Form {
        let bytes = try content(of: item, limit: Self.readLimit)
        // try?: what is neither is a payload.
        return [.export, .envelope].first { (try? question(in: bytes, Reading($0), file: item.fileName)) != nil }
            ?? .payload
    }

    /// Returns the submission that bytes ask for, whether or not their body file can be used.
    private func question(
        in bytes: [UInt8], _ reading: Reading, file: String
    ) throws(OperationFileError) -> Submission {
        try submission(of: bytes, reading, file: file, Timestamp(microseconds: 0)) { path in
            .success(BodyFile(path: path, length: 0, modified: 0, inode: 0))
        }
    }

    /// Returns the submission that bytes in quarantine ask for, as the command read them, and under the id and the time
    /// of then. A file of another program is for `foreignOperation`, except to show it.
    func submission(
        of bytes: [UInt8], _ reading: Reading, file: String, _ now: Timestamp,
        bodyFile: (String) -> Result<BodyFile, BodyFileRefusal>
    ) throws(OperationFileError) -> Submission {
        let value = reading.form == .body ? bytes : Array(bytes[try Self.onlyValue(in: bytes, file: file)])
        // A file without an id shows none.
        let id = reading.id ?? OperationID("-")!
        let createdAt = reading.createdAt ?? now
        switch reading.form {
        case .export, .replacement:
            return Submission(try PortableOperation(json: value, file: file, line: 1), at: now)
        case .foreign:
            let operation = try Envelope.operation(
                from: value, in: 0..<value.count, file: file, defaults: .init(id: id, createdAt: createdAt),
                bodyFile: bodyFile
            ).operation
            return Submission(operation, hasOwnID: true, at: now, isDated: true)
        case .payload, .body, .envelope:
            let operation = try reading.operation(
                from: value, id: id, createdAt: createdAt, file: file, bodyFile: bodyFile
            ).operation
            return Submission(operation, hasOwnID: true, at: now, isDated: true)
        }
    }

    /// Reads the one JSON value in a foreign file as an operation. A failure says why the file is no operation. Throws
    /// a system error that is not the file's fault. `reading` is that of a file in quarantine, which may have its id
    /// and time.
    func foreignOperation(
        in bytes: [UInt8], _ status: FileStatus, file: String, _ now: Timestamp, _ roots: [String],
        reading: Reading? = nil, mayBeCopy: Bool = false
    ) throws(Errno) -> Result<Submission, OperationFileError> {
        func refused(_ reason: String) -> Result<Submission, OperationFileError> {
            .failure(OperationFileError(file: file, line: 1, reason: reason))
        }
        if mayBeCopy, let copy = try copy(in: bytes, status) {
            return .success(Submission(copy, hasOwnID: true, at: now, isDated: true))
        }
        if status.links > 1 { return refused("it has \(status.links) names (hard links)") }
        let range: Range<Int>
        do throws(OperationFileError) { range = try Self.onlyValue(in: bytes, file: file) } catch {
            return .failure(error)
        }
        let isStranger = try !knowsOwner(of: status)
        var systemError: Errno?
        func examine(_ path: String) -> Result<BodyFile, BodyFileRefusal> {
            if isStranger { return .failure(.notTheirs) }
            let result = bodyFile(at: path, roots: roots)
            if case .failure(let refusal) = result, let error = refusal.fault { systemError = error }
            return result
        }
        let created = reading?.createdAt ?? status.creation(at: now)
        var generator = system.generator
        let id = reading?.id ?? .random(using: &generator)
        let defaults = Envelope.Defaults(id: id, createdAt: created)
        let (operation, hasOwnID): (Operation, Bool)
        do throws(OperationFileError) {
            (operation, hasOwnID) = try Envelope.operation(
                from: bytes, in: range, file: file, defaults: defaults, bodyFile: examine)
        } catch {
            if let systemError { throw systemError }
            return .failure(error)
        }
        if isStranger, operation.header.bodyFile != nil {
            return refused("field 'bodyFile': \(BodyFileRefusal.notTheirs)")
        }
        return .success(
            Submission(
                operation, hasOwnID: hasOwnID || reading != nil, at: now,
                isDated: reading != nil || operation.header.createdAt != created))
    }

    /// Returns the extent of the one JSON value in a file. Throws why there is none, or more than one.
    static func onlyValue(in bytes: [UInt8], file: String) throws(OperationFileError) -> Range<Int> {
        func refused(_ reason: String) -> OperationFileError { OperationFileError(file: file, line: 1, reason: reason) }
        if bytes.isEmpty { throw refused("it is empty") }
        if let offset = bytes.firstIndex(of: 0) { throw refused("it has a NUL at byte \(offset)") }
        if String(validating: bytes, as: UTF8.self) == nil { throw refused("it is not valid UTF-8") }
        var scanner = JSONScanner(bytes, from: ByteOrderMark.length(in: bytes))
        let value: Range<Int>?
        do throws(JSONSyntaxError) { value = try scanner.next() } catch {
            let isTruncated = bytes[error.offset...].allSatisfy(\.isJSONWhitespace)
            throw refused((isTruncated ? "it is truncated: " : "") + error.description(in: bytes))
        }
        guard let value else { throw refused("it is empty") }
        guard bytes[value.upperBound...].allSatisfy(\.isJSONWhitespace) else {
            throw refused("more than one JSON value")
        }
        return value
    }

    /// Returns the operation in a file without a canonical name, if the file is drainq's copy of a foreign file, left
    /// by a run that died before it named the copy; `nil` for a foreign file. The checksum proves that the copy is
    /// whole.
    func copy(in bytes: [UInt8], _ status: FileStatus) throws(Errno) -> Operation? {
        guard try knowsOwner(of: status), let headerEnd = bytes.firstIndex(of: UInt8(ascii: "\n")),
            case .present = Checksum.presence(bytes, headerEnd: headerEnd)
        else { return nil }
        // try?: what cannot be read is no copy.
        return try? OperationFile.decode(bytes, file: "")
    }
}

extension FileStatus {
    /// The time of creation of a foreign file: its mtime; now if that is before 1970 or later than now + `skew`.
    func creation(at now: Timestamp) -> Timestamp {
        let isUsable = modifiedAt >= Timestamp(microseconds: 0) && modifiedAt <= now + AdmissionRule.skew
        return isUsable ? modifiedAt : now
    }
}
