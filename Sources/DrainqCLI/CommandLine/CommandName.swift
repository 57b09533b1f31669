/// The name of a command: the word after `drainq`. The cases are in the order of the documents.
package enum CommandName: String, CaseIterable, Sendable {
    case initialize = "init"
    case add
    case send
    case wait
    case run
    case list
    case show
    case status
    case log
    case retry
    case drop
    case hold
    case release
    case pause
    case resume
    case export
    case `import`
    case check
    case explain
    case demo
    case receive
    case completions
    case manual
    case schema
    case version
    case help
    /// The delivery agent: only a run starts it, and no document shows it.
    case agent
    /// Candidates for a shell: only the scripts of `drainq completions` call it, and no document shows it.
    case complete
}

/// A shell that drainq has completions for.
package enum Shell: String, CaseIterable, Sendable {
    case bash
    case zsh
    case fish
}
