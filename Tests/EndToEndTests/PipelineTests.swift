import Foundation
import LoopbackReceiver
import Testing

/// The program in shell pipelines.
struct PipelineTests {
    private func failed(_ count: Int) throws -> Drainq {
        let receiver = try LoopbackReceiver(script: .always(.status(400)))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", "--type", "t", input: numbered(count))
        try queue.run("run", "--limit", "4")
        #expect(try queue.names("failed").count == count)
        return queue
    }

    @Test(arguments: [
        "jq -r .id", "jq .id", "jq -c .", "jq -c 'select(.attempts == 1)'", "jq -c '{id}'", "cat",
    ])
    func `retry reads the output of list, through jq`(filter: String) throws {
        let queue = try failed(3)
        let ids = try queue.run("list").lines.dropFirst().map { String($0.prefix(36)) }
        let retried = try queue.shell("drainq list --state failed --json | \(filter) | drainq retry -")
        #expect(retried.status == 0 && retried.error == "")
        #expect(retried.lines == ids)
        #expect(try queue.names("failed").isEmpty)
    }

    @Test func `a quarantined line is named by its id or its path`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"http://127.0.0.1:1/\" } } }")
        for name in ["id", "path"] {
            try queue.run("add", input: "{bad")
            let path = try json(queue.run("list", "--json").lines[0])["path"] as? String
            let dropped = try queue.shell("drainq list --json | jq -r .\(name) | drainq drop -")
            #expect(dropped.status == 0 && dropped.lines == [path], "\(dropped)")
            #expect(try queue.run("list").output == "")
        }
    }

    @Test func `drop and import read the output of export`() throws {
        let queue = try failed(3)
        let before = try queue.names("failed")
        let moved = try queue.shell("drainq export --state failed | tee moved.ndjson | drainq drop -")
        #expect(moved.status == 0 && moved.lines.count == 3)
        #expect(try queue.names("failed").isEmpty)
        #expect(try queue.shell("drainq import moved.ndjson").status == 0)
        #expect(try queue.names("failed") == before)
        let edited = try queue.shell(
            "drainq export | jq -c '.state = \"new\" | .attempts = 0 | .payload.n += 10' >edited && "
                + "drainq drop - <edited && drainq import edited && drainq list --json | drainq show --json - | jq -r .body"
        )
        #expect(edited.lines.suffix(3).sorted() == [#"{"n":11}"#, #"{"n":12}"#, #"{"n":13}"#])
    }

    @Test func `invalid or missing ids on standard input are errors`() throws {
        let queue = try failed(1)
        #expect(try queue.shell("echo 'not an id' | drainq retry -").status == 64)
        #expect(try queue.shell("echo '{\"no\":1}' | drainq retry -").status == 65)
        #expect(try queue.shell("echo '{' | drainq retry -").status == 65)
        let nothing = try queue.shell("drainq list --state deferred --json | jq -r .id | drainq retry -")
        #expect(nothing.status == 66 && nothing.output == "" && nothing.error.contains("no id on standard input"))
        #expect(try queue.shell("echo no | drainq add --quiet 2>err | drainq wait -").status == 66)
        #expect(try queue.shell("drainq hold - <.").status == 74)
    }

    // MARK: - Closed readers

    @Test(arguments: ["list --json", "list", "export", "status", "manual", "help", "completions bash"])
    func `a closed reader ends a printing command without a message`(command: String) throws {
        let queue = try Drainq()
        try queue.run("add", input: numbered(2000))
        let ended = try queue.shell("drainq \(command) | head -n 1; echo \"${PIPESTATUS[0]}\"")
        #expect(ended.lines.count == 2 && ended.error == "")
        // Ended by SIGPIPE, or all fitted into the pipe.
        #expect(["141", "0"].contains(ended.lines[1]))
    }

    @Test func `a command with effects finishes its work after its reader has closed`() throws {
        let queue = try Drainq()
        try queue.run("add", input: numbered(3000))
        let held = try queue.shell("drainq hold --state new | true; echo \"${PIPESTATUS[0]}\"")
        #expect(held.lines == ["0"] && held.error == "")
        #expect(try queue.names("new").count == 3000)
        let dropped = try queue.shell("drainq drop --all | true; echo \"${PIPESTATUS[0]}\"")
        #expect(dropped.lines == ["0"] && dropped.error == "")
        #expect(try queue.names("new").isEmpty)
    }

    // MARK: - Closed outputs

    @Test(arguments: [">&-", "2>&-", "<&-", ">&- 2>&-", ">&- 2>&- <&-"])
    func `a closed standard output is an error, and closed descriptors damage no file of the queue`(closed: String)
        throws
    {
        let queue = try Drainq()
        let input = closed.contains("<&-") ? "" : "echo '{\"n\":1.10}' | "
        let file = closed.contains("<&-") ? "payload" : ""
        let script = """
            echo '{"n":1.10}' >payload
            \(input)drainq add \(file) \(closed); echo $?
            drainq list \(closed); echo $?
            drainq export \(closed) | wc -l >/dev/null
            drainq add --json /none \(closed); echo $?
            """
        let finished = try queue.shell(script)
        let printed = closed.hasPrefix(">") ? "74" : "0"
        #expect(finished.lines.filter { $0.count < 3 } == [printed, printed, "74"])
        let names = try queue.names("new")
        #expect(names.count == 1)
        let written = try String(contentsOf: queue.queue.appending(path: "new/\(names[0])"), encoding: .utf8)
        #expect(written.hasSuffix("\n{\"n\":1.10}\n") && written.split(separator: "\n").count == 2)
        #expect(try queue.run("check", "--json").status == 78, "no url, and nothing else")
    }

    @Test func `a full output is an error`() throws {
        let queue = try failed(1)
        let full = try queue.shell("drainq list >/dev/full")
        #expect(full.status == 74 && full.error.contains("cannot write standard output: No space left on device"))
    }

    // MARK: - Watching

    @Test func `status --watch prints a block each interval, and ends without a message after its reader`() throws {
        let queue = try failed(2)
        let blocks = try queue.shell("drainq status --watch --interval 100ms | head -n 20; echo \"${PIPESTATUS[0]}\"")
        #expect(blocks.error == "")
        #expect(blocks.lines.filter { $0 == "2 failed" }.count >= 2)
        #expect(!blocks.output.contains("\u{1B}"))
        #expect(blocks.lines.last == "141")
        let objects = try queue.shell(
            "drainq status --watch --interval 100ms --json | head -n 3 | jq -r .states.failed")
        #expect(objects.lines == ["2", "2", "2"] && objects.error == "")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `status --watch ends with 0 after a signal`(signal: Int32) throws {
        let queue = try failed(1)
        let watching = try queue.start("status", "--watch", "--interval", "50s", "--json")
        while try Data(contentsOf: watching.output).isEmpty { try #require(watching.process.isRunning) }
        watching.signal(signal)
        let finished = try watching.finish()
        #expect(finished.status == 0 && finished.lines.count == 1 && finished.error == "")
    }

    @Test func `status --watch clears the screen of a terminal before each block`() throws {
        let queue = try failed(1)
        let seen = try queue.shell(
            "timeout -s INT --preserve-status 2 script -qec '\"$DRAINQ\" status --watch --interval 100ms' /dev/null")
        let screens = seen.output.components(separatedBy: "\u{1B}[H\u{1B}[J").filter { $0.contains("\r\n1 failed\r\n") }
        #expect(screens.count > 2)
    }

    @Test func `status --watch ends with an error at a full output`() throws {
        let queue = try failed(1)
        let full = try queue.shell("drainq status --watch --interval 100ms >/dev/full")
        #expect(full.status == 74 && full.error.contains("cannot write standard output"))
    }

    @Test func `--interval needs --watch and has a minimum`() throws {
        let queue = try Drainq()
        #expect(try queue.run("status", "--interval", "5s").error.contains("'--interval' needs '--watch'"))
        #expect(try queue.run("status", "--watch", "--interval", "1ms").error.contains("less than 100ms"))
    }

    @Test func `add stops when nobody reads its ids, and says how many operations it queued`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"http://127.0.0.1:1/\" } } }")
        // The reader has gone before the first id is printed.
        let ended = try queue.shell(
            "mkfifo ids lines; cat lines | drainq add >ids 2>err & exec 3>lines; exec 4<ids; exec 4<&-; "
                + "echo 1 >&3; until [ -s err ]; do echo 2 >&3 2>/dev/null || break; sleep 0.05; done; exec 3>&-; "
                + "wait $!; echo status $?; cat err")
        #expect(ended.lines.first == "status 74")
        let count = try queue.names("new").count
        #expect(ended.output.contains("\(count) operation"), "\(ended)")
    }

    // MARK: - Long inputs

    /// What a script does with a living `add` or `import`: `say LINE` writes a line into its input, `until_ids N` waits
    /// for that many ids, `until_log N WORDS` for as many lines of the log, and `finish` ends the input.
    private static let living = """
        mkfifo lines
        living() { "$DRAINQ" "$@" <lines >ids 2>err & pid=$!; exec 3>lines; }
        say() { printf '%s\\n' "$1" >&3; }
        poll() { for i in $(seq 2400); do "$@" && return; sleep 0.05; done; echo "no end of: $*"; }
        has_ids() { [ "$(wc -l <ids)" -ge "$1" ]; }
        until_ids() { poll has_ids "$1"; }
        has_log() { [ "$(drainq log | grep -c -e "$2")" -ge "$1" ]; }
        until_log() { poll has_log "$1" "$2"; }
        configure() { printf '%s' "$1" >edited; chmod 600 edited; mv edited "$DRAINQ_QUEUE/drainq.json"; }
        finish() { exec 3>&-; wait $pid; echo "status $?"; }

        """

    private static let route = #"routes: { default: { url: "http://127.0.0.1:1/" } }"#

    @Test func `a living add tells log, counters and hooks of each batch, also if it is killed`() throws {
        let queue = try Drainq(
            """
            { limits: { operations: 1, whenFull: "dropOldest" }, \(Self.route),
              hooks: { failed: ["/bin/sh", "-c", "cat >failed.json"], quarantined: ["/bin/sh", "-c", "cat >bad.json"] } }
            """)
        let told = try queue.shell(
            Self.living + """
                living add
                say 1; say 2; until_ids 2; until_log 1 'make room'
                say '{bad'; say 3; until_ids 3; until_log 1 quarantine; until_log 2 'make room'
                drainq status --prometheus | grep -v expired | sed -n 's/^\\(drainq_[eq][a-z]*ed_total\\){[^}]*}/\\1/p'
                drainq run --quiet 2>/dev/null
                cd "$DRAINQ_QUEUE"; jq -c .event failed.json bad.json; kill -9 $pid
                """)
        #expect(
            told.lines == ["drainq_evicted_total 2", "drainq_quarantined_total 1", "\"failed\"", "\"quarantined\""],
            "\(told)")
    }

    @Test func `an operation or a line that a living add has told of is not told again at its end`() throws {
        let queue = try Drainq("{ limits: { operations: 1, whenFull: \"dropOldest\" }, \(Self.route) }")
        let told = try queue.shell(
            Self.living + """
                living add
                say 1; say 2; until_ids 2; say '{bad'; until_log 1 quarantine
                finish
                drainq status --prometheus | grep -v expired | sed -n 's/^\\(drainq_[eq][a-z]*ed_total\\){[^}]*}/\\1/p'
                drainq log --json | jq -c 'select(.event == "evicted" or .event == "quarantined") | .count // 1'
                """)
        #expect(
            told.lines == ["status 65", "drainq_evicted_total 1", "drainq_quarantined_total 1", "1", "1"], "\(told)")
    }

    @Test func `a living add goes on by the limits of an edited configuration`() throws {
        let queue = try Drainq("{ limits: { operations: 1, whenFull: \"dropOldest\" }, \(Self.route) }")
        let ended = try queue.shell(
            Self.living + """
                living add; say 1; until_ids 1
                configure '{ limits: { operations: 100 }, \(Self.route) }'
                say 2; say 3; until_ids 3; finish
                """)
        #expect(ended.lines == ["status 0"], "\(ended)")
        #expect(try queue.names("new").count == 3)
    }

    @Test(arguments: ["add", "add --envelope"])
    func `a living add gives a line the key of an edited route`(command: String) throws {
        let queue = try Drainq("{ \(Self.route) }")
        func line(_ number: Int) -> String {
            command == "add" ? #"{"u":"x","n":\#(number)}"# : #"{"payload":{"u":"x","n":\#(number)}}"#
        }
        let ended = try queue.shell(
            Self.living + """
                living \(command); say '\(line(0))'; until_ids 1
                configure '{ routes: { default: { url: "http://127.0.0.1:1/", key: "{payload.u}" } } }'
                say '\(line(1))'; until_ids 2; finish
                drainq list --json | jq -r '.key // "none"'
                """)
        #expect(ended.lines == ["status 0", "none", "x"], "\(ended)")
    }

    @Test func `a living import takes in an edited configuration`() throws {
        let queue = try Drainq("{ limits: { operations: 1 }, \(Self.route) }")
        let ended = try queue.shell(
            """
            drainq init -q other >/dev/null; printf '1\\n2\\n' | drainq add -q other --type t >/dev/null
            drainq export -q other >exported
            """ + "\n" + Self.living + """
                living import; say "$(sed -n 1p exported)"; until_ids 1
                configure '{ limits: { operations: 2 }, \(Self.route) }'
                say "$(sed -n 2p exported)"; until_ids 2; finish
                """)
        #expect(ended.lines == ["status 0"], "\(ended)")
    }

    @Test func `a body file may lie in a directory that the configuration has named since a living add began`() throws {
        let queue = try Drainq("{ \(Self.route) }")
        let ended = try queue.shell(
            """
            mkdir scans; echo scan >scans/1

            """ + Self.living + """
                living add --envelope; say '{"payload":1}'; until_ids 1
                configure "{ bodyFiles: [\\"$WORK/scans\\"], \(Self.route.replacing("\"", with: "\\\""))  }"
                say "{\\"bodyFile\\":\\"$WORK/scans/1\\"}"; until_ids 2; finish
                """)
        #expect(ended.lines == ["status 0"], "\(ended)")
    }

    @Test func `a living add keeps to the configuration before an invalid edit, says so once and ends with 78`() throws
    {
        let queue = try Drainq("{ limits: { operations: 2 }, \(Self.route) }")
        let ended = try queue.shell(
            Self.living + """
                living add; say 1; until_ids 1
                configure '{ urk: 1 }'
                say 2; until_ids 2; say 3
                finish; cat err
                """)
        #expect(ended.lines.first == "status 78", "\(ended)")
        #expect(ended.output.components(separatedBy: "urk").count == 2, "\(ended)")
        #expect(ended.output.contains("the queue holds 2 operations, its limit"), "\(ended)")
        #expect(try queue.names("new").count == 2)
    }

    @Test(arguments: [
        ("add", "1 operation of this input entered the queue"), ("list", "cannot write standard output: Bad file"),
        ("status --json", "cannot write standard output: Bad file"),
    ])
    func `a closed standard output is told, with what was done`(command: String, words: String) throws {
        let queue = try Drainq()
        let ended = try queue.shell("echo 1 | drainq add; echo 2 | drainq \(command) >&-; echo $?")
        #expect(ended.lines.last == "74" && ended.error.contains(words), "\(ended)")
    }

    @Test func `a closed standard input is an error, and not an empty input`() throws {
        let ended = try Drainq().shell("drainq add <&-")
        #expect(ended.status == 74 && ended.error.contains("cannot read 'standard input': Bad file descriptor"))
    }

    @Test(arguments: [
        "id=$(echo 1 | drainq add); drainq run; drainq wait \"$id\" >&-", "echo 1 | drainq send >&-",
    ])
    func `an answer that nobody reads is an error`(command: String) throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "hello")))
        defer { receiver.stop() }
        let ended = try Drainq(to: receiver, "keepAnswer: true").shell(command)
        #expect(ended.status == 74 && ended.error.contains("standard output takes no more answers"), "\(ended)")
        #expect(receiver.receivedCount == 1)
    }

    @Test func `a value in the place of a file has a hint`() throws {
        let queue = try Drainq()
        let ended = try queue.run("add", #"{"a":1}"#)
        #expect(ended.status == 74 && ended.error.contains("comes by standard input"))
    }

    @Test func `a mistake in JSON has its column`() throws {
        let queue = try Drainq()
        #expect(try queue.run("add", input: #"{"é": 1,}"#).error.contains("at column 9"))
        #expect(try queue.run("add", input: "{\n  \"a\": 1,\n  \"b\": x\n}").error.contains("at column 8 in line 3"))
    }

    @Test func `init makes a queue again beside the files of its secrets`() throws {
        let queue = try Drainq()
        try "secret".write(to: queue.queue.appending(path: "api.token"), atomically: true, encoding: .utf8)
        #expect(try queue.run("init").status == 0)
    }

    @Test func `a time to come is not before now`() throws {
        let queue = try Drainq()
        for option in ["--expires", "--at"] {
            let ended = try queue.run("add", "\(option)=-1s", input: "1")
            #expect(ended.status == 64 && ended.error.contains("not a time to come"))
        }
    }
}
