import Policy
import Synchronization

/// The queue that `--queue` names in this process. Commands in messages name it too.
private let namedQueue = Mutex<String?>(nil)

/// Sets the queue that commands in messages name; `nil` if the command line names none.
func nameQueueInCommands(_ queue: String?) {
    namedQueue.withLock { $0 = queue }
}

/// Returns a command for a message, ready to paste into a shell: the command names the queue if this command line does.
/// No word has quotes, so that the command can stand in quotes.
func pasted(_ words: String...) -> String {
    let queue = namedQueue.withLock { $0 }.map { ["--queue", $0] } ?? []
    return (["drainq"] + words + queue).map(shellEscaped).joined(separator: " ")
}
