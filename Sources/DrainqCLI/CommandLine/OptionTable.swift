import Drain
import Policy

extension OptionDescription {
    private static let visible = CommandName.allCases.filter { $0 != .agent }
    private static let onQueue: [CommandName] = [
        .initialize, .add, .send, .run, .list, .show, .status, .retry, .drop, .hold, .release, .pause, .resume,
        .export, .import, .check, .explain,
    ]
    /// Commands that change the operations they are pointed at.
    private static let acting: [CommandName] = [.retry, .drop, .hold, .release]
    private static let filtered: [CommandName] = [.list, .export] + acting

    package static let table: [OptionDescription] =
        input + inputFiles + attempt + pace + selection + explained + receiver + global

    private static let input: [OptionDescription] = [
        OptionDescription(
            .url, .text("URL"), of: [.initialize], "where operations go",
            "The URL of the default route in the new configuration. Without it the configuration has a place to fill in."
        ),
        OptionDescription(
            .example, .text("NAME"), of: [.initialize], "begin with the configuration of a service",
            """
            The configuration is that of a service, such as `slack` or `elasticsearch`, instead of one in which every line is \
            explained. `list` prints the names, with what each is for, and makes no queue. GALLERY in drainq-config(5) \
            compares them.
            """),
        OptionDescription(
            .type, short: "t", .template(.type, "TYPE"), of: [.add, .send], initial: "default",
            "the type, which chooses the route",
            """
            The type of the operations, by which the configuration finds their route. `{payload.NAME}` in it stands for a \
            member of each payload.
            """),
        OptionDescription(
            .key, .template(.key, "KEY"), of: [.add, .send], "what the operation is about, for order and coalescing",
            """
            Operations with the same key belong together where the route orders or coalesces them. `{payload.NAME}` in it \
            stands for a member of each payload.
            """),
        OptionDescription(
            .url, .text("URL"), of: [.add, .send], "send to this URL instead of the route's",
            "The URL for these operations alone."),
        OptionDescription(
            .method, .text("METHOD"), of: [.add, .send], "send with this method instead of the route's",
            "The HTTP method for these operations alone, such as `PUT`."),
        OptionDescription(
            .header, short: "H", .header, repeats: true, of: [.add, .send], "add a header field, 'Name: value'",
            "A header field for these operations alone, written `Name: value`; it replaces the route's of the same name."
        ),
        OptionDescription(
            .contentType, .text("MEDIATYPE"), of: [.add, .send], "take the input as one body of this media type",
            "Each file, or the whole of standard input, is the body of one operation, sent with this media type as it is."
        ),
        OptionDescription(
            .delay, .duration, of: [.add], "not due before so long from now",
            "How long the operations wait before they are due."),
        OptionDescription(
            .at, .time(.future), of: [.add], "not due before this time",
            "When the operations become due. Not together with --delay."),
        OptionDescription(
            .expires, .time(.future), of: [.add, .send], "give up at this time",
            "From this time on the operations are not sent any more but fail."),
        OptionDescription(
            .id, .operationID, of: [.add, .send], "the id, for a single operation",
            "The id instead of a random UUID. Adding an id that is in the queue already does nothing and says so; so does sending it."
        ),
        OptionDescription(
            .envelope, of: [.add, .send], "each value is a whole operation with its fields",
            """
            Each value on the input is an object with the fields of an operation, such as `payload`, `type` and `key`, and \
            not only its payload. What it leaves out is taken from the options.
            """),
        OptionDescription(
            .atomic, of: [.add, .import], "queue all or nothing",
            "One bad line, or a queue without room for all, and none of the operations is queued."),
        OptionDescription(
            .replace, of: [.import], "take the place of what has the same id",
            """
            An operation takes the place of the one in the queue that has its id, in one step: after a crash one of the two \
            is there. One that is in flight stays as it is and is said, with status 75. The input is read to its end before \
            anything is replaced, so that it may come from `drainq export` of the same queue.
            """),
        OptionDescription(
            .sync, .choice(["full", "none"]), of: [.add, .import], initial: "full",
            "how safe before the ids are printed",
            """
            With `full` an id is printed when its operation would survive a power cut. --sync=none leaves the writing to \
            the kernel: faster, and what was added in the last seconds before a power cut may be lost or empty.
            """),
    ]

