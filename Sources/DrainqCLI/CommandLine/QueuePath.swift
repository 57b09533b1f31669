import Policy

/// Returns the queue directory: `--queue`, else `DRAINQ_QUEUE`, else `drainq` in `XDG_STATE_HOME`, else in
/// `~/.local/state`.
///
/// A variable that is empty counts as unset, and so does an `XDG_STATE_HOME` that is not absolute (XDG Base Directory
/// Specification, "Environment variables"). Does not read the file system.
package func queuePath(option: String?, environment: [String: String]) throws(UsageError) -> String {
    if let option { return option }
    if let path = environment["DRAINQ_QUEUE"], !path.isEmpty { return path }
    if let state = environment["XDG_STATE_HOME"], state.begins(with: "/") { return state + "/drainq" }
    if let home = environment["HOME"], !home.isEmpty { return home + "/.local/state/drainq" }
    throw UsageError("no queue is named, and HOME is not set", hint: "name one: --queue DIR or DRAINQ_QUEUE=DIR")
}
