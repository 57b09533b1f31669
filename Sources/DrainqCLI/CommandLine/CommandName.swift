/// A command, by the word that is written after `drainq`, in the order of the documents.
package enum CommandName: String, CaseIterable, Sendable {
    case initialize = "init"
    case add
    case send
    case wait
    case run
    case list
    case show
    case status
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
    /// The delivery agent: started by a run, never by a person, and in no document.
    case agent
}

/// A shell that completions are made for.
package enum Shell: String, CaseIterable, Sendable {
    case bash
    case zsh
    case fish
}
