/// Which queue is meant, and which configuration.
struct QueueOptions {
    /// `nil` where the environment says it.
    var path: String?
    /// `nil` for `drainq.json` in the queue.
    var configuration: String?

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .queue, short: "q", .directory("DIR"), \.path, group: .global, "the queue directory",
            "The queue directory. Without it the environment says where it is.")
        Option(
            .config, .file("FILE"), \.configuration, group: .global,
            "the configuration instead of drainq.json in the queue",
            "The configuration, instead of `drainq.json` in the queue directory.")
    }
}

/// How much is said on standard error.
struct Verbosity {
    var isVerbose = false
    var isQuiet = false

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .verbose, short: "v", \.isVerbose, group: .global, "say more on standard error",
            "Say what is done on standard error, also where it is not a terminal.")
        Option(
            .quiet, \.isQuiet, group: .global, "say only errors, also on a terminal",
            "Say nothing on standard error but errors, also where it is a terminal. Not together with --verbose.")
    }
}

extension Option {
    static func json(_ place: any WritableKeyPath<Arguments, Bool> & Sendable) -> Option {
        Option(
            .json, place, group: .global, "print JSON, an object on each line",
            "Print JSON for programs: an object on each line. drainq-json(5) has every member of them.")
    }
}

extension OptionDescription {
    static let help = OptionDescription(
        .help, short: "h", .flag, group: .global, "explain the command", "Print how the command is used.")

    static let version = OptionDescription(
        .version, .flag, group: .global, "print the version", "Print the version of drainq.")
}

/// Of a command that takes none.
struct NoArguments: CommandArguments {
    static var options: [Option<Self>] { [] }
}
