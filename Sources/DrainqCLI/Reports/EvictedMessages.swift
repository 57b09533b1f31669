import Policy
import Spool

func evictedMessage(_ name: EntryName) -> String {
    "dropped '\(name.id)', the oldest: the queue is full and limits.whenFull is dropOldest"
}

/// Reports the operations that `dropOldest` evicted. Returns false if one stayed: the queue is over its limits.
func reportEvicted(_ accepted: Accepted) -> Bool {
    for entry in accepted.evicted { Messages.notice(evictedMessage(entry.name)) }
    for error in accepted.errors { Messages.error(error.description, hint: error.hint) }
    return accepted.errors.isEmpty
}
