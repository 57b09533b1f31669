extension ManualChapter {
    /// Schema 1 of every `--json`; a test of the whole program looks for each field in the manual.
    static let json = ManualChapter(
        title: "JSON OUTPUT",
        blocks: [
            .text(
                """
                With --json a command prints an object on each line. This is `schema` 1 of all of them, whether they \
                say so or not: fields may be added, and none changes its meaning. What is not so is not there. Times \
                are RFC 3339 in UTC, and durations milliseconds.
                """),
            .list([
                (
                    "list",
                    """
                    An operation: `id`, `type`, `state`, `destination`, `key`, `createdAt`, `due` (what the schedule \
                    set), `notBefore` (what the operation asked for), `attempts`, `attemptsAllowed`, \
                    `interruptions`, `lastStatus`, `lastError`, `lastAttempt`, `rule` (which decided last), `path` \
                    (of its file in the queue) and `run` (which has claimed it). A file in quarantine: `event` \
                    (`quarantined`), `id`, `createdAt`, `at`, `reason`, `originalName`, `source` and `path`. A dry \
                    run prints operations too.
                    """
                ),
                (
                    "show",
                    """
                    The same, with `method`, `url`, `contentType`, `expiresAt`, `idempotencyKey`, `bodyFile`, \
                    `bodyLength`, `body` (where it is text), `history` and `destinationHold`. An element of \
                    `history` has `at`, `durationMs`, `outcome`, `status`, `error`, `rule`, `retryAfter` (seconds) \
                    and `excerpt`.
                    """
                ),
                (
                    "status",
                    """
                    One object: `queue`, `paused`, `states` (counts by state), `destinations`, `holds`, \
                    `heldByThemselves` (operations held though their destination is not), `oldest`, `nextDue`, `due` \
                    (how many may be tried now) and `lastRun`, the summary of a run. Of `destinations` each has \
                    `destination`, the counts `new`, `deferred`, `held`, `claimed` and `failed`, `oldest`, \
                    `nextDue`, `paused`, `notBefore` (a wait), `suspendedUntil`, `failures` and `lastFailure` (in a \
                    row), `window` and `lastSuccess`. Of `holds` each has `destination`, `reason`, `since`, \
                    `byHand`, `nextProbe` and `operations`, a count.
                    """
                ),
                (
                    "run",
                    """
                    An object for each attempt, with the `event` `attempt`: `id`, `type`, `destination`, `at`, \
                    `durationMs`, `outcome`, `status`, `error`, `rule`, `attempts`, `attemptsAllowed` and `due`. \
                    Files in quarantine as in the list. At last the `event` `summary`: `startedAt`, `durationMs`, \
                    `end` (`done`, `paused`, `busy`, `max-time`, a signal or an error), `exitStatus`, `conditions` \
                    (why nothing was attempted), `nextDue`, and counts. `attempts` are requests. `delivered`, \
                    `deferred`, `failed` (of which `expired`), `superseded` and `ambiguous` (held by themselves) are \
                    operations that were settled; `held`, `waiting` (for a suspension, a wait or the conditions) and \
                    `leftDue` (beyond the limit) those that were not attempted; `cutOff` those that were put back at \
                    the end. `recovered` is what a dead run had claimed; besides there are `quarantined` and \
                    `inputOutputErrors`.
                    """
                ),
                (
                    "add",
                    """
                    For each operation `id`, with `duplicate` and `state` where it is in the queue already; \
                    otherwise `error`, `source` and `line`.
                    """
                ),
                (
                    "send",
                    """
                    `id`, `outcome` (`delivered`, `queued`, `failed`, or with --no-queue `deferred`), `status`, \
                    `rule`, `error`, and `answer`, the body of the server's answer, or `answerBase64` where it is \
                    not text.
                    """
                ),
                (
                    "retry, drop, hold, release",
                    "`id` and `state` (where it was), `path` for a file in quarantine, or `destination`."
                ),
                ("check", "`finding` (`ok`, `note` or `problem`), `text` and `hint`."),
                (
                    "explain",
                    """
                    What an answer means: `answer`, `route`, `outcome`, `rule`, `provided` (what else must be true) \
                    and `otherwise`, `operation`, `countsAttempt`, `destination` and `retry`. The table: `route`, \
                    `answers` (each with `answers`, `outcome` and `rule`), `retry`, `retryRateLimited` and \
                    `expiresAfter`. A `route` has `type`, `method`, `url`, `destination`, `transport` and \
                    `transportReason`; a schedule `delays`, `thenEvery`, `jitter`, `attemptsAllowed` and `maxAge`.
                    """
                ),
            ]),
        ])
}