    private static let inputFiles: [OptionDescription] = [
        OptionDescription(
            .bodyFile, .file("PATH"), repeats: true, of: [.add, .send], "send this file as the body, streamed",
            """
            The file is the body of one operation and stays where it is: it is read when it is sent, and refused if it has \
            changed since it was added. It has to lie in one of the directories that `bodyFiles` of the configuration names. \
            Nothing is read from standard input then. Given more than once, each file is an operation.
            """)
    ]

    private static let attempt: [OptionDescription] = [
        OptionDescription(
            .noQueue, of: [.send], "never queue, whatever happens",
            "A temporary failure is an error and nothing more: the operation is not kept."),
        OptionDescription(
            .timeout, .duration, of: [.send], "end an attempt after so long",
            "How long an attempt may take, where that is less than the route says. Each attempt of --retry-within has it."
        ),
        OptionDescription(
            .retryWithin, .duration, of: [.send], "try again within so long",
            """
            Try again by the schedule `retry` of the route, or when the server said, as long as the next attempt begins within \
            this time. Only then the operation is queued, with its attempts counted.
            """),
        OptionDescription(
            .fallback, .text("JSON"), of: [.send], "answer this where nothing else does",
            """
            What to print, with status 0, where the operation was not delivered. Without --no-queue it may be queued besides. \
            Why it was not delivered is said with --verbose.
            """),
        OptionDescription(
            .select, .pointer, of: [.send], "print this part of the answer",
            """
            Print the value that is at this place (RFC 6901) of the answer, which has to be JSON, as it stands there, and a \
            newline: `/result/items`. So the answer and --fallback have one shape. An answer without it prints \
            --fallback; without that option it is an error, with status 65, and the operation is delivered all the same.
            """),
    ]

    private static let pace: [OptionDescription] = [
        OptionDescription(
            .limit, .count(1...Int.max), of: [.run], "attempt at most so many operations",
            """
            How many operations a run takes: 100 by default, or all that are due where --max-time bounds the run. With \
            --wait or --until-empty the limit holds for each pass. As many again that have expired behind a closed \
            destination fail in a pass. Older values that the operations it takes replace do not count.
            """),
        OptionDescription(
            .concurrency, .count(1...1000), of: [.run], initial: "5", "attempt so many at a time",
            "How many attempts are under way at once."),
        OptionDescription(
            .maxTime, .duration, of: [.run], "begin nothing after so long",
            "After this time the run claims nothing more; what is under way ends within the time of --grace."),
        OptionDescription(
            .grace, .duration, of: [.run], initial: "10s", "let attempts finish for so long when told to stop",
            "How long attempts that are under way may take after a signal or after --max-time, before they are cut off."
        ),
        OptionDescription(
            .wait, .duration, of: [.run], "stay for what becomes due within so long",
            "When nothing is due, wait for operations that become due, or are added, within this time after the start."),
        OptionDescription(
            .untilEmpty, of: [.run], "stay until nothing waits any more",
            "Go on until every operation is delivered, failed or held."),
        OptionDescription(
            .now, of: [.run], "do not wait for due times, cool-downs and conditions",
            """
            Attempt operations that are deferred to a later time, and destinations whose circuit breaker is open, whatever \
            `conditions` of the configuration ask for. Holds, pauses, the time that a server asked for, and the time before \
            which an operation itself is not to be sent stand.
            """),
        OptionDescription(
            .type, short: "t", .typeName, repeats: true, of: [.run], "attempt only this type",
            "Only operations of this type; given more than once, of any of these."),
        OptionDescription(
            .destination, .destination, repeats: true, of: [.run], "attempt only what goes to this destination",
            "Only operations for this destination, as `drainq status` names it; given more than once, for any of these."
        ),
        OptionDescription(
            .rate, .rate, of: [.run], "begin at most so many attempts, as in 20/s",
            """
            How many attempts begin in so much time, over all destinations, evenly: `20/s`, `90/m`, `500/h`. A run keeps \
            the rate that it began with. To change it, end the run with SIGINT, which loses nothing and uses up no \
            attempts, and start one with another rate.
            """),
        OptionDescription(
            .rate, .rate, of: [.retry], "make so many due in a time, as in 20/s",
            """
            One after the other becomes due, so many in that time, the oldest first: thousands of operations that failed \
            together do not come back together. Each waits for its time whatever the schedule says; with --dry-run the \
            times are shown.
            """),
        OptionDescription(
            .failIfBusy, of: [.run], "attempt nothing while another run is at it",
            "End at once with status 75 where another run is at this queue, instead of sharing the work with it."),
        OptionDescription(
            .stats, of: [.run], "say where the time of the run went",
            """
            A line on standard error at the end that says how much of the time went into choosing what to attempt, claiming \
            and reading it, waiting for answers, settling what came of them, and syncing the disk, and what could be tuned. \
            With --json the summary always has it.
            """),
        OptionDescription(
            .progress, .choice(["auto", "always", "never"]), of: [.run], initial: "auto", "show how far the run is",
            """
            A line on standard error that says how far the run is, when there are more than five operations: the count, the \
            rate, the time left, and what is deferred, held or failed. At a terminal it stays below all other lines; \
            elsewhere `always` writes a line a second. `auto` shows it at a terminal, in place of the lines for attempts \
            that went well; --verbose shows both.
            """),
        OptionDescription(
            .log, .choice(["auto", "text", "json", "journal"]), of: [.run], initial: "auto",
            "write standard error for this reader",
            """
            How standard error is written. `text` is for people; `journal` puts the priority that the journal understands \
            before each line, as `<3>` before an error; `json` is an object on each line: every attempt and event, whether \
            or not somebody watches, and a summary, with --quiet only what somebody has to look at. `auto` is `journal` \
            where standard error is connected to the journal, as systemd says in JOURNAL_STREAM, and `text` elsewhere. \
            Payloads are in none of them, and of an answer that was no delivery only an excerpt.

            Each object of `json` has `time`, `level` (`error`, `warning`, `notice` or `info`), `event` and `schema`, which is \
            1. The event is `attempt`, with the members that it has with --json; `held` or `released`, with a `destination`; \
            `superseded`, with an `id` and `by`, the id of the newer one; `recovered`, of what a run that died had claimed; \
            `quarantined`; `message`, with a `message` and perhaps a `hint`; or `summary`.
            """),
        OptionDescription(
            .dryRun, short: "n", of: [.run] + acting, "show what would be done, change nothing",
            "Print what would be done, and do nothing."),
    ]

