import Policy

/// A section of drainq(1) that belongs to no single command, in the language of `Prose`.
struct ManualChapter {
    enum Block {
        case text(String)
        case list([(term: String, text: String)])
    }

    let title: String
    let blocks: [Block]

    /// Every text in it, for what is checked of prose.
    var texts: [String] {
        blocks.flatMap { block in
            switch block {
            case .text(let text): [text]
            case .list(let items): items.map(\.text)
            }
        }
    }

    /// Those that stand before ENVIRONMENT.
    static let body = [outcomes, destinations]

    static let all = body + [security]
}

extension ManualChapter {
    /// The lists are what `drainq explain` says of a route without rules of its own.
    static let outcomes = ManualChapter(
        title: "OUTCOMES",
        blocks: [
            .text(
                """
                An attempt ends in one of four ways. Which one is decided by the status, or by the name of the error \
                where no usable answer came. A route can decide otherwise with `answers`: rules on the status, the \
                header and the body of an answer, of which `classify` and `accept` are short forms. `drainq explain` \
                prints this table for a route, `drainq explain 404` one row of it, and `drainq explain --answer FILE` \
                what a recorded answer means.
                """),
            .list(
                Outcome.allCases.map { outcome in
                    (outcome.rawValue, "\(answers(that: outcome)). \(effect(of: outcome)).")
                }),
            .text(
                """
                Each request carries the fields `Idempotency-Key`, the same at every attempt of an operation, and \
                `Drainq-Attempt`, which counts from 1. A server that honours the key makes of at least once exactly \
                once. 409 is deferred because the server may still be at an earlier attempt under the same key.

                A wait that a server asked for with Retry-After (429, 503) or where a rule has `until`, a failure of the proxy, and an attempt \
                that the end of the run cut off are not counted. The age of the operation bounds them all the same. \
                An operation that was cut off is due at once; if it is cut off again, it waits as its schedule says.

                An operation that expires, by `expiresAt` or by `expiresAfter` of its route, fails without another \
                attempt. One that a newer one of its key replaces is superseded: it is removed, and only counted in \
                the summary.
                """),
        ])

    private static func answers(that outcome: Outcome) -> String {
        let table = AnswerTable(of: ExplainedRoute(of: .default, in: Configuration(), available: Transport.allCases))
        let answers = table.answers.filter { $0.outcome == outcome.rawValue }.map(\.answers)
        let statuses = answers.filter { $0.first?.isNumber == true }
        let errors = answers.filter { $0.first?.isNumber == false }
        return [
            statuses.isEmpty ? nil : "Status " + statuses.joined(separator: ", "),
            errors.isEmpty ? nil : "errors " + errors.joined(separator: ", "),
        ].compactMap(\.self).joined(separator: "; ")
    }

