import CSystem
import Policy

/// Reads files of other programs as operations.
extension SpoolDirectory {
    /// Returns the bytes of a file in quarantine, to show them; none if the file is gone, is no file, or is longer than
    /// `limit`.
    package func content(of item: QuarantineItem, limit: Int = 1 << 20) throws(SpoolError) -> [UInt8] {
        try attempt("read", item.path) { () throws(Errno) in
            if case .bytes(let bytes, _) = try content(item.path, limit: limit) { bytes } else { [] }
        }
    }

    /// Returns the key in the header of an operation in quarantine; `nil` if it has none, or no readable header.
    package func key(of item: QuarantineItem) throws(SpoolError) -> String? {
        if item.name == nil { return nil }
        let bytes = try content(of: item, limit: Self.readLimit)
        guard let headerEnd = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        // Damage of the header may be the reason why the file is in quarantine.
        return try? OperationFile.decodeHeader(bytes, in: 0..<headerEnd, file: item.fileName).0.key
    }

    /// Reads the one JSON value in a foreign file as an operation. A failure says why the file is no operation. Throws
    /// a system error that is not the file's fault.
    func foreignOperation(
        in bytes: [UInt8], _ status: FileStatus, file: String, _ now: Timestamp, _ roots: [String]
    ) throws(Errno) -> Result<Submission, OperationFileError> {
        func refused(_ reason: String) -> Result<Submission, OperationFileError> {
            .failure(OperationFileError(file: file, line: 1, reason: reason))
        }
        if status.links > 1 { return refused("it has \(status.links) names (hard links)") }
        if bytes.isEmpty { return refused("it is empty") }
        if let offset = bytes.firstIndex(of: 0) { return refused("it has a NUL at byte \(offset)") }
        if String(validating: bytes, as: UTF8.self) == nil { return refused("it is not valid UTF-8") }
        var scanner = JSONScanner(bytes, from: ByteOrderMark.length(in: bytes))
        let range: Range<Int>
        do throws(JSONSyntaxError) {
            guard let value = try scanner.next() else { return refused("it is empty") }
            range = value
        } catch {
            let isTruncated = bytes[error.offset...].allSatisfy(\.isJSONWhitespace)
            return refused(isTruncated ? "it is truncated: \(error)" : "\(error)")
        }
        guard bytes[range.upperBound...].allSatisfy(\.isJSONWhitespace) else {
            return refused("more than one JSON value")
        }
        let isStranger = try !knowsOwner(of: status)
        var systemError: Errno?
        func examine(_ path: String) -> Result<BodyFile, BodyFileRefusal> {
            if isStranger { return .failure(.notTheirs) }
            let result = bodyFile(at: path, roots: roots)
            if case .failure(.system(let error)) = result { systemError = error }
            return result
        }
        let created = status.creation(at: now)
        var generator = system.generator
        let defaults = Envelope.Defaults(id: .random(using: &generator), createdAt: created)
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
            Submission(operation, hasOwnID: hasOwnID, at: now, isDated: operation.header.createdAt != created))
    }

    /// Returns the name of the operation in a claimed file, if it is drainq's copy in the place of a foreign file;
    /// `nil` for the foreign file itself. The checksum proves that the copy is whole.
    func copy(at path: QueuePath) throws(Errno) -> EntryName? {
        guard case .bytes(let bytes, let status) = try content(path, limit: Self.readLimit),
            try knowsOwner(of: status), let headerEnd = bytes.firstIndex(of: UInt8(ascii: "\n")),
            case .present = Checksum.presence(bytes, headerEnd: headerEnd),
            let header = try? OperationFile.split(bytes, file: path.description).header
        else { return nil }
        return EntryName(naming: header)
    }
}

extension FileStatus {
    /// The time of creation of a foreign file: its mtime; now if that is before 1970 or later than now + `skew`.
    func creation(at now: Timestamp) -> Timestamp {
        let isUsable = modifiedAt >= Timestamp(microseconds: 0) && modifiedAt <= now + AdmissionRule.skew
        return isUsable ? modifiedAt : now
    }
}
