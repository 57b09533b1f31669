import Policy
import Spool
import Synchronization

/// The queue and the configuration of a command line, which commands in messages name too; `nil` for one not named.
struct NamedPlace: Hashable, Sendable {
    var queue: String?
    var configuration: String?

    /// The place that this command line names.
    fileprivate static let current = Mutex(NamedPlace())
    /// The queue of commands that are read elsewhere, and so name it and the configuration by their full paths, in the
    /// task that makes them.
    @TaskLocal static var queueElsewhere: String?

    /// The options that name the place.
    fileprivate var options: [String] {
        (queue.map { ["--queue", $0] } ?? []) + (configuration.map { ["--config", $0] } ?? [])
    }

    /// Returns the place by full paths, with this queue: what is read elsewhere or later, as a mail or a page, names
    /// the queue always, since `DRAINQ_QUEUE` of its reader may be another one.
    fileprivate func elsewhere(_ queue: String) -> NamedPlace {
        NamedPlace(queue: absolutePath(queue), configuration: configuration.map(absolutePath))
    }
}

/// Sets the place that commands in messages name.
func nameInCommands(_ place: NamedPlace) { NamedPlace.current.withLock { $0 = place } }

/// Lets commands in messages name the queue and the configuration by their full paths.
func nameInCommandsElsewhere(queue: String) { NamedPlace.current.withLock { $0 = $0.elsewhere(queue) } }

/// Returns a command for a message, ready to paste into a shell: the command names the queue and the configuration if
/// this command line does. No word has quotes, so that the command can stand in quotes.
func pasted(_ words: String...) -> String { pasted(words) }

func pasted(_ words: [String]) -> String {
    let named = NamedPlace.current.withLock(\.self)
    let place = NamedPlace.queueElsewhere.map(named.elsewhere) ?? named
    return (["drainq"] + words + place.options).map(shellEscaped).joined(separator: " ")
}