    private static let selection: [OptionDescription] = [
        OptionDescription(
            .prometheus, of: [.status], "print metrics for Prometheus",
            """
            Print the queue as metrics in the text format of Prometheus: operations by state and destination, the time of \
            the oldest, what is due, which destinations are closed and why, the last run, and what runs have counted. The \
            key `metrics.textfile` of the configuration makes each run write the same to a file.
            """),
        OptionDescription(
            .all, of: [.retry, .drop, .hold], "choose every operation",
            "Every operation that the command can be used on."),
        OptionDescription(
            .all, of: [.release], "release every destination and operation",
            "Every destination that is held, whose circuit breaker is open or whose server asked for time, and every operation that is held by itself."
        ),
        OptionDescription(
            .all, of: [.export], "choose every operation",
            "Every operation that waits or has failed, and besides the kept copies of what was delivered."),
        OptionDescription(
            .reason, .text("TEXT"), of: [.hold], "say why, for whoever looks at the status",
            "Why the destination is held; `drainq status` shows it. Only with --destination alone."),
        OptionDescription(
            .watch, of: [.status], "show it again and again, until interrupted",
            "Show the status again after each --interval, at a terminal in the place of the one before, until SIGINT ends it."
        ),
        OptionDescription(
            .interval, .interval, of: [.status], initial: "2s", "how long between two, with --watch",
            "How long to wait between two statuses; only with --watch."),
        OptionDescription(
            .repair, of: [.check], "mend what is wrong with the directory",
            "Mend what can be mended without a person, and say what was; what is alive stays as it is."),
        OptionDescription(
            .type, short: "t", .typeName, of: [.explain], initial: "default", "the type whose route is meant",
            "The type whose route is explained."),
        OptionDescription(
            .destination, .destination, repeats: true, of: [.pause, .resume], "only this destination",
            "Only this destination, by its name as `drainq status` shows it."),
        OptionDescription(
            .limit, .count(1...Int.max), of: [.list], "show at most so many",
            "How many operations are shown, oldest first."),
        OptionDescription(
            .limit, .count(1...Int.max), of: acting, "at most so many, the oldest first",
            "Only so many of those that are chosen, the oldest first, and of what is in quarantine last."),
        OptionDescription(
            .state, .choice(ShownState.allCases.map(\.rawValue)), repeats: true,
            of: filtered, group: .filter, "in this state",
            """
            In this state; given more than once, in any of these. `held` is what a person or its destination holds, and \
            `new` and `deferred` are the others that wait.
            """),
        OptionDescription(
            .destination, .destination, repeats: true, of: filtered, group: .filter, "for this destination",
            "For this destination, by its name as `drainq status` shows it; given more than once, for any of these."),
        OptionDescription(
            .type, short: "t", .typeName, repeats: true, of: filtered, group: .filter, "of this type",
            "Of this type; given more than once, of any of these."),
        OptionDescription(
            .key, .text("KEY"), of: filtered, group: .filter, "with this key", "With exactly this key."),
        OptionDescription(
            .status, .answer, repeats: true, of: filtered, group: .filter,
            "whose last attempt met this status or error",
            """
            Whose last attempt met this: a status such as `503`, a range such as `500-599` or `5xx`, or the name of an error \
            such as `timeout`, as for `drainq explain`; given more than once, any of these. Each file is read for it.
            """),
        OptionDescription(
            .since, .time(.past), of: filtered, group: .filter, "created at this time or later",
            "Created at this time or later; `2h` is two hours ago."),
        OptionDescription(
            .before, .time(.past), of: filtered, group: .filter, "created before this time",
            "Created before this time; `30d` is thirty days ago."),
    ]

