package import Policy

/// Operations that have been in a queue before: export and import.
extension SpoolDirectory {
    /// The operation of an entry with everything that it has; `nil` if it is no longer there.
    package func portable(_ entry: Entry) throws(SpoolError) -> Result<PortableOperation, OperationFileError>? {
        let path = QueuePath(entry.path)
        let content = try attempt("read", path) { () throws(Errno) in try self.content(path, limit: Self.readLimit) }
        func refused(_ reason: String) -> Result<PortableOperation, OperationFileError> {
            .failure(OperationFileError(file: entry.path, line: 1, reason: reason))
        }
        switch content {
        case .missing: return nil
        case .notAFile(let reason): return refused(reason)
        case .tooLong(let size): return refused("it is too long: \(size) bytes, \(Self.readLimit) are allowed")
        case .bytes(let bytes, _):
            do throws(OperationFileError) {
                let operation = try PortableOperation(entry, file: bytes)
                if operation.header.id == entry.name.id { return .success(operation) }
                return refused(
                    "ids in conflict: '\(entry.name.id)' in the name, '\(operation.header.id)' in the header")
            } catch {
                return .failure(error)
            }
        }
    }

    /// Every id in the queue, but for kept copies of what was delivered.
    package func presentIDs() throws(SpoolError) -> [OperationID: QueueState] {
        var present: [OperationID: QueueState] = [:]
        for state in Self.searchOrder { try forEachEntry(in: state) { present[$0.name.id] = $0.state } }
        return present
    }

    /// Row W → N, D, X or K: takes one batch of what has been in a queue before in, each under its own name, as durably
    /// as `accept`. What waits counts against the limits.
    ///
    /// An operation whose id is among `present` is a duplicate; those that are accepted are added to it. A thrown error
    /// means that none of the batch is promised, and that what could be taken back has been.
    package func restore(
        _ operations: [PortableOperation], besides present: inout [OperationID: QueueState],
        within admittance: inout Admittance, durable: Bool = true, allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        let files = operations.map { operation in
            IncomingFile(
                entry: operation.entry, bytes: operation.file, body: operation.parts.body.count,
                history: operation.file.count - operation.parts.body.upperBound)
        }
        let accepted = try take(files, present, within: &admittance, durable: durable, allOrNone: allOrNone)
        for (operation, result) in zip(operations, accepted.results) {
            if case .accepted = result { present[operation.entry.name.id] = operation.entry.state }
        }
        return accepted
    }
}
