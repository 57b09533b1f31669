/// What `drainq receive` is told.
struct ReceiveArguments: CommandArguments {
    var port = 0
    var answers: [String] = []
    var count: Int?
    var maxTime: Duration?
    var showsBodiesAlone = false
    var urlFile: String?
    var isJSON = false
    var verbosity = Verbosity()

    static var options: [Option<Self>] {
        Option(
            .port, .count(0...65_535), initial: \.port, "listen on this port",
            "The port; 0 is any that is free.")
        Option(
            .answer, .text("ANSWER"), each: \.answers, "answer like this",
            "What to answer, such as `503` or `429 retry-after=5 *2`. Given more than once, the answers are played in turn."
        )
        Option(
            .count, .count(1...Int.max), \.count, "end after so many requests",
            "End when so many requests were answered.")
        Option(
            .maxTime, .duration, \.maxTime, "end after so long",
            "End after this time, whatever came.")
        Option(
            .bodies, \.showsBodiesAlone, "show bodies alone",
            "Print the bodies and nothing else, each as a line of JSON; with --json, in the object of its request.")
        Option(
            .urlFile, .file("FILE"), \.urlFile, "write the URL to this file",
            "Write the URL to this file as soon as requests are taken, so that a script knows when and where.")
        Option.json(\.isJSON)
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let receive = CommandDescription(
        .receive, Command.receive, "receive requests on the loopback interface",
        """
        An HTTP receiver on 127.0.0.1 that prints what it gets and answers as --answer tells it: each answer once, in \
        turn, and the last one on and on; 204 where no answer is given. It is for trying things out: it believes everybody.

        An answer is words between blanks: conditions, what is answered, changes to it, and `*N` for N times. \
        Conditions are a method in capitals, a path (`/orders*` is what begins with it) and a header field such as \
        `X-Tenant:b`; a request that meets none is answered with 404. What is answered is a status, `silence`, `reset` \
        or `close`. Changes are header fields such as `Name:value`, `retry-after=5`, `type=application/json`, \
        `location=URL`, `body=TEXT`, `size=1MB`, `endless`, `chunked`, `truncate=N`, `delay=2s`, `drip=10/100ms`, and \
        `reset`, `close` or `stall` with a place in the answer such as `=body+3`.
        """,
        examples: [
            Example("drainq receive --port 8080 --bodies", "show requests with their bodies"),
            Example("drainq receive --answer 503 --answer 200 --count 2", "fail once, then succeed, then end"),
            Example(
                "drainq receive --answer '429 retry-after=5 *2' --answer '200 delay=1s'", "an overloaded server"),
        ])
}