    private static let explained: [OptionDescription] = [
        OptionDescription(
            .answer, .file("FILE"), of: [.explain], "what the recorded answer in this file means",
            """
            A file with an HTTP response as `curl -i` prints it: status line, header fields, an empty line and the body; `-` is \
            standard input. It is judged as if an attempt had met it, body and all. Not together with a status or an error.
            """)
    ]

    private static let receiver: [OptionDescription] = [
        OptionDescription(
            .port, .count(0...65_535), of: [.receive], initial: "0", "listen on this port",
            "The port; 0 is any that is free."),
        OptionDescription(
            .answer, .text("ANSWER"), repeats: true, of: [.receive], "answer like this",
            "What to answer, such as `503` or `429 retry-after=5 *2`. Given more than once, the answers are played in turn."
        ),
        OptionDescription(
            .count, .count(1...Int.max), of: [.receive], "end after so many requests",
            "End when so many requests were answered."),
        OptionDescription(
            .maxTime, .duration, of: [.receive], "end after so long", "End after this time, whatever came."),
        OptionDescription(
            .bodies, of: [.receive], "show bodies alone",
            "Print the bodies and nothing else, each as a line of JSON; with --json, in the object of its request."),
        OptionDescription(
            .urlFile, .file("FILE"), of: [.receive], "write the URL to this file",
            "Write the URL to this file as soon as requests are taken, so that a script knows when and where."),
    ]

    private static let global: [OptionDescription] = [
        OptionDescription(
            .queue, short: "q", .directory("DIR"), of: onQueue, group: .global, "the queue directory",
            "The queue directory. Without it the environment says where it is."),
        OptionDescription(
            .config, .file("FILE"), of: onQueue, group: .global,
            "the configuration instead of drainq.json in the queue",
            "The configuration, instead of `drainq.json` in the queue directory."),
        OptionDescription(
            .json,
            of: [
                .add, .send, .run, .list, .show, .status, .retry, .drop, .hold, .release, .import, .check, .explain,
                .receive,
            ],
            group: .global,
            "print JSON, an object on each line",
            "Print JSON for programs: an object on each line. drainq-json(5) has every member of them."),
        OptionDescription(
            .verbose, short: "v", of: onQueue + [.demo, .receive], group: .global, "say more on standard error",
            "Say what is done on standard error, also where it is not a terminal."),
        OptionDescription(
            .quiet, of: onQueue + [.demo, .receive], group: .global, "say only errors, also on a terminal",
            "Say nothing on standard error but errors, also where it is a terminal. Not together with --verbose."),
        OptionDescription(
            .help, short: "h", of: visible, group: .global, "explain the command", "Print how the command is used."),
        OptionDescription(
            .version, of: visible, group: .global, "print the version", "Print the version of drainq."),
    ]
}
