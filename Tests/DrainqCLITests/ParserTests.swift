import Drain
import Policy
import Testing

@testable import DrainqCLI

struct ParserTests {
    /// Parses a line, and requires a command of the type.
    private func parse<Parsed: Command>(_ line: String) throws -> Parsed {
        try #require(try ParsedCommand(arguments: shellWords(line)).command as? Parsed, "\(line)")
    }

    private func add(_ line: String) throws -> AddCommand { try parse(line) }
    private func run(_ line: String) throws -> RunCommand { try parse(line) }
    private func list(_ line: String) throws -> ListCommand { try parse(line) }
    private func help(_ line: String) throws -> HelpCommand { try parse(line) }

    @Test func `options may stand anywhere`() throws {
        let lines = [
            "add -q Q a b", "-q Q add a b", "add a -q Q b", "add a b --queue=Q", "add a -qQ -- b", "add a b -q=Q",
        ]
        for line in lines {
            let arguments = try add(line)
            #expect(arguments.input.files == ["a", "b"], "\(line)")
            #expect(arguments.global.path == "Q", "\(line)")
            #expect(try ParsedCommand(arguments: shellWords(line)).place.queue == "Q")
        }
    }

    @Test func `after two dashes everything is an operand`() throws {
        #expect(try add("add -- --json -q -").input.files == ["--json", "-q", "-"])
        #expect(try add("add -- --json").global.isJSON == false)
    }

    @Test func `a dash alone is an operand`() throws {
        #expect(try run("run -").ids == ["-"])
    }

    @Test func `short options may be bundled, the last with a value`() throws {
        let arguments = try run("run -vnt a -tb")
        #expect(arguments.global.verbosity.isVerbose)
        #expect(arguments.isDryRun)
        #expect(arguments.types.map(\.description) == ["a", "b"])
    }

    @Test(arguments: [
        ["-q=\u{301}x"], ["-q\u{301}x"], ["--queue=\u{301}x"], ["-q", "\u{301}x"], ["-vq\u{301}x"],
    ])
    func `a value may begin with a combining mark`(option: [String]) throws {
        let path = try #require(try ParsedCommand(arguments: ["run"] + option).place.queue)
        #expect(Array(path.utf8) == Array("\u{301}x".utf8))
    }

    @Test func `values may begin with a dash`() throws {
        let now = Timestamp(microseconds: 1_000_000_000_000)
        #expect(try list("list --since -2h").filter.since?.timestamp(now: now) == now - .seconds(7200))
        #expect(try list("list --since 2h").filter.since?.timestamp(now: now) == now - .seconds(7200))
        #expect(try add("add --expires 2h").input.expires?.timestamp(now: now) == now + .seconds(7200))
        #expect(try list("list --key=--json").filter.key == "--json")
    }

    @Test func `the last value of an option that does not repeat wins`() throws {
        #expect(try run("run --limit 5 --limit 7").limit == 7)
        #expect(try run("run --grace 5s --grace 7s").grace == .seconds(7))
    }

