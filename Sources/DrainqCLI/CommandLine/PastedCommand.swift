import Policy
import Spool
import Synchronization

/// The queue that `--queue` names in this process. Commands in messages name it too.
private let namedQueue = Mutex<String?>(nil)

/// The queue of commands that are read elsewhere, in the task that makes them.
private enum Elsewhere {
    @TaskLocal static var queue: String?
}

/// Sets the queue that commands in messages name; `nil` if the command line names none.
///
/// What is read elsewhere or later, as a mail or a page, names the queue always, by its full path: `DRAINQ_QUEUE` of
/// its reader may be another one.
func nameQueueInCommands(_ queue: String?) {
    namedQueue.withLock { $0 = queue }
}

/// Does the work with commands that name the queue by its full path.
func namingQueueInCommands<Result>(_ queue: String, _ work: () throws -> Result) rethrows -> Result {
    try Elsewhere.$queue.withValue(absolutePath(queue), operation: work)
}

/// Returns a command for a message, ready to paste into a shell: the command names the queue if this command line does.
/// No word has quotes, so that the command can stand in quotes.
func pasted(_ words: String...) -> String { pasted(words) }

func pasted(_ words: [String]) -> String {
    let queue = (Elsewhere.queue ?? namedQueue.withLock { $0 }).map { ["--queue", $0] } ?? []
    return (["drainq"] + words + queue).map(shellEscaped).joined(separator: " ")
}
