import Policy

/// A section of drainq(1) that belongs to no single command, in the language of `Prose`.
struct ManualChapter {
    enum Block {
        case text(String)
        case list([(term: String, text: String)])
    }

    let title: String
    let blocks: [Block]

    /// Every text of the chapter, for the tests of prose.
    var texts: [String] {
        blocks.flatMap { block in
            switch block {
            case .text(let text): [text]
            case .list(let items): items.map(\.text)
            }
        }
    }

    /// The chapters before ENVIRONMENT.
    static let body = [outcomes, destinations, signals]

    static let all = body + [security]
}

extension ManualChapter {
    /// The chapter about outcomes. Its lists are the answers of `drainq explain` for a route without rules of its own.
    static let outcomes = ManualChapter(
        title: "OUTCOMES",
        blocks: [
            .text(
                """
                An attempt ends in one of four ways. The status decides, or the name of the error if no usable answer \
                came. A route can decide otherwise with `answers`: rules on the status, the header and the body of an \
                answer; `classify` and `accept` are short forms of such rules. `drainq explain` prints this table for \
                a route, `drainq explain 404` one row of it, and `drainq explain --answer FILE` the meaning of a \
                recorded answer.
                """),
            .list(
                Outcome.allCases.map { outcome in
                    (outcome.rawValue, "\(answers(that: outcome)). \(effect(of: outcome)).")
                }),
            .text(
                """
                Each request carries the fields `Idempotency-Key`, the same at every attempt of an operation, and \
                `Drainq-Attempt`, the number of the attempt: one more than the attempts that count so far. If a run sends \
                an operation again without counting the request before, as with a part of a refused batch, the number \
                is one higher for each such request; the next run counts from the attempts that count. If the server \
                honours the key, each operation takes effect exactly once. An operation that met 409 is deferred because the server may still be processing an \
                earlier attempt with the same key.

                drainq does not count an attempt after which a server asked for time, with Retry-After (429, 503) or \
                by a rule with `until`, an attempt that failed at the proxy, or one that the end of the run cut off. \
                The age limit of the operation also applies to these attempts. An operation that was cut off is due at \
                once; if it is cut off again, it waits as its schedule says.

                An operation that expires, by `expiresAt` or by `expiresAfter` of its route, fails without another \
                attempt, also while it is held or parked, while its destination is held or paused, and while it waits \
                for its time, an older operation, a newer one that will carry its changes, or a kept value. A run asks \
                this just before each request, also before one that it makes again. Of these waits `maxAge` of its \
                schedule ends only the one for a kept value. After any other wait an older operation gets one attempt: a hold or a pause fails \
                no operation, however long it is. An operation that a newer one of its key replaces is superseded: the \
                run removes it, and only counts it in the summary.
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
            The destination is held, and the operation is put back as it was. The same happens if no request can be \
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
                the name in `destination` of a route. A blocked destination does not delay others. A run skips its \
                operations: they stay where they are, and no attempt is counted. If more operations \
                are due than a run takes, each destination first gets its share, so that one with very many operations \
                does not delay the others.

                Runs keep the state of destinations in `state/destinations.json`. `drainq status` shows it, and how \
                each state ends. Four things block a destination:
                """),
            .list([
                (
                    "pause",
                    """
                    A person begins it with `drainq pause --destination`, and only `drainq resume --destination` ends \
                    it. It is not an error: operations that wait for it do not change the status of a run.
                    """
                ),
                (
                    "hold",
                    """
                    A person has to repair something, or a credential has to change. A person begins it with `drainq \
                    hold --destination`, or a run after an answer whose outcome is held. Every run ends with 69 while \
                    a due operation waits for the destination; the run that begins the hold reports it on standard \
                    error, and later ones are silent. `drainq release --destination` ends it. A hold that a run began \
                    also ends by a probe, or when the configuration of the destination changes, or a secret of it that \
                    is a file, a variable or a credential. Only a person releases a destination that a person holds. \
                    Other runs stop within a second of a hold, a retry-after or an open circuit breaker, also with \
                    operations that they send again. A run that is just testing the destination with samples goes on \
                    despite the latter two.
                    """
                ),
                (
                    "retry-after",
                    """
                    The server asked for time: status 429, `RESOURCE_EXHAUSTED` of a callable function, or Retry-After \
                    with any answer that defers. Runs send nothing until then. Each operation waits up to a fifth \
                    longer than the server asked, so that operations do not all come at one moment; it never waits \
                    less. The addition is at most five minutes. Retry-After is a number of seconds, which may have a fraction, or a date that is compared \
                    with the answer's own Date; of several fields the latest time counts. The longest wait is one day. \
                    Without Retry-After the wait is the first delay of the schedule. The run ends with 75. The state \
                    ends at that time or by `drainq release`; --now does not end it.
                    """
                ),
                (
                    "circuit breaker",
                    """
                    The server seems to be down: five attempts in a row failed to connect or to get a usable answer, \
                    or got 502, 503 or 504, or a 2xx that another server seems to have sent. The circuit breaker of \
                    the destination opens: runs send it no new operation for one second, after each further failure \
                    twice as long, up to half an hour. Operations that had an attempt keep their schedule, one at a \
                    time. Then it is half-open: one attempt, of the operation with the fewest, closes it or opens it \
                    again. See `circuitBreaker` and `coolDown`. The run ends with 75. The state ends when \
                    that attempt closes it, or by `drainq release`; `drainq run --now` ignores it.
                    """
                ),
            ]),
            .text("A run limits the harm of an outage by four more rules:"),
            .list([
                (
                    "storm guard",
                    """
                    If the first five answers of a destination in a run are the same permanent status, such as 404 \
                    after a bad deploy, and no attempt succeeded, the run first sends up to three samples, the newest \
                    other operations. If they meet the same status, the destination is held and all of them are put \
                    back. If one succeeds, or none says anything, the five fail as usual. An answer that `classify` or \
                    `answers` names never begins a storm: its own rule decides. Runs count failures of one status in a \
                    row until an operation is delivered: at most five operations fail in one incident, at any rate; \
                    then the destination is held, until a probe succeeds.
                    """
                ),
                (
                    "parked",
                    """
                    A 401, 403 or 407 at first concerns only the operation that met it. After a 401 the run looks up \
                    the secrets once more. Then it parks the operation and does not count the attempt. This \
                    run, or a later one, attempts a witness: the newest due operation with the same credentials. If \
                    the witness is delivered, the parked operation is attempted again, and fails if it is refused once \
                    more; if the witness is refused too, the destination is held. A parked operation delays only those that are ordered behind it. If \
                    no other operation comes, the parked one is attempted again after five minutes, then as often as a \
                    held destination is probed; a run reports the second refusal. In a destination with strict order \
                    no other operation can be tried: the destination is held. Any other answer that would hold the \
                    destination is checked with one other operation of the same run.
                    """
                ),
                (
                    "probe",
                    """
                    Every hour (`holdProbe`) a run probes a held destination with one operation, the newest that is \
                    due. If it is delivered, or fails with another status than the one that began the hold, the hold \
                    ends. Otherwise the hold continues, and the operation is put back.
                    """
                ),
                (
                    "window",
                    """
                    After a hold, a retry-after or an open circuit breaker the run makes one attempt at a time until \
                    one is delivered, then two at once, then four, and so on.
                    """
                ),
            ]),
            .text(
                """
                An operation can also be held individually: by `drainq hold ID`, or because its server may have received \
                it and no longer knows the key (`keyTTL`). The run that begins such a hold ends with 69; later ones pass \
                over the operation and may end with 0. \
                `drainq list --state held` shows both; `drainq release ID` or `drainq retry ID` makes it due, `drainq \
                drop ID` removes it.

                `drainq pause` pauses the whole queue; a run then makes no attempts and ends with 0. A run that is at \
                work lets attempts in flight finish, and ends with 75 if operations are still due. If `conditions` of \
                the configuration are not met, a run makes no attempts either, but ends with 75; with --verbose it \
                reports why.

                A machine without a network uses up no attempts. If an attempt meets a network error, and this machine \
                has only a loopback interface, no route or no name server, which would explain it, the run counts no \
                attempt, makes no more attempts to other machines and ends with 75. The first such run reports it; until \
                there is a network again, later runs check first and report it with --verbose alone. Runs still send \
                to destinations on loopback.

                drainq counts each attempt that is not a delivery against one of these alone: this machine, the \
                delivery agent, the network, the destination, the credentials, the batch or the operation. `drainq \
                explain ANSWER` and `drainq show` print which.
                """),
        ])

