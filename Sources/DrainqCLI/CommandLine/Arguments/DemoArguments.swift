/// The arguments of `drainq demo`.
struct DemoArguments: CommandArguments {
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let demo = CommandDescription(
        .demo, Command.demo, "drain a sample queue into an embedded receiver",
        """
        Makes a queue in a temporary directory, starts a receiver on the loopback interface, adds sample operations, \
        or those on standard input if it is not a terminal, drains the queue and shows what happens. Needs no server \
        and removes its files.
        """,
        examples: [
            Example("drainq demo", "drain sample operations"),
            Example(#"printf '{"n":1}\n{"n":2}\n' | drainq demo"#, "drain operations of your own"),
        ])
}
