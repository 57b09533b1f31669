import Policy
import Synchronization

/// The queue that `--queue` names in this process; proposed commands name it too.
private let namedQueue = Mutex<String?>(nil)

/// Remembers the queue that the command line names, `nil` where it names none.
func proposeCommands(for queue: String?) {
    namedQueue.withLock { $0 = queue }
}

/// Returns a command that a message proposes, as it can be pasted into a shell: each word is quoted where it has to be, and
/// the queue is named where this command line named it.
func pasted(_ words: String...) -> String {
    let queue = namedQueue.withLock { $0 }.map { ["--queue", $0] } ?? []
    return (["drainq"] + words + queue).map(shellWord).joined(separator: " ")
}
