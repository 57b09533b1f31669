import Policy
import Spool

/// Throws if an answer is to be kept for the operation's key and the values kept for it cannot be read. Called before
/// the request is sent: if its answer could not be kept, every run would send it again.
func checkKept(of operation: Operation, _ route: Route, in spool: SpoolDirectory) throws(SpoolError) {
    guard !route.keep.isEmpty, let key = operation.header.key else { return }
    _ = try spool.keptValues(of: Digest(of: key))
}

/// Reads the values kept for an operation's key into the operation. Returns the first name that has no value; `nil` if
/// the operation can be sent.
func fillKeptValues(
    _ names: Set<String>, of operation: inout Operation, in spool: SpoolDirectory
) throws(SpoolError) -> String? {
    // Without a key, making the request reports the error.
    guard !names.isEmpty, let key = operation.header.key else { return nil }
    let kept = try spool.keptValues(of: Digest(of: key))
    operation.kept = kept
    return names.subtracting(kept.keys).min()
}
