package import Policy

/// What others have written, read as an operation.
extension SpoolDirectory {
    /// What is in a file in quarantine, to be shown; nothing where it is gone, no file, or longer than `limit`.
    package func content(of item: QuarantineItem, limit: Int = 1 << 20) throws(SpoolError) -> [UInt8] {
        try attempt("read", item.path) { () throws(Errno) in
            if case .bytes(let bytes, _) = try content(item.path, limit: limit) { bytes } else { [] }
        }
    }

    /// Why what is in quarantine is no operation still; `nil` where it is one by now, or is gone.
    package func objection(
        to item: QuarantineItem, limits: Limits, bodyFileRoots: [String]
    ) throws(SpoolError) -> String? {
        if let name = item.name {
            switch try read(item.path, name: name, limit: Self.readLimit) {
            case .operation, nil: return nil
            case .notAnOperation(let reason): return reason
            case .newerFormat(let version): return "it has format \(version), newer than this drainq reads"
            }
        }
        return try attempt("read", item.path) { () throws(Errno) in
            switch try content(item.path, limit: limits.operationBytes +| OperationFile.headerLimit) {
            case .missing: return nil
            case .notAFile(let reason): return reason
            case .tooLong(let size): return "it is too long: \(size) bytes"
            case .bytes(let bytes, let status):
                let read = try foreignOperation(
                    in: bytes, status, file: item.fileName, id: .random(), limits, bodyFileRoots)
                guard case .failure(let error) = read else { return nil }
                return error.detail
            }
        }
    }

    /// The one JSON value in a foreign file.
    func foreignOperation(
        in bytes: [UInt8], _ status: FileStatus, file: String, id: OperationID, _ limits: Limits, _ roots: [String]
    ) throws(Errno) -> Result<(Operation, hasOwnID: Bool), OperationFileError> {
        func refused(_ reason: String) -> Result<(Operation, hasOwnID: Bool), OperationFileError> {
            .failure(OperationFileError(file: file, line: 1, reason: reason))
        }
        if status.links > 1 { return refused("it has \(status.links) names (hard links)") }
        if bytes.isEmpty { return refused("it is empty") }
        if let offset = bytes.firstIndex(of: 0) { return refused("it has a NUL at byte \(offset)") }
        if String(validating: bytes, as: UTF8.self) == nil { return refused("it is not valid UTF-8") }
        var scanner = JSONScanner(bytes)
        let range: Range<Int>
        do throws(JSONSyntaxError) {
            guard let value = try scanner.next() else { return refused("it is empty") }
            range = value
        } catch {
            return refused(error.offset >= bytes.count ? "it is truncated: \(error)" : "\(error)")
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
        let (operation, hasOwnID): (Operation, Bool)
        do throws(OperationFileError) {
            (operation, hasOwnID) = try Envelope.operation(
                from: bytes, in: range, file: file, defaults: Envelope.Defaults(id: id, createdAt: status.modifiedAt),
                bodyFile: examine)
        } catch {
            if let systemError { throw systemError }
            return .failure(error)
        }
        if operation.body.count > limits.operationBytes {
            return refused(
                "it is too long: a body of \(operation.body.count) bytes, \(limits.operationBytes) are allowed")
        }
        if OperationFile.encode(operation.header, length: 0).count > OperationFile.headerLimit {
            return refused("key, URL and headers are longer than \(OperationFile.headerLimit) bytes")
        }
        if let file = operation.header.bodyFile {
            let refusal = isStranger ? .notTheirs : check(file, roots: roots)
            if case .system(let error)? = refusal { throw error }
            if let refusal { return refused("field 'bodyFile': \(refusal)") }
        }
        return .success((operation, hasOwnID))
    }
}