    @Test func `the values of a repeated option keep their order`() throws {
        #expect(
            try add("add -H 'A: 1' --header 'b:  two words  ' --header=C:").input.headers == [
                HeaderField(name: "A", value: "1"), HeaderField(name: "b", value: "two words"),
                HeaderField(name: "C", value: ""),
            ])
    }

    @Test func `concurrency is a number or auto`() throws {
        #expect(try run("run --concurrency 12").concurrency == .atMost(12))
        #expect(try run("run --concurrency auto").concurrency == .auto)
        for text in ["automatic", "0", "1001"] {
            #expect(throws: UsageError.self) { try run("run --concurrency \(text)") }
        }
    }

    @Test func `an option that is not given has its initial value`() throws {
        let arguments = try run("run")
        #expect(arguments.concurrency == .auto)
        #expect(arguments.grace == .seconds(10))
        #expect(arguments.maxTime == nil)
        #expect(arguments.types == [])
        #expect(try list("list").limit == nil)
        #expect(try add("add").input.type == nil)
        #expect(try add("add --id x").input.id?.description == "x")
        #expect(OptionDescription.row(.concurrency, of: RunCommand.description)?.initial == "auto")
        #expect(OptionDescription.row(.grace, of: RunCommand.description)?.initial == "10s")
        #expect(OptionDescription.row(.progress, of: RunCommand.description)?.initial == "auto")
    }

    @Test func `help and version end the parsing at their position`() throws {
        #expect(try help("--help").words == [])
        #expect(try help("help").words == [])
        #expect(try help("run -vh --nonsense").words == ["run"])
        #expect(try help("drop --help").words == ["drop"])
        #expect(try ParsedCommand(arguments: ["--version"]).command is VersionCommand)
        #expect(try ParsedCommand(arguments: ["run", "--version"]).command is VersionCommand)
    }

    @Test(
        arguments: [
            ("", "no command is given", "'drainq help' lists the commands"),
            ("rnu", "unknown command 'rnu'", "did you mean drainq run?"),
            ("frobnicate", "unknown command 'frobnicate'", "'drainq help' lists the commands"),
            ("agnet", "unknown command 'agnet'", "'drainq help' lists the commands"),
            ("run --limt 5", "unknown option '--limt'", "did you mean --limit?"),
            ("run --conc 5", "unknown option '--conc'", "did you mean --concurrency?"),
            ("run --frobnicate", "unknown option '--frobnicate'", "'drainq run --help' lists the options"),
            ("run -z", "unknown option '-z'", "'drainq run --help' lists the options"),
            ("--quue x run", "unknown option '--quue'", "did you mean --queue?"),
            (
                "add --limit 5", "unknown option '--limit' for 'drainq add'",
                "it is an option of drainq run, drainq list, drainq retry, drainq drop, drainq hold, drainq release"
            ),
            ("-q x version", "unknown option '--queue' for 'drainq version'", nil),
            (
                "--limit 5 run", "option '--limit' comes before the command",
                "write it after the command: drainq run --limit"
            ),
            ("run --limit", "option '--limit' needs a value", "--limit N"),
            ("run -q", "option '-q' needs a value", "--queue DIR"),
            (
                "add --key --json", "option '--key' needs a value, and '--json' is an option",
                "if '--json' is the value: --key=--json"
            ),
            ("run --json=yes", "option '--json' takes no value", nil),
            ("run -q=", "cannot read '-q ': it is empty", nil),
            ("run --limit five", "cannot read '--limit five': not a number", nil),
            ("run --limit 0", "cannot read '--limit 0': less than 1", nil),
            ("receive --port 65536", "cannot read '--port 65536': more than 65535", nil),
            (
                "run --max-time 5", "cannot read '--max-time 5': not a duration",
                "durations have units: 500ms, 90s, 5m, 2h, 3d, 1h30m"
            ),
            (
                "list --since yesterday", "cannot read '--since yesterday': not a time",
                "times are 2026-11-21T09:15:00Z, 2026-11-21, now, -2h, +5m"
            ),
            (
                "list --state faild",
                "cannot read '--state faild': not one of new, deferred, claimed, held, failed, quarantined, delivered",
                "did you mean failed?"
            ),
            ("add --header nothing", "cannot read '--header nothing': not a header", "headers are 'Name: value'"),
            ("add --header 'a b: c'", "cannot read '--header a b: c': not a header", "headers are 'Name: value'"),
            (
                "add --id a/b", "cannot read '--id a/b': not an id",
                "ids are 1 to 64 of A-Z a-z 0-9 _ -; - alone means standard input"
            ),
            ("add --type .a", "cannot read '--type .a': not a type", nil),
            ("run --quiet -v", "options '--verbose' and '--quiet' exclude each other", nil),
            ("add --delay 5m --at now", "options '--delay' and '--at' exclude each other", nil),
            ("status x", "unexpected operand 'x'", "'drainq status --help' lists its options"),
            ("status ./q", "unexpected operand './q'", "a queue is named by --queue: drainq status --queue ./q"),
            ("init q r", "unexpected operand 'r'", "only one DIR"),
            ("init q --queue r", "'q' and '--queue' exclude each other", "name the queue once"),
            ("show", "drainq show needs an operand", "usage: drainq show [OPTIONS] ID..."),
            ("add ''", "an operand is empty", nil),
            ("completions", "drainq completions needs an operand", "usage: drainq completions SHELL"),
            ("completions fihs", "unknown shell 'fihs'", "did you mean fish?"),
            ("completions powershell", "unknown shell 'powershell'", "one of bash, zsh, fish"),
            ("completions bash zsh", "unexpected operand 'zsh'", "only one SHELL"),
            ("help agent", "unknown command 'agent'", nil),
            (
                "drop", "drainq drop needs a choice of operations",
                "give ids, a filter such as --state failed, or --all"
            ),
            ("drop --dry-run", "drainq drop needs a choice of operations", nil),
            ("retry x --all", "'x' and --all exclude each other", "choose by ids, by filters, or by --all"),
            ("retry x --state failed", "'x' and --state exclude each other", nil),
            ("drop --key k --all", "--key and --all exclude each other", nil),
        ] as [(String, String, String?)])
    func `a usage error says the reason and a hint`(line: String, message: String, hint: String?) {
        let error = #expect(throws: UsageError.self) { try ParsedCommand(arguments: shellWords(line)) }
        #expect(error?.message == message)
        if let hint { #expect(error?.hint == hint) }
    }

    @Test func `values with NUL or line breaks, and non-text bytes outside of paths, are refused`() {
        #expect(throws: UsageError.self) { try ParsedCommand(arguments: ["run", "--queue", "a\0b"]) }
        #expect(throws: UsageError.self) { try ParsedCommand(arguments: ["add", "--header", "a: b\r\nc: d"]) }
        // Only a path may be bytes that are not text.
        let bytes = String(raw: [0x63, 0xE9])
        let options = ["header": "X: ", "key": "", "url": "https://h/", "content-type": "text/", "type": "", "id": ""]
        for (option, start) in options {
            #expect(throws: UsageError.self) { try ParsedCommand(arguments: ["add", "--\(option)", start + bytes]) }
        }
        #expect(throws: Never.self) { try ParsedCommand(arguments: ["add", "--queue", bytes, bytes]) }
    }

    @Test(
        arguments: [
            ("limt", "limit"), ("lmiit", "limit"), ("limits", "limit"), ("unt", "until-empty"), ("x", nil), ("", nil),
        ] as [(String, String?)])
    func `the nearest word is suggested, and a distant word is not`(word: String, expected: String?) {
        #expect(nearest(to: word, in: ["limit", "until-empty", "wait"]) == expected)
    }

    @Test(arguments: [
        (["DRAINQ_QUEUE": "/d", "XDG_STATE_HOME": "/x", "HOME": "/h"], "/d"),
        (["DRAINQ_QUEUE": "", "XDG_STATE_HOME": "/x", "HOME": "/h"], "/x/drainq"),
        (["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/drainq"),
        (["HOME": "/h"], "/h/.local/state/drainq"),
    ])
    func `the environment names the queue if no option does`(environment: [String: String], path: String) throws {
        #expect(try queuePath(option: nil, environment: environment) == path)
        #expect(try queuePath(option: "o", environment: environment) == "o")
    }

    @Test func `a missing option and environment for the queue is a usage error`() {
        #expect(throws: UsageError.self) { try queuePath(option: nil, environment: ["HOME": ""]) }
    }
}

struct OperatorParserTests {
    private func message(_ line: String) -> String? {
        do throws(UsageError) {
            _ = try ParsedCommand(arguments: shellWords(line))
            return nil
        } catch {
            return error.message + (error.hint.map { "; \($0)" } ?? "")
        }
    }

    @Test(arguments: [
        ("explain 600", "'600' is neither a status nor an error; a status is 100 to 599, an error one of dns"),
        ("explain 400-499", "'400-499' is more than one status; explain one of them: 400"),
        ("explain tmeout", "'tmeout' is neither a status nor an error; did you mean timeout?"),
        ("explain unavailable", "'unavailable' is neither a status nor an error"),
        ("explain cancelled", "'cancelled' is neither a status nor an error"),
        (
            "explain 6f9619ff-8b86-4011-b42d-00cf4fc964ff",
            "'6f9619ff-8b86-4011-b42d-00cf4fc964ff' is neither a status nor an error; an id is for drainq show"
        ),
        ("explain 404 503", "unexpected operand '503'; only one STATUS or ERROR"),
        (
            "hold",
            "drainq hold needs a choice of operations; give ids, a filter such as --destination NAME, or --all"
        ),
        ("release --all --destination d", "--destination and --all exclude each other"),
        ("release a --destination d", "'a' and --destination exclude each other"),
        ("pause now", "unexpected operand 'now'; 'drainq pause --help' lists its options"),
        ("add --envelope --body-file x", "options '--envelope' and '--body-file' exclude each other"),
        ("drop --reason x --all", "unknown option '--reason' for 'drainq drop'; it is an option of drainq hold"),
        ("wait --max-time 1s a", "unknown option '--max-time'; did you mean --timeout?"),
        ("list --state hold", "cannot read '--state hold': not one of new, deferred, claimed, held, failed"),
    ])
    func `contradictory or unknown arguments are refused`(line: String, expected: String) {
        #expect(message(line)?.hasPrefix(expected) == true, "\(message(line) ?? "understood")")
    }

    @Test(arguments: [
        "explain", "explain 404 --type a", "explain UNAVAILABLE", "hold --destination d --reason 'a b'",
        "hold - --dry-run",
        "release --all", "pause --destination a --destination b", "resume", "list --state held --destination d",
        "add --body-file a --body-file b --content-type image/png",
    ])
    func `valid arguments are accepted`(line: String) {
        #expect(message(line) == nil)
    }
}
