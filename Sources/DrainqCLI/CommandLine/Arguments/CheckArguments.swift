/// The arguments of `drainq check`.
struct CheckArguments: CommandArguments {
    var isRepairing = false
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .repair, \.isRepairing, "repair the queue directory",
            """
            Repairs all damage that needs no decision by a person, and reports each repair. It leaves the claims of \
            live runs alone.
            """)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let check = CommandDescription(
        .check, Command.check, "check the configuration and the queue directory",
        """
        Checks the configuration, the permissions, whether the file system renames, locks and syncs as the queue \
        needs, and whether the transports, files and secrets of the routes exist. Tries certificate files, keys and \
        passphrases by a TLS handshake with itself, and the key of an assertion by signing one. Looks for claims of \
        runs that died and for unreadable files. It does not run the commands of secrets. Run it as the user that \
        runs drainq: some files may be readable by that user alone. Does not change the queue, unless --repair is given.

        With --repair it makes missing directories, sets the modes 0700 and 0600 (except for a `new/` that others may \
        write to, and the path to it), removes files that dead writers left in `tmp/`, returns the claims of dead runs \
        as the next run would, finishes interrupted moves, removes files that a move left behind, writes an unreadable \
        `state/format` again, renames other unreadable documents in `state/` to a name that ends in `.damaged`, and \
        removes reasons without a file in `quarantine/`. A run is alive if it has its lock; its age is no evidence. The exit status is \
        0 if no damage is left.
        """,
        examples: [
            Example("drainq check -q /var/spool/drainq", "check before the first run, and after a crash"),
            Example("drainq check --repair", "repair the directory, and report the rest"),
        ])
}
