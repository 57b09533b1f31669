/// The arguments of `drainq receive`.
struct ReceiveArguments: CommandArguments {
    var port = 0
    var answers: [String] = []
    var count: Int?
    var maxTime: Duration?
    var printsOnlyBodies = false
    var urlFile: String?
    var isJSON = false
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .port, .count(0...65_535), initial: \.port, "listen on this port",
            "The port; 0 chooses a free one.")
        Option(
            .answer, .text("ANSWER"), each: \.answers, "give this answer",
            """
            An answer, such as `503` or `429 retry-after=5 *2`. Given more than once, the receiver gives the answers \
            in turn.
            """
        )
        Option(
            .count, .count(1...Int.max), \.count, "end after N requests",
            "Ends once the receiver has answered this many requests.")
        Option(
            .maxTime, .duration, \.maxTime, "end after this time",
            "Ends after this time, whatever has arrived.")
        Option(
            .bodies, \.printsOnlyBodies, "print only bodies",
            "Prints only the bodies, each as a line of JSON; with --json, in the object of its request.")
        Option(
            .urlFile, .file("FILE"), \.urlFile, "write the URL to this file",
            """
            Writes the URL to this file once the receiver takes requests, so that a script knows when and where to \
            send.
            """)
        Option.json(\.isJSON)
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let receive = CommandDescription(
        .receive, Command.receive, "receive requests on the loopback interface",
        """
        Runs an HTTP receiver on 127.0.0.1 that prints each request and answers with --answer: each answer once, in \
        turn, and the last one from then on; 204 without --answer. It is for tests: it checks no credentials.

        An answer is words between blanks: conditions, the reply, changes to it, and `*N` for N times. Conditions are \
        a method in capitals, a path (`/orders*` matches every path that begins with `/orders`) and a header field \
        such as `X-Tenant:b`; a request that meets none gets 404. The reply is a status, `silence`, `reset` or \
        `close`. Changes are header fields such as `Name:value`, `retry-after=5`, `type=application/json`, \
        `location=URL`, `body=TEXT`, `truncate=N` (bytes that are left out) and `delay=2s`.
        """,
        examples: [
            Example("drainq receive --port 8080 --bodies", "show requests with their bodies"),
            Example("drainq receive --answer 503 --answer 200 --count 2", "fail once, then succeed, then end"),
            Example(
                "drainq receive --answer '429 retry-after=5 *2' --answer '200 delay=1s'", "an overloaded server"),
        ])
}
