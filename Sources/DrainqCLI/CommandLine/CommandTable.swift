extension CommandDescription {
    package static let table: [CommandDescription] = [
        CommandDescription(
            .initialize, "make a queue directory and a commented configuration",
            """
            Makes the queue directory, readable and writable by its owner alone, with a configuration `drainq.json` in which \
            every line is explained, or with that of a service. What is already there is left as it is.
            """,
            exclusive: [[.url, .example]],
            examples: [
                Example(
                    "drainq init --url https://api.example.com/v1/events", "a queue whose operations go to this URL"),
                Example("drainq init --example list", "the services that there are configurations for"),
                Example("drainq init --example slack", "a queue for messages to Slack"),
                Example("drainq init -q /var/spool/drainq", "a queue at another place"),
            ]),
        CommandDescription(
            .add, "put operations into the queue",
            """
            Reads JSON from the files, or from standard input, and queues one operation for each value: a single document, or \
            one value on each line. The payload is kept byte for byte as it was given. Prints the ids, one on each line, once \
            the operations are safe on disk.

            A line that is not JSON is reported with its number and kept in `quarantine/`; the others are queued, and the \
            exit status is 65. With --atomic nothing is queued unless everything can be.

            The input may go on for ever: `tail -n 0 -F app.log | drainq add --type log` follows a file through its rotations, \
            queues each line once its line break is written, and prints the id once the line is safe. Where the pipe breaks, \
            lines that had no id yet are not in the queue; tail does not remember where it was. `--type '{payload.level}'` gives \
            each line the type that its member `level` names, and `--key '{payload.user}'` its key.

            With --content-type each file, or the whole of standard input, is the body of one operation and need not be JSON. \
            With --body-file the body stays in its file until it is sent.

            What could never be sent is refused like a bad line: a header field with a line break in it, a payload that does \
            not meet the `require` of its route, or one without a value that a template of its route needs.
            """,
            operands: .files,
            exclusive: [[.delay, .at], [.envelope, .contentType], [.envelope, .id], [.envelope, .bodyFile]],
            examples: [
                Example(#"printf '{"n":1}\n{"n":2}\n' | drainq add --type t"#, "two operations of the type t"),
                Example(
                    "drainq add --type crm --key customer-7 --delay 5m update.json",
                    "one operation, due in five minutes"),
                Example("drainq add --content-type text/csv --expires 7d report.csv", "a body that is not JSON"),
                Example(
                    "drainq add --type scan --body-file /var/lib/scans/1.tiff --content-type image/tiff",
                    "a large file, streamed from where it is"),
            ]),
        CommandDescription(
            .send, "send operations now, queue them only if they have to wait",
            """
            Takes the same input as `drainq add` and tries each operation at once. What is delivered is answered with the \
            body of the server's answer, as it came: the status is 0.

            What cannot be delivered now is queued, and due at the next run: the status is 75 after a temporary failure, or \
            where the queue or the destination is paused, its circuit breaker is open or its server asked for \
            time, and 69 where the destination is \
            held. Where older operations of its key come first by the `ordering` of its route, it is queued behind them, \
            with 75.

            What fails for good is an error with status 1 and is not queued; so is a single operation that is refused with 401, \
            403 or 407, unless another one was refused before it and the destination is held. Input that is no operation is \
            65, an operation for which the queue has no room 74. An operation whose id is in the queue already is not sent: \
            the status is 75 where that one waits, and 1 where it has failed or is quarantined. Of several operations the \
            status is the first that applies in EXIT STATUS.

            With --no-queue nothing is ever queued; the statuses are the same. With --fallback there is always an answer: \
            where nothing was delivered it is printed, and the status is 0. With --no-queue, --timeout and --fallback it is a call \
            that always answers. Only a wrong command line, a wrong configuration or a queue that is not there is an error \
            all the same.

            What an attempt says of its destination is remembered as after a run. `conditions` of the configuration are for \
            runs alone.
            """,
            operands: .files,
            exclusive: [[.envelope, .contentType], [.envelope, .id], [.envelope, .bodyFile]],
            examples: [
                Example(#"printf '{"n":1}\n' | drainq send --type t"#, "try now, queue if need be"),
                Example(
                    #"printf '{"query":"tea"}\n' | drainq send --type search --no-queue --timeout 2s --select /result --fallback '[]'"#,
                    "the list of results within two seconds, an empty one if there is no other"),
                Example(
                    "drainq send --type crm --retry-within 1m update.json", "try for a minute before it is queued"),
            ]),
        CommandDescription(
            .run, "attempt what is due, once",
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
            ]),
        CommandDescription(
            .list, "list operations",
            """
            Prints one line for each operation: its id, type, state and age, how many attempts of how many have been counted, \
            when a run may send it next or what it waits for, and what the last attempt met. Filters narrow the list; an \
            operation has to pass all of them. A file in quarantine that has no id stands there by its name, which other \
            commands take in its place.

            NEXT is `now`, a time, `held`, `paused`, `behind ID` for an older operation of its key or destination that goes \
            first, `replaced by ID` or `with ID` for a newer one that replaces it or that it is merged into, or `held behind ID` \
            for one that failed; behind a time stands its destination's reason: `held` until a probe, \
            `retry-after` where its server asked for time, or `circuit breaker` while that is open.

            At a terminal the columns fit its width, and where it is narrow each operation has two lines; the id is always \
            whole. Elsewhere everything is, in columns at least two blanks apart.
            """,
            examples: [
                Example("drainq list --state failed", "what was given up"),
                Example(
                    "drainq list --type crm --since 2h --json", "the last two hours of a type, for another program"),
            ]),
        CommandDescription(
            .show, "show operations with all their attempts",
            """
            Prints each operation as a story: what it waits for and why, its fields, each attempt with what the server \
            answered and which rule decided, and the beginning of its body; with --json all of the body. A file in quarantine \
            is shown with its reason.
            """,
            operands: .ids,
            examples: [
                Example("drainq show 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "the story of one operation"),
                Example(
                    "drainq list --state failed --json | jq -r .id | drainq show -", "the stories of all that failed"),
            ]),
        CommandDescription(
            .status, "show how the queue is",
            """
            Prints first what needs a person: a pause, destinations that are `held` or `paused`, each with the reason and the \
            command that ends it, and how many operations have failed or are in quarantine. Then come destinations that \
            open again by themselves, `retry-after` (the server asked for time) or `circuit breaker open` (after failures), with when they are \
            tried next. See DESTINATIONS.

            Below stands how many operations are in which state and are due, a table of what waits for each destination by \
            age, and the last run. A column counts what is younger than its heading, such as `5m`, and not in the column \
            before; `3d+` is the rest.
            """,
            exclusive: [[.json, .prometheus], [.watch, .prometheus]],
            examples: [
                Example("drainq status", "how the queue is, for a person"),
                Example("drainq status --watch --interval 5s", "how the queue is, on and on"),
                Example("drainq status --json", "how the queue is, for a program"),
                Example("drainq status --prometheus", "how the queue is, for Prometheus"),
            ]),
        CommandDescription(
            .retry, "make operations due again, with their attempts reset",
            """
            Failed operations go back into the queue, deferred ones no longer wait; the count of attempts begins anew. Which \
            ones is said by ids, by filters, or by --all. A file in quarantine goes back if it is an operation by now, and \
            else stays, with the reason.
            """,
            operands: .selection,
            examples: [
                Example("drainq retry --state failed --type crm", "all failed operations of a type"),
                Example("drainq retry --all --dry-run", "what would be retried"),
                Example("drainq retry --all --rate 20/s", "retry all that has failed, without a stampede"),
                Example(
                    "drainq list --state failed --json | jq -r .id | drainq retry -",
                    "retry what a filter of your own lets through"),
            ]),
        CommandDescription(
            .drop, "remove operations from the queue for good",
            """
            Removes operations that are not being attempted at this moment. Which ones is said by ids, by filters, or by \
            --all. There is no way back. What was held behind an operation that failed (`onFailure` of its route) goes on then, \
            and how many these are is said.
            """,
            operands: .selection,
            examples: [
                Example("drainq drop 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "drop one operation"),
                Example(
                    "drainq drop --state failed --before 30d --dry-run",
                    "what would be dropped of what failed more than thirty days ago"),
            ]),
        CommandDescription(
            .hold, "keep operations or a destination from being sent",
            """
            Holds operations that wait: no run attempts them, and nothing is charged to them, until they are released. Which \
            ones is said by ids, by filters, or by --all.

            With --destination and nothing else that chooses, the destination itself is held: what waits for it and what is \
            added later. A run never tries what a person holds.
            """,
            operands: .selection,
            examples: [
                Example("drainq hold 6f9619ff-8b86-4011-b42d-00cf4fc964ff", "hold one operation"),
                Example(
                    "drainq hold --destination https://api.example.com --reason 'moving to a new server'",
                    "hold all that goes to one place, now and later"),
            ]),
        CommandDescription(
            .release, "end holds of operations or destinations",
            """
            Releases operations that are held by themselves, with their attempts reset. Which ones is said by ids, by \
            filters, or by --all.

            With --destination and nothing else that chooses, the hold of the destination ends, whoever began it, and so do \
            its open circuit breaker and the time that its server asked for. With --all every destination and every operation is \
            released. A pause ends by `drainq resume` alone. Whatever caused a hold should be mended first: the next run finds \
            out with one operation.
            """,
            operands: .selection,
            examples: [
                Example(
                    "drainq release --destination https://api.example.com", "release a place whose token was renewed"),
                Example("drainq release --type crm", "release the operations of a type"),
                Example("drainq release --all", "release everything"),
            ]),
        CommandDescription(
            .pause, "make runs attempt nothing",
            """
            Runs attempt nothing until `drainq resume`; operations are accepted as ever. With --destination this is so for \
            one destination only.
            """,
            examples: [
                Example("drainq pause", "stop all attempts before maintenance"),
                Example("drainq pause --destination https://api.example.com", "stop attempts to one place only"),
            ]),
        CommandDescription(
            .resume, "end a pause",
            "Ends the pause of the queue, or with --destination that of a destination.",
            examples: [Example("drainq resume", "go on after maintenance")]),
        CommandDescription(
            .export, "print operations with all that belongs to them",
            """
            Prints one line of JSON for each operation, with everything that its file and its name say, so that \
            `drainq import` makes the same operation of it: its header, its body byte for byte, its attempts, its state and \
            when it is due. Without ids, filters or --all it is everything that waits or has failed. Nothing is removed.

            The body is `payload` where it is JSON on one line, else `bodyBase64`; a body in a file of its own stays there. \
            The lines may be edited: the body is what stands there then. Numbers of more than 17 digits, and such as 1.10, \
            are written anew by some versions of `jq` wherever they stand.

            What is in quarantine is no operation and is not exported. Of a queue at which a run is at work, an operation can \
            be missing, or be there twice, and what is being attempted may be delivered all the same: `drainq pause` first.
            """,
            operands: .optionalSelection,
            examples: [
                Example("drainq export > backup.ndjson", "all that waits or has failed"),
                Example(
                    "drainq export --state failed | jq -c '.payload.version = 2' | drainq import -q /var/spool/other",
                    "take what has failed, edited, into another queue"),
                Example(
                    "drainq export --type crm | tee moved.ndjson | drainq drop -", "move the operations of a type out"),
            ]),
        CommandDescription(
            .import, "take in what drainq export has printed",
            """
            Reads operations as `drainq export` prints them from the files, or from standard input, and puts each into the \
            queue as it was: with its id, its time of creation, its attempts, its state and when it is due. Prints the ids, one \
            on each line, once the operations are safe on disk. An id that is in the queue already is left as it is, and said; \
            where that is so of all of them nothing is imported, and the status is 1. With --replace an operation takes the \
            place of the one that has its id.

            A line that is no such operation is reported with its number and kept in `quarantine/`; the others are taken in, \
            and the exit status is 65. With --atomic nothing is taken in unless everything can be.
            """,
            operands: .files,
            examples: [
                Example("drainq import -q /var/spool/new backup.ndjson", "what was exported before, into a new queue"),
                Example(
                    "drainq export --state failed | jq -c '.payload.version = 2' | drainq import --replace | drainq retry -",
                    "edit what has failed, and send it again"),
                Example(
                    "drainq export -q /var/spool/old | drainq import -q /var/spool/new", "from one queue to another"),
            ]),
        CommandDescription(
            .check, "check the configuration and the queue directory",
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
            ]),
        CommandDescription(
            .explain, "say what an answer means, and by which rule",
            """
            Says what a status such as 503, or an error such as `timeout`, means on the route of --type: what becomes of the \
            operation and of its destination, by which rule, when the next attempts are, and what makes them. Without a \
            status or an error it lists what every answer means. With --answer it judges a recorded answer, its header and \
            body as well. Nothing is sent. With --config no queue is needed.
            """,
            operands: .answer,
            examples: [
                Example("drainq explain 401", "why operations are held"),
                Example("drainq explain timeout --type crm", "what a time-out means on the route of a type"),
                Example("drainq explain", "what every answer means"),
                Example(
                    "curl -si https://api.example.com/v1/orders | drainq explain --answer -",
                    "what this answer would mean"),
                Example(
                    "drainq explain UNAVAILABLE --config memory.json5 --type addSupermemoryMemory",
                    "what a callable function says, without a queue"),
            ]),
        CommandDescription(
            .demo, "drain a sample queue into an embedded receiver",
            """
            Makes a queue in a temporary directory, starts a receiver on the loopback interface, adds sample operations, or \
            those on standard input where it is not a terminal, drains the queue and shows what happens. Needs no server and \
            leaves nothing behind.
            """,
            examples: [
                Example("drainq demo", "drain sample operations"),
                Example(#"printf '{"n":1}\n{"n":2}\n' | drainq demo"#, "drain your own"),
            ]),
        CommandDescription(
            .receive, "receive requests on the loopback interface",
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
            ]),
        CommandDescription(
            .completions, "print completions for a shell",
            "Prints the completions of drainq for bash, zsh or fish.",
            operands: .one(of: Shell.allCases.map(\.rawValue), placeholder: "SHELL"),
            examples: [
                Example(
                    "drainq completions bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/drainq",
                    "for one user of bash"),
                Example(
                    "drainq completions fish | install -D /dev/stdin ~/.config/fish/completions/drainq.fish",
                    "for one user of fish"),
                Example(
                    "drainq completions zsh | install -D /dev/stdin /usr/local/share/zsh/site-functions/_drainq",
                    "for every user of zsh"),
            ]),
        CommandDescription(
            .manual, "print this manual",
            """
            Prints a manual page, `drainq` or `drainq-json`, in the mdoc language of `mandoc` and `groff`. The default is \
            `drainq`.
            """,
            operands: .optional(of: ManualPage.allCases.map(\.rawValue), placeholder: "PAGE"),
            examples: [
                Example("drainq manual | man -l -", "read the manual without installing it"),
                Example("drainq manual drainq-json | man -l -", "the same for what commands print with --json"),
            ]),
        CommandDescription(
            .schema, "print a JSON Schema of the configuration",
            """
            Prints a JSON Schema (draft 7) of `drainq.json`, with which an editor completes and checks the file while it is \
            written. Name it in the file: `$schema: "./drainq.schema.json"`. `drainq check` finds more than a schema can.
            """,
            examples: [
                Example("drainq schema > drainq.schema.json", "beside the configuration that names it")
            ]),
        CommandDescription(.version, "print the version", "Prints the name and the version."),
        CommandDescription(
            .help, "explain a command",
            "Prints what the commands are, or how one of them is used.",
            operands: .optional(
                of: CommandName.allCases.filter { $0 != .agent }.map(\.rawValue), placeholder: "COMMAND"),
            examples: [Example("drainq help run", "the same as drainq run --help")]),
        CommandDescription(
            .agent, "make attempts for a run", "Started by a run.", operands: .anything, isHidden: true),
    ]
}
