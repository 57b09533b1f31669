/// What `drainq check` is told.
struct CheckArguments: CommandArguments {
    var isRepairing = false
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .repair, \.isRepairing, "mend what is wrong with the directory",
            "Mend what can be mended without a person, and say what was; what is alive stays as it is.")
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let check = CommandDescription(
        .check, Command.check, "check the configuration and the queue directory",
        """
        Checks the configuration, the permissions, that the file system renames, locks and syncs as the queue needs it, \
        that there are the transports, files and secrets that the routes need, and looks for claims of runs that died and \
        for files that cannot be read. Secrets that commands answer are not asked for. Run it as the user that runs drainq, \
        who may be the only one to read a file. Changes nothing, unless --repair is given.

        With --repair it makes missing directories, sets the modes 0700 and 0600 (but for a `new/` that others may write \
        to, and the way there), removes what dead writers left in `tmp/`, returns the claims of dead runs as the next run \
        would, one interruption more, finishes interrupted moves, removes files that a move had left behind, moves documents \
        in `state/` that cannot be read to a name that ends in `.damaged`, and removes reasons without a file in `quarantine/`. \
        Whether a run is alive is proven by its lock, and never by age. The exit status is 0 where nothing is left to mend.
        """,
        examples: [
            Example("drainq check -q /var/spool/drainq", "look before the first run, and after a disaster"),
            Example("drainq check --repair", "mend the directory, and see what is left"),
        ])
}
