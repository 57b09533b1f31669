/// The options of most commands: the queue with its configuration, the form of the output, and the amount of messages.
struct GlobalOptions {
    /// The queue directory; `nil` if the environment names it.
    var path: String?
    /// The file of the configuration; `nil` for `drainq.json` in the queue.
    var configuration: String?
    var isJSON = false
    var verbosity = Verbosity()

    @OptionList<Self> static var options: [Option<Self>] {
        Option.json(\.isJSON)
        optionsButJSON
    }

    /// The options of a command without `--json`.
    @OptionList<Self> static var optionsButJSON: [Option<Self>] {
        Option(
            .queue, short: "q", .directory("DIR"), \.path, group: .global, "the queue directory",
            "The queue directory. Without this option the environment names it, see ENVIRONMENT.")
        Option(
            .config, .file("FILE"), \.configuration, group: .global,
            "the configuration instead of drainq.json in the queue",
            "The configuration, instead of `drainq.json` in the queue directory.")
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

/// The amount of messages on standard error.
struct Verbosity {
    var isVerbose = false
    var isQuiet = false

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .verbose, short: "v", \.isVerbose, group: .global, "report each step on standard error",
            "Reports each step on standard error, even if it is not a terminal.")
        Option(
            .quiet, \.isQuiet, group: .global, "report only errors, even at a terminal",
            "Writes only errors to standard error, even at a terminal. Not together with --verbose.")
    }
}

extension Option {
    static func json(_ place: any WritableKeyPath<Arguments, Bool> & Sendable) -> Option {
        Option(
            .json, place, group: .global, "print JSON, an object on each line",
            "Prints JSON for programs: an object on each line. drainq-json(5) describes every member.")
    }

    static func dryRun(_ place: any WritableKeyPath<Arguments, Bool> & Sendable) -> Option {
        Option(
            .dryRun, short: "n", place, "print the changes without making them",
            "Prints what the command would do, without doing it.")
    }
}

extension OptionDescription {
    static let help = OptionDescription(
        .help, short: "h", .flag, group: .global, "explain the command", "Prints the usage of the command.")

    static let version = OptionDescription(
        .version, .flag, group: .global, "print the version", "Prints the version of drainq.")
}