    private static func effect(of outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "The operation is done. Its file is removed, or kept as long as `retention` says"
        case .deferred:
            """
            The operation waits for its next time, by the schedule `retry` of its route. The attempt is counted; \
            when the attempts or the age are used up, the operation fails
            """
        case .held:
            """
            The destination is held, and the operation is put back as it was. So it is also where no request can be \
            made: there is no url, a secret is missing, `headersCommand` fails, or the machine lacks a transport
            """
        case .failed:
            """
            The operation goes to `failed/` and stays there, unless `retention` says otherwise. `drainq retry` sends \
            it again
            """
        }
    }

    static let destinations = ManualChapter(
        title: "DESTINATIONS",
        blocks: [
            .text(
                """
                A destination is where requests go: one scheme, host and port, such as `https://api.example.com`, or \
                what a route calls its `destination`. A destination that is closed delays no other one. What waits \
                for it is passed over: it stays where it is, and nothing is charged. Where more is due than a run \
                takes, each destination first gets its share, so that one with very many operations does not keep \
                the others waiting.

                What is known of destinations is kept from run to run in `state/destinations.json`. `drainq status` \
                shows it, with what ends each state. Four things close a destination:
                """),
            .list([
                (
                    "pause",
                    """
                    A person began it with `drainq pause --destination`, and only `drainq resume --destination` ends \
                    it. It is not an error: a run ends as if nothing waited there.
                    """
                ),
                (
                    "hold",
                    """
                    Something has to be mended. A person began it with `drainq hold --destination`, or an answer \
                    whose outcome is held. Every run ends with 69 while something due waits for it; the run in which \
                    it begins says so on standard error, and later ones are silent. It ends by `drainq release \
                    --destination`. One that a run began also ends when the configuration of the destination, or a \
                    secret of it that is a file, a variable or a credential, is another than it was; or by a probe. \
                    What a person holds, only a person releases.
                    """
                ),
                (
                    "retry-after",
                    """
                    The server asked for time: status 429, `RESOURCE_EXHAUSTED` of a callable function, or Retry-After \
                    with any answer that defers. Nothing is sent until then; to the operation's own wait up to a fifth is added, \
                    never taken away, so that not all come back at once. Retry-After is a number of seconds, or a \
                    date that is read against the answer's own Date; `retryAfterMax` bounds it. Without one the \
                    first delay of the schedule counts. The run ends with 75. It ends by itself or by `drainq release`; --now does not end it.
                    """
                ),
                (
                    "circuit breaker",
                    """
                    Nobody seems to be there: five attempts in a row failed to connect or to get a usable answer, or \
                    got 502, 503 or 504, or a 2xx that looks like somebody else's. The circuit breaker of the destination \
                    opens: nothing is sent there for a cool-down of one second, after each further failure twice as \
                    long, up to half an hour. Then it is half-open: one attempt closes it or opens it again. See `circuitBreaker`, \
                    `coolDown` and `coolDownMax`. The run ends with 75. It ends by itself, with a single attempt, or \
                    by `drainq release`; `drainq run --now` passes over it.
                    """
                ),
            ]),
            .text("What else a run does so that an outage does no harm:"),
            .list([
                (
                    "storm guard",
                    """
                    Where the first five answers of a destination in a run are the same permanent status, such as \
                    404 after a bad deploy, and nothing succeeded, up to three others are tried first, the newest. \
                    If they meet the same end, the destination is held and all of them are put back. If one \
                    succeeds, or nothing else waits, the five fail as usual. Failures of one status in a row are \
                    counted across runs until something is delivered: an incident costs at most five operations, \
                    however slowly they come; then the destination is held, until a probe succeeds.
                    """
                ),
                (
                    "parked",
                    """
                    A 401, 403 or 407 is first about the operation that met it. Secrets are looked up anew once after \
                    a 401, then the operation is parked, uncharged, and one other, the newest that is due, is asked \
                    with the same credentials, in this run or a later one. If that one is delivered the parked one \
                    fails; if it is refused alike the destination is held. A parked operation stops no other, but for \
                    those that are ordered behind it. Where no other comes it is asked again after five minutes, then \
                    as often as a held destination is probed, and the second refusal is told. Where the destination \
                    is kept in strict order no other can be asked: it is held. Any other answer that would hold the \
                    destination is checked with one other operation of the same run.
                    """
                ),
                (
                    "probe",
                    """
                    Every hour (`holdProbe`) a held destination is tried with one operation, the newest that is due. \
                    If it is delivered, or fails with another status than the one that began the hold, the hold is \
                    over. Otherwise the hold goes on, and what met it again is put back.
                    """
                ),
                (
                    "window",
                    """
                    After a hold, a retry-after or an open circuit breaker one attempt is made at a time until one is delivered, then \
                    two at once, then four, and so on.
                    """
                ),
            ]),
            .text(
                """
                An operation can also be held by itself: by `drainq hold ID`, or because nobody knows whether it \
                arrived and its server has forgotten the key meanwhile (`keyTTL`). The run that finds the latter \
                ends with 69. `drainq list --state held` shows both; `drainq release ID` or `drainq retry ID` sends \
                it, `drainq drop ID` does not.

                The whole queue can be paused with `drainq pause`; a run then attempts nothing and ends with 0. \
                Where `conditions` of the configuration are not met, nothing is attempted either, but the run ends \
                with 75; with --verbose it says why.

                No network is nobody's attempt. Where an attempt meets a network error and this machine has no \
                interface but loopback, no route or no name server that would explain it, the run counts no attempt, \
                sends nothing more to other machines and ends with 75. The first run that finds that says so; later \
                ones look first and say it with --verbose alone, until there is a network again. Destinations on \
                loopback go on.

                For every attempt that is no delivery one is to blame, and only that one pays: this machine, the \
                delivery agent, the network, the destination, the credentials, the batch or the operation. `drainq \
                explain ANSWER` and `drainq show` say which.
                """),
        ])

    static let security = ManualChapter(
        title: "SECURITY CONSIDERATIONS",
        blocks: [
            .text(
                """
                Credentials belong in `secrets` of the configuration, which says where they are; see \
                drainq-config(5). They are looked up for each attempt. They are in no operation, no argument list, \
                no file of the queue, no message and no log. What a server sends back is searched for them, and for \
                the header fields that `headersCommand` made, before any of it is kept or shown: as they are, \
                percent-encoded, escaped as in JSON or HTML, and in Base64. `[secret]` stands in their place. Only \
                `drainq send` prints an answer as it came.

                A credential goes to the origin of its route's url and nowhere else. A redirect to another origin is \
                never followed. An operation with a url of its own that leads elsewhere is refused where the headers \
                of its route carry credentials.

                A file with a secret is refused where others may read it, or its group may write it. Commands are \
                run without a shell, with a few variables of the environment that drainq-config(5) lists, and \
                without those that are secrets. Requests are made by a child process that knows nothing of the \
                queue, gets what its transports read of the environment, gains no privileges, leaves no core dump \
                and cannot be looked into by other processes of its user.

                A run begins nothing, and `drainq add` takes nothing, in a queue that others can write to, but for \
                `new` and `tmp` with the sticky bit; see drainq-queue(5). Nor does a run, or `drainq send`, follow a \
                `drainq.json` that others can write to, or that belongs neither to root nor to the user that runs \
                drainq: it names programs. A file named by --config is trusted as it is.

                Operations are kept in the clear, and the answers' beginnings with them: the queue directory is for \
                its owner alone. `state/destinations.json` has a fingerprint of credentials, with 20 bits of each \
                destination's: enough to notice that one has changed, too little to find it.

                What a payload, a key or a server says is escaped before it is shown. A header field with a line \
                break is refused when it is added.
                """)
        ])
}
