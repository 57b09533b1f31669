/// The sizes that the program may have: the one table. A commit that raises a number says in its body what the lines or
/// the new rows buy.
///
/// Each figure has a line of its own between empty lines, so that two commits that change different figures merge.
enum Sizes {
    /// The most lines of each room below Sources/, with comments and empty lines, in Swift and C.
    static let rooms = [
        "CCurl": 539,

        "CFoundationCurl": 610,

        "CManual": 52,

        "CPlatform": 520,

        "CSystem": 207,

        "CZlib": 129,

        "Configuration": 3_310,

        "Delivery": 5_992,

        "Drain": 9_885,

        "DrainqCLI": 14_338,

        "LoopbackReceiver": 799,

        "Policy": 14_736,

        "Spool": 11_411,

        "SpoolWriter": 366,

        "drainq": 8,

        "drainq-urlsession": 408,
    ]

    /// The most lines of each page of man/.
    static let pages = [
        "drainq-apps.7": 223,

        "drainq-config.5": 2_296,

        "drainq-json.5": 1_490,

        "drainq-queue.5": 1_454,

        "drainq-setup.7": 379,

        "drainq-sizing.7": 493,

        "drainq.1": 2_179,
    ]

    /// The exact number of each thing that a user has to learn.
    static let counts = [
        "commands": 28,

        "names of options": 68,

        "keys of the configuration": 140,

        "fields of --json": 324,
    ]
}