    static let signals = ManualChapter(
        title: "SIGNALS",
        blocks: [
            .text(
                """
                SIGINT, SIGTERM and SIGHUP ask a command to end. SIGHUP, which the end of a terminal session sends, has \
                no effect on a command that was started with it ignored, as by nohup(1).
                """),
            .list([
                (
                    "run",
                    """
                    Lets attempts in flight finish within the time of --grace, puts the rest back and ends with the \
                    status of what it has done, 75 if operations are still due. A second SIGINT or SIGTERM cuts off the \
                    attempts in flight and puts their operations back, with status 130 or 143. `demo` does the same.
                    """
                ),
                (
                    "send",
                    """
                    Ends the attempt or the wait for the next one, and leaves the operation in the queue, with status 75. With \
                    --no-queue it keeps nothing of it.
                    """
                ), ("wait", "Ends at once, with status 129 after SIGHUP, 130 after SIGINT and 143 after SIGTERM."),
                ("receive", "Ends with status 0. So does `status` with --watch."),
                (
                    "other commands",
                    """
                    The signal ends the process. Changes that the command has reported are durable; after the others, look at \
                    the queue. `add` and `import` have queued each operation whose id they have printed.
                    """
                ),
            ]),
        ])

    static let security = ManualChapter(
        title: "SECURITY CONSIDERATIONS",
        blocks: [
            .text(
                """
                Credentials belong in `secrets` of the configuration, which says where they are; see drainq-config(5). \
                drainq looks them up for each attempt. They are in no operation, no argument list, no file of the \
                queue, no message and no log. Before drainq keeps or shows any part of an answer, it replaces them, \
                and the header fields that `headersCommand` made, with `[secret]`: as they are, percent-encoded, \
                escaped as in JSON or HTML, and in Base64. A secret of less than 4 bytes stays as it is: it is a part of many \
                words. Only `drainq send` prints an answer unchanged.

                Credentials and kept values go only to the origin of their route's url. drainq never follows a redirect to \
                another origin. It refuses an operation whose own url leads elsewhere if its route has \
                a secret or a kept value in a header or a body, a header that is named as a credential, a \
                `headersCommand` or a signature.

                drainq refuses a file with a secret if other users may read it, or its group may write it. It runs \
                commands without a shell, with a few variables of the environment that drainq-config(5) lists, and \
                without those that are secrets. A child process makes the requests. It does not know the queue, \
                gets only the variables that its transports read, gains no privileges and leaves no core dump; other \
                processes of its user cannot inspect it.

                A run does not begin, and `drainq add` does not accept operations, in a queue that other users can \
                write to, except `new` and `tmp` with the sticky bit; see drainq-queue(5). A run and `drainq send` \
                refuse a `drainq.json` that other users can write to, or that belongs neither to root nor to the user \
                that runs drainq, because it names programs. They trust a file named by --config as it is.

                The queue keeps operations and the beginnings of answers in the clear: the queue directory is for its \
                owner alone. `state/destinations.json` has a fingerprint of 20 bits of each destination's credentials: \
                enough to notice a change, too little to find the credentials.

                drainq escapes text of payloads, keys and servers before it shows it. `drainq add` refuses a header \
                field with a line break.
                """)
        ])
}
