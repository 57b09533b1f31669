import Drain
import Policy

/// What `drainq run` is told.
struct RunArguments: CommandArguments {
    /// Whether a line shows how far the run is.
    enum ProgressLine: String, CaseIterable {
        case auto, always, never
    }

    /// For whom standard error is written.
    enum Reader: String, CaseIterable {
        case auto, text, json, journal
    }

    /// Operations to send; all that are due where there is none.
    var ids: [String] = []
    var limit: Int?
    var concurrency = RunOptions().concurrency
    var maxTime: Duration?
    var grace = RunOptions().grace
    var wait: Duration?
    var staysUntilEmpty = false
    var ignoresBackoff = false
    var types: [TypeName] = []
    var destinations: [String] = []
    var rate: Rate?
    var failsIfBusy = false
    var tellsTime = false
    var progress = ProgressLine.auto
    var log = Reader.auto
    var isRehearsal = false
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .limit, .count(1...Int.max), \.limit, "attempt at most so many operations",
            """
            How many operations a run takes: 100 by default, or all that are due where --max-time bounds the run. With \
            --wait or --until-empty the limit holds for each pass. As many again that have expired behind a closed \
            destination fail in a pass. Older values that the operations it takes replace do not count.
            """)
        Option(
            .concurrency, .count(1...1000), initial: \.concurrency, "attempt so many at a time",
            "How many attempts are under way at once.")
        Option(
            .maxTime, .duration, \.maxTime, "begin nothing after so long",
            "After this time the run claims nothing more; what is under way ends within the time of --grace.")
        Option(
            .grace, .duration, initial: \.grace, "let attempts finish for so long when told to stop",
            "How long attempts that are under way may take after a signal or after --max-time, before they are cut off."
        )
        Option(
            .wait, .duration, \.wait, "stay for what becomes due within so long",
            "When nothing is due, wait for operations that become due, or are added, within this time after the start.")
        Option(
            .untilEmpty, \.staysUntilEmpty, "stay until nothing waits any more",
            "Go on until every operation is delivered, failed or held.")
        Option(
            .now, \.ignoresBackoff, "do not wait for due times, cool-downs and conditions",
            """
            Attempt operations that are deferred to a later time, and destinations whose circuit breaker is open, whatever \
            `conditions` of the configuration ask for. Holds, pauses, the time that a server asked for, and the time before \
            which an operation itself is not to be sent stand.
            """)
        Option(
            .type, short: "t", .typeName, each: \.types, "attempt only this type",
            "Only operations of this type; given more than once, of any of these.")
        Option(
            .destination, .destination, each: \.destinations, "attempt only what goes to this destination",
            "Only operations for this destination, as `drainq status` names it; given more than once, for any of these."
        )
        Option(
            .rate, .rate, \.rate, "begin at most so many attempts, as in 20/s",
            """
            How many attempts begin in so much time, over all destinations, evenly: `20/s`, `90/m`, `500/h`. A run keeps \
            the rate that it began with. To change it, end the run with SIGINT, which loses nothing and uses up no \
            attempts, and start one with another rate.
            """)
        Option(
            .failIfBusy, \.failsIfBusy, "attempt nothing while another run is at it",
            "End at once with status 75 where another run is at this queue, instead of sharing the work with it.")
        Option(
            .stats, \.tellsTime, "say where the time of the run went",
            """
            A line on standard error at the end that says how much of the time went into choosing what to attempt, claiming \
            and reading it, waiting for answers, settling what came of them, and syncing the disk, and what could be tuned. \
            With --json the summary always has it.
            """)
        Option(
            .progress, .choice, initial: \.progress, "show how far the run is",
            """
            A line on standard error that says how far the run is, when there are more than five operations: the count, the \
            rate, the time left, and what is deferred, held or failed. At a terminal it stays below all other lines; \
            elsewhere `always` writes a line a second. `auto` shows it at a terminal, in place of the lines for attempts \
            that went well; --verbose shows both.
            """)
        Option(
            .log, .choice, initial: \.log, "write standard error for this reader",
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
            """)
        Option.dryRun(\.isRehearsal)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension Option {
    static func dryRun(_ place: any WritableKeyPath<Arguments, Bool> & Sendable) -> Option {
        Option(
            .dryRun, short: "n", place, "show what would be done, change nothing",
            "Print what would be done, and do nothing.")
    }
}

extension CommandDescription {
    static let run = CommandDescription(
        .run, Command.run, "attempt what is due, once",
        """
        Takes up to --limit operations that are due, oldest first, sends them, and ends. What is delivered leaves the \
        queue; what failed for now is deferred to a later time; what failed for good goes to `failed/`. Several runs may \
        share one queue. The exit status says what happened.

        Where nobody watches, a run in which all went well prints nothing, so that cron mails only what matters. \
        Operations that fail for the same cause at the same destination are told once an hour, with the count since, and \
        so is a hold by the storm guard that comes of them; the end of a hold is told once, where its cause was. \
        With --verbose, or at a terminal, there is a line for each attempt and a summary.

        With ids it sends these operations now and no others, whatever they wait for: a later attempt, the time before \
        which they are not to be sent, a cool-down, `conditions`, or another operation after a refusal. Holds and pauses \
        stand, and so do the time that a server asked for and the order of a sequence: an older operation that goes first \
        is named too. An id that is not in the queue, or of an operation that is over, is an error with status 1; what \
        was not sent all the same is said with the reason, and the status is 69 where it is held and 75 otherwise.

        SIGTERM and SIGINT let what is being sent finish within the time of --grace, put back the rest and end the run; \
        a second signal cuts it off.
        """,
        operands: .optionalIDs,
        examples: [
            Example("drainq run", "one pass, for cron or a systemd timer"),
            Example("drainq run 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "send one operation now"),
            Example(
                "drainq run --limit 500 --concurrency 10 --max-time 50s",
                "a larger pass that is over within the minute"),
            Example("drainq run --until-empty --max-time 1h", "stay until nothing is left, or for an hour"),
            Example("drainq run --now --until-empty --rate 5/s", "all that waits after an outage, gently"),
            Example("drainq run --dry-run --json", "what a run would attempt"),
        ])
}
