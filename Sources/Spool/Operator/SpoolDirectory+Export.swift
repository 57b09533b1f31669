import CSystem
import Policy

/// Reads operations for an export.
extension SpoolDirectory {
    /// Returns the operation of an entry with its whole file; `nil` if the operation is gone. A failure says why the
    /// file is no operation.
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
}
