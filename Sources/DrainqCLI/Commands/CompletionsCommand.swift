struct CompletionsCommand: Command {
    static let name = "completions"

    /// The name of a shell.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }

    static let description = CommandDescription(
        Self.self, "print completions for a shell",
        "Prints the completions of drainq for bash, zsh or fish.",
        operands: .one(of: Shell.allCases.map(\.rawValue), placeholder: "SHELL"),
        onlyPrints: true,
        examples: [
            Example(
                "drainq completions bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/drainq",
                "for one user of bash"),
            Example(
                "drainq completions fish | install -D /dev/stdin ~/.config/fish/completions/drainq.fish",
                "for one user of fish"),
            Example(
                "drainq completions zsh | install -D /dev/stdin /usr/local/share/zsh/site-functions/_drainq",
                "for every user of zsh"),
        ])

    func perform(environment: [String: String]) -> ExitStatus {
        if let shell = words.first.flatMap(Shell.init(rawValue:)) { standardOutput.write(completionScript(for: shell)) }
        return .ok
    }
}
