import Policy
import Spool

/// Throws if an answer is to be kept for the operation's chain and the values kept for it cannot be read. Called before
/// the request is sent: if its answer could not be kept, every run would send it again.
func checkKept(of operation: Operation, _ route: Route, in spool: SpoolDirectory) throws(SpoolError) {
    guard !route.keep.isEmpty, let chain = route.chainDigest(of: operation) else { return }
    try spool.checkKept(of: chain)
}

/// Reads the values kept for an operation's chain into the operation. Returns the first name that has no value; `nil`
/// if the operation can be sent.
func fillKeptValues(
    _ names: Set<String>, of operation: inout Operation, _ route: Route, in spool: SpoolDirectory
) throws(SpoolError) -> String? {
    // Without a chain, making the request reports the error.
    guard !names.isEmpty, let chain = route.chainDigest(of: operation) else { return nil }
    let kept = try spool.keptValues(of: chain)
    operation.kept = kept
    return names.subtracting(kept.keys).min()
}
