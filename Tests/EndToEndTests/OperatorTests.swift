import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// An operator's commands hold, release, pause and resume, and the refusals of add.
struct OperatorTests {
    private static let two = """
        { routes: { default: { url: "https://a.example/{type}" }, b: { url: "https://b.example/in" } } }
        """

    private func ids(_ finished: Finished) -> [String] { finished.lines }

    private func states(_ queue: Drainq, _ filter: String...) throws -> [String] {
        try queue.operations(filter).map { $0["state"] as? String ?? "" }
    }

    @Test func `a held operation waits until its release`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let added = try queue.run("add", input: numbered(2)).lines
        #expect(try queue.run("hold", added[0]).lines == [added[0]])
        #expect(try queue.run("hold", added[0]).error.contains("cannot hold '\(added[0])': it is held already"))
        #expect(try queue.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == ["{\"n\":2}"])
        #expect(try states(queue) == ["held"])
        #expect(try queue.run("show", added[0]).output.contains("individually, until 'drainq release \(added[0])'"))
        #expect(try queue.run("status").output.contains("held individually: 1"))
        #expect(try queue.run("release", "--state", "held").lines == [added[0]])
        #expect(try queue.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == ["{\"n\":2}", "{\"n\":1}"])
    }

    @Test func `retry makes deferred operations due, and a parked operation waits for no witness`() throws {
        let receiver = try LoopbackReceiver(
            script: .sequence([.status(503), .status(401), .status(204), .status(204)]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let deferred = try queue.run("add", input: "1").lines
        try queue.run("run")
        #expect(try queue.run("retry", "--all").lines == deferred)
        let parked = try queue.run("add", "--type", "other", input: "2").lines
        #expect(try queue.run("hold", deferred[0]).status == 0)
        #expect(try queue.run("run").status == 75)
        let shown = try queue.run("show", parked[0]).output
        #expect(shown.contains("parked") && shown.contains("'drainq retry \(parked[0])'"))
        #expect(shown.contains("refused:      401, 1 time, the last one at "))
        #expect(try queue.run("retry", parked[0], "--dry-run").lines == parked)
        #expect(try queue.run("show", parked[0]).output.contains("parked"))
        #expect(try queue.run("retry", parked[0]).lines == parked)
        #expect(try queue.run("retry", "--all").lines.isEmpty, "what a person holds stays held")
        #expect(try queue.run("run").status == 0)
        #expect(try queue.operations([]).map { $0["id"] as? String } == [deferred[0]])
        #expect(receiver.requests().count == 3)
    }

    @Test func `show of an expired operation proposes no retry, and its way out sends it`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let id = try #require(try queue.run("add", "--expires", "1ms", input: numbered(1)).lines.first)
        #expect(try queue.run("run").status == 1)
        let shown = try queue.run("show", id).output
        #expect(shown.contains("it has expired") && !shown.contains("sends it again"), "\(shown)")
        #expect(shown.contains("drainq import --replace | drainq retry -"))
        let edited = try queue.run("export", id).output.replacing(
            /"expiresAt":"[^"]*"/, with: #""expiresAt":"2999-01-01T00:00:00Z""#)
        let replaced = try queue.run("import", "--replace", input: edited)
        #expect(try queue.run("retry", "-", input: replaced.output).lines == [id])
        #expect(try queue.run("run").status == 0)
        #expect(receiver.requests().count == 1)
    }

    @Test func `show of a superseded dead letter says what retry would say`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(404)]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "coalesce: true")
        try queue.run("add", "--id", "old", "--key", "k", input: "1")
        #expect(try queue.run("run").status == 1)
        #expect(try queue.run("show", "old").output.contains("'drainq retry old' sends it again"))
        try queue.run("add", "--id", "new", "--key", "k", input: "2")
        let (shown, refused) = (try queue.run("show", "old").output, try queue.run("retry", "old").error)
        for words in ["'new' is a newer value of its key", "'drainq retry --as-newest old' sends this older value"] {
            #expect(shown.contains(words) && refused.contains(words), "\(shown)\(refused)")
        }
    }

    @Test func `an id means the waiting operation, not the copy of an earlier operation`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "7")))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "keepAnswer: true")
        try queue.run("add", "--id", "a", input: "1")
        try queue.run("run")
        try queue.run(
            "add", "--envelope", input: #"{"id":"a","createdAt":"2026-01-01T00:00:00Z","payload":2}"#)
        let waiting = try queue.run("wait", "a", "--timeout", "10ms")
        #expect(waiting.status == 75 && waiting.output.isEmpty)
        for command in ["hold", "release", "drop"] {
            let finished = try queue.run(command, "a")
            #expect(finished.status == 0 && finished.error.isEmpty && finished.lines == ["a"], "\(command)")
        }
        #expect(try queue.run("wait", "a").output == "7")
        #expect(receiver.requests().count == 1)
    }

    @Test func `a cut answer is kept with a mark`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: String(repeating: "7", count: 2000))))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "keepAnswer: true, answerLimit: \"1KiB\"")
        try queue.run("add", "--id", "a", input: "1")
        try queue.run("run")
        let waited = try queue.run("wait", "a")
        #expect(waited.output == String(repeating: "7", count: 1024) && waited.error.contains("is cut"), "\(waited)")
        #expect(try queue.run("wait", "--json", "a").output.contains(#""answerCut":true"#))
        #expect(try queue.run("show", "a").output.contains("cut: it was longer than 'answerLimit'"))
    }

    @Test func `a delivery is a delivery to wait after the time of its kept copy`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "ticket")))
        defer { receiver.stop() }
        let queue = try Drainq()
        func keepCopies(for time: String) throws {
            let routes = "routes: { default: { url: \"\(receiver.url)/\" }, kept: { keepAnswer: true } }"
            try Data("{ retention: { delivered: \"\(time)\" }, \(routes) }".utf8)
                .write(to: queue.queue.appending(path: "drainq.json"))
        }
        try keepCopies(for: "1d")
        try queue.run("add", "--id", "plain", input: "1")
        try queue.run("add", "--id", "kept", "--type", "kept", input: "1")
        try queue.run("run", "--quiet")
        #expect(try queue.run("wait", "kept").output == "ticket")
        try keepCopies(for: "1ms")
        while try !queue.names("delivered").isEmpty { try queue.run("run", "--quiet") }
        #expect(try queue.run("wait", "plain").status == 0)
        let waited = try queue.run("wait", "kept")
        #expect(waited.status == 0 && waited.output == "", "\(waited)")
        #expect(waited.error.contains("the time of its kept answer is over"), "\(waited)")
        #expect(try queue.run("wait", "--json", "kept").output.contains(#""outcome":"delivered""#))
        // A copy that should be there could not be kept.
        try keepCopies(for: "1d")
        let missing = try queue.run("wait", "kept")
        #expect(missing.status == 1 && missing.error.contains("its copy could not be kept"), "\(missing)")
    }

    @Test func `the hints of wait name sections that the manual has`() throws {
        let queue = try Drainq()
        try queue.run("add", "--id", "a", input: "1")
        let hint = try #require(
            try queue.run("wait", "a", "--timeout", "0s").error.firstMatch(
                of: /see (?<section>[A-Z ]+) in (?<page>[a-z-]+)\((?<number>[0-9])\)/))
        let page = try queue.run("manual", "\(hint.page)")
        #expect(page.status == 0 && page.output.uppercased().contains("\(hint.section)"), "\(hint.output.0)")
    }

    @Test func `list, drop and hold mention files not read by a run yet`() throws {
        let queue = try Drainq(Self.two)
        try "{}".write(to: queue.directory.appending(path: "queue/new/note"), atomically: false, encoding: .utf8)
        for command in [["list"], ["drop", "--all"], ["hold", "--all"]] {
            let finished = try queue.run(command)
            #expect(finished.error.contains("1 file in 'new' is not read yet: the next run reads them"), "\(command)")
        }
    }

    @Test func `a second init does not change the queue`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example/in\" } } }")
        let again = try queue.run("init")
        #expect(again.status == 0 && !again.error.contains("routes.default.url"))
        #expect(try queue.run("init", "--url", "https://a.example/in").status == 0)
        try "{ routes: {".write(to: queue.queue.appending(path: "drainq.json"), atomically: false, encoding: .utf8)
        let broken = try queue.run("init")
        #expect(broken.status == 78 && broken.error.contains("drainq.json:1:"))
        try "{ routes: { default: { url: \"https://a.example/in\" } } }".write(
            to: queue.queue.appending(path: "drainq.json"), atomically: false, encoding: .utf8)
        let other = try queue.run("init", "--url", "https://b.example/in")
        #expect(other.status == 78 && other.error.contains("was not changed"))
    }

    @Test func `an operation above the size limit is bad input, not a full queue`() throws {
        let queue = try Drainq(
            "{ routes: { default: { url: \"https://a.example\" } }, limits: { operationBytes: 10 } }")
        let finished = try queue.run("add", input: "1\n\"0123456789\"\n")
        #expect(finished.status == 65 && finished.lines.count == 1)
        #expect(finished.error.contains("larger than the limit of 10B") && finished.error.contains("kept as"))
        let kept = try queue.run("add", "--json", input: "{").lines[0]
        #expect(try kept.contains("\"path\":\"quarantine/") && !queue.names("quarantine").isEmpty)
        #expect(try queue.run("add", "/none").status == 74)
        #expect(try queue.run("add", "--method", "put", input: "1").status == 64)
    }

    @Test func `check reports programs that cannot be started, and explain reports a type without a route`() throws {
        let queue = try Drainq(
            """
            { routes: { default: { url: "https://a.example" },
                        create: { url: "https://a.example/new", headersCommand: ["none/sign"] } },
              hooks: { held: ["/none/hook"], failed: ["./here"] },
              secrets: { token: { command: ["/none/token"] } } }
            """)
        _ = try queue.shell("cp /bin/true queue/here")
        let checked = try queue.run("check")
        #expect(checked.status == 78 && !checked.lines.contains("ok: programs"))
        #expect(checked.error.contains("the command of the secret 'token' cannot be started: '/none/token'"))
        #expect(checked.error.contains("the 'headersCommand' of the route 'create' cannot be started: '"))
        #expect(checked.error.contains("/queue/none/sign': No such file") && !checked.error.contains("queue/here"))
        #expect(checked.error.contains("the hook 'held' cannot be started: '/none/hook': No such file or directory"))
        #expect(try queue.run("explain", "503", "--type", "create").error.isEmpty)
        let explained = try queue.run("explain", "503", "--type", "creat")
        #expect(explained.status == 0 && explained.error.contains("the default route applies; did you mean 'create'?"))
    }

    @Test func `a held destination keeps old and new operations, and a second destination is served`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let other = try LoopbackReceiver()
        defer { other.stop() }
        let queue = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url)/{type}\" }, b: { url: \"\(other.url)/in\" } } }")
        try queue.run("add", input: numbered(1))
        let mistake = try queue.run("hold", receiver.url)
        #expect(mistake.status == 64 && mistake.error.contains("destination take it with --destination"))
        let held = try queue.run("hold", "--destination", receiver.url + "/", "--reason", "moving house")
        #expect(held.lines == [receiver.url])
        try queue.run("add", input: numbered(1))
        try queue.run("add", "--type", "b", input: numbered(1))
        _ = try queue.run("run")
        #expect(receiver.requests().isEmpty)
        #expect(other.requests().count == 1)
        #expect(try states(queue, "--state", "held", "--destination", receiver.url) == ["held", "held"])
        #expect(try states(queue, "--destination", other.url) == [])
        let status = try queue.status()
        let holds = try #require(status["holds"] as? [[String: Any]])
        #expect(holds.first?["destination"] as? String == receiver.url)
        #expect(holds.first?["reason"] as? String == "moving house")
        #expect(holds.first?["operations"] as? Int == 2)
        #expect(holds.first?["byHand"] as? Bool == true)
        #expect(holds.first?["nextProbe"] == nil)
        #expect((status["states"] as? [String: Int])?["held"] == 2)
        #expect((status["states"] as? [String: Int])?["new"] == 0)
        #expect(status["due"] as? Int == 0)
        #expect(try queue.run("status").output.contains("\(receiver.url) held since "))
        #expect(try queue.run("release", "--destination", receiver.url).lines == [receiver.url])
        #expect(try queue.run("run", "--until-empty", "--max-time", "20s").status == 0)
        #expect(receiver.requests().count == 2)
    }

    @Test func `release --all ends holds of destinations and of operations`() throws {
        let queue = try Drainq(Self.two)
        let added = try queue.run("add", input: numbered(2)).lines
        try queue.run("hold", "--destination", "https://b.example")
        try queue.run("hold", added[1])
        #expect(try queue.run("release", "--all", "--dry-run").lines == ["https://b.example", added[1]])
        #expect(try states(queue, "--state", "held") == ["held"])
        #expect(try queue.run("release", "--all").lines == ["https://b.example", added[1]])
        #expect(try states(queue) == ["new", "new"])
        #expect((try queue.status()["holds"] as? [Any])?.isEmpty == true)
    }

    @Test func `release names the command for operations of a held destination`() throws {
        let queue = try Drainq(Self.two)
        let added = try queue.run("add", "--type", "b", input: numbered(2)).lines
        try queue.run("hold", "--destination", "https://b.example")
        let command = "drainq release --destination https://b.example"
        let named = try queue.run("release", added[0])
        #expect(named.status == 1 && named.error.contains("it is not held individually"))
        #expect(named.error.contains("hint: \(command)\n"))
        #expect(try queue.run("release", "--state", "held").error.contains("hint: \(command)\n"))
        let skipped = try queue.run("release", "--type", "b")
        #expect(skipped.status == 0 && skipped.lines.isEmpty)
        #expect(skipped.error == "drainq: did not release 2 operations: '\(command)' does it\n")
    }

    @Test func `resume --destination ends the pause of a destination, and resume alone does not`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        #expect(try queue.run("pause", "--destination", receiver.url).status == 0)
        _ = try queue.run("run")
        #expect(receiver.requests().isEmpty)
        #expect(try states(queue) == ["new"])
        #expect(try queue.run("status").output.contains("paused: '\(receiver.url)'"))
        #expect(try queue.run("resume").error.contains("the destination '\(receiver.url)' is still paused"))
        try queue.run("resume", "--destination", receiver.url)
        _ = try queue.run("run")
        #expect(receiver.requests().count == 1)
    }

    @Test func `a paused queue makes no attempts until resume`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        try queue.run("pause")
        _ = try queue.run("run")
        #expect(receiver.requests().isEmpty)
        #expect(try queue.run("status").output.hasPrefix("the queue is paused: 1 operation waits\n"))
        try queue.run("resume")
        _ = try queue.run("run")
        #expect(receiver.requests().count == 1)
    }

    @Test func `an unknown destination is a usage error with the nearest name`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example/\", destination: \"reports\" } } }")
        let finished = try queue.run("hold", "--destination", "report")
        #expect(finished.status == 64)
        #expect(finished.error.contains("there is no destination 'report'"))
        #expect(finished.error.contains("did you mean 'reports'?"))
        #expect(try queue.run("list", "--destination", "elsewhere").status == 64)
        #expect(try queue.run("hold", "--destination", "reports").status == 0)
        let id = try queue.run("release", "reports")
        #expect(id.status == 1)
        #expect(id.error.hasSuffix("hint: it is a destination: drainq release --destination reports\n"))
        try queue.run("add", input: numbered(1))
        #expect(try states(queue) == ["held"])
    }

    @Test(arguments: [["drop"], ["retry"], ["hold"], ["release"], ["list"], ["export"], ["log"]])
    func `a name in a filter that nothing has is told, and a right filter without a match is not`(
        command: [String]
    ) throws {
        let queue = try Drainq(
            "{ routes: { default: { url: \"https://a.example/\" }, report: { url: \"https://a.example/r\" } } }")
        let typo = try queue.start(command + ["--type", "reprot"], input: "").finish()
        #expect(typo.status == 0 && typo.output.isEmpty)
        #expect(
            typo.error == """
                drainq: warning: no operation and no route has the type 'reprot'
                drainq: hint: did you mean 'report'?

                """)
        #expect(try queue.start(command + ["--type", "report"], input: "").finish().error.isEmpty)
        if command == ["hold"] || command == ["release"] { return }
        let place = try queue.start(command + ["--destination", "https://b.example"], input: "").finish()
        #expect(place.status == 0)
        #expect(place.error.contains("warning: no operation and no route goes to 'https://b.example'\n"))
    }

    @Test func `check names the types that the default route takes without their name`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example/\" } } }")
        try queue.run("add", "--type", "crm", input: numbered(2))
        let text = "note: no route is for the type 'crm': the default route takes 2 operations of it that wait\n"
        #expect(try queue.run("check").output.contains(text))
        try "{ routes: { default: { url: \"https://a.example/{type}\" } }, limits: { operations: 2 } }".write(
            to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let checked = try queue.run("check")
        #expect(checked.status == 0 && !checked.output.contains("no route is for"))
        #expect(checked.output.contains("note: the queue is full (limits.operations 2): adds are refused; let runs"))
        #expect(try queue.run("status").output.hasPrefix("no run has come yet: 2 operations wait for the first\n"))
    }

    @Test func `a reason without the hold of a destination is refused`() throws {
        let queue = try Drainq(Self.two)
        #expect(try queue.run("hold", "--all", "--reason", "x").status == 64)
        #expect(
            try queue.run("hold", "--type", "b", "--destination", "https://b.example", "--reason", "x").status == 64)
    }

    @Test func `drop chooses operations by destination`() throws {
        let queue = try Drainq(Self.two)
        try queue.run("add", input: numbered(1))
        let b = try queue.run("add", "--type", "b", input: numbered(1)).lines
        #expect(try queue.run("drop", "--destination", "https://b.example").lines == b)
        #expect(try states(queue) == ["new"])
    }

    @Test func `drop and retry choose quarantined files by state`() throws {
        let queue = try Drainq(Self.two)
        try queue.run("add", input: "{\"n\":\n")
        let listed = try queue.run("list", "--state", "quarantined").lines
        #expect(listed.count == 2)
        let name = try #require(try queue.names("quarantine").first { !$0.hasSuffix(".reason") })
        #expect(try queue.run("retry", "--state", "quarantined").error.contains("it is truncated"))
        try Data("1".utf8).write(to: queue.queue.appending(path: "quarantine/\(name)"))
        let retried = try queue.run("retry", "--state", "quarantined").lines
        #expect(retried == ["quarantine/\(name)"])
        #expect(try queue.names("new").count == 1)
        try queue.run("add", input: "{\"m\":\n")
        #expect(try queue.run("drop", "--state", "quarantined", "--before", "1d").lines == [])
        #expect(try queue.run("drop", "--state", "quarantined", "--type", "b").lines == [])
        #expect(try queue.run("drop", "--state", "quarantined", "--dry-run").lines.count == 1)
        #expect(try queue.run("drop", "--state", "quarantined").lines.count == 1)
        #expect(try queue.names("quarantine").isEmpty)
        #expect(try queue.run("hold", "--state", "quarantined").status == 64)
    }

    // MARK: - Refusals of add

    @Test(arguments: [
        ([], "{\"content\":\"  \"}", "the payload does not meet the route's 'require': /content is empty"),
        (["--type", "{payload.type}", "-H", "Host: evil"], #"{"type":"own"}"#, "the operation's header 'Host' is one"),
        (["--type", "keyed"], "{\"content\":\"x\"}", "the operation has no value for '{key}'"),
    ])
    func `add refuses an operation that can never be sent`(options: [String], payload: String, reason: String) throws {
        let queue = try Drainq(
            """
            { routes: {
              default: { url: "https://a.example", require: { pointer: "/content", notEmpty: true },
                         overrides: ["headers", "method"] },
              keyed: { url: "https://a.example/{key}" }, own: { url: "https://a.example" },
            } }
            """)
        let finished = try queue.run(["add"] + options, input: "{\"content\":0}\n\(payload)\n")
        #expect(finished.status == 65)
        #expect(finished.error.contains("of 'standard input': \(reason)"), "\(finished.error)")
        #expect(finished.error.contains("kept as 'quarantine/"))
        #expect(try queue.names("quarantine").count >= 2)
    }

    @Test(arguments: [
        (["-H", "Host: evil"], "the operation's header 'Host' is one that drainq writes itself"),
        (["--url", "https://else.example/"], "the route lets no operation bring its own url"),
        (["--method", "CONNECT"], "the operation's method 'CONNECT' cannot be used"),
        (["--type", "secret", "--url", "https://else.example/"], "the route's credentials and kept values go to"),
        (["--content-type", "text/\nplain"], "it has a value with control characters"),
        (["--delay", "2h", "--expires", "1h"], "the operations would expire before they are due"),
    ])
    func `options with which no operation can be sent are a mistake of the command`(
        options: [String], reason: String
    ) throws {
        let queue = try Drainq(
            """
            { routes: {
              default: { url: "https://a.example", overrides: ["headers", "method"] },
              secret: { url: "https://a.example", overrides: ["url"], headers: { Authorization: "Bearer 1" } },
            } }
            """)
        let finished = try queue.run(["add"] + options, input: "1\n2\n")
        #expect(finished.status == 64 && finished.error.contains(reason), "\(finished)")
        #expect(try queue.names("quarantine").isEmpty && queue.waiting() == 0)
    }

    @Test func `list shows why an operation failed unsent`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        let id = try #require(try queue.run("add", input: "{}").lines.first)
        try queue.write(
            "{ routes: { default: { url: \"https://a.example/{payload.host}\" } } }", as: "queue/drainq.json")
        #expect(try queue.run("run").status == 1)
        #expect(try queue.run("show", id).output.contains("it cannot be sent: the operation has no value for"))
        #expect(try queue.run("list").output.contains("the operation has no value for '{payload.host}'"))
    }

    @Test func `add --atomic adds no operation if a line can never be sent`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a/{payload.id}\" } } }")
        let finished = try queue.run("add", "--atomic", input: "{\"id\":1}\n{\"name\":2}\n")
        #expect(finished.status == 65)
        #expect(finished.error.contains("cannot add line 2 of 'standard input'"))
        #expect(try queue.names("new").isEmpty)
        #expect(try queue.names("quarantine").isEmpty)
    }

    @Test func `a body file is added by its path, and only from an allowed directory`() throws {
        let queue = try Drainq()
        let uploads = queue.directory.appending(path: "uploads")
        try FileManager.default.createDirectory(at: uploads, withIntermediateDirectories: true)
        try Data("picture".utf8).write(to: uploads.appending(path: "1.png"))
        try Data("secret".utf8).write(to: queue.directory.appending(path: "other"))
        try "{ routes: { default: { url: 'https://a.example' } }, bodyFiles: ['\(uploads.path)'] }".write(
            to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let file = uploads.appending(path: "1.png").path
        let added = try queue.run("add", "--body-file", file, "--content-type", "image/png")
        #expect(added.status == 0)
        let shown = try queue.run("show", added.lines[0], "--json").output
        let story = try #require(try JSONSerialization.jsonObject(with: Data(shown.utf8)) as? [String: Any])
        #expect(story["bodyFile"] as? String == file)
        #expect(story["bodyLength"] as? Int == 7)
        #expect(story["contentType"] as? String == "image/png")
        let refused = try queue.run("add", "--body-file", queue.directory.appending(path: "other").path)
        #expect(refused.status == 65)
        #expect(refused.error.contains("the body file is not in a directory that 'bodyFiles'"))
        #expect(try queue.run("add", "--body-file", uploads.path + "/2.png").status == 65)
        #expect(try queue.run("add", "--body-file", file, "-").status == 64)
        #expect(try queue.names("new").count == 1)
        let envelope = "{\"drainq\":1,\"bodyFile\":\"\(file)\"}"
        #expect(try queue.run("add", "--envelope", input: envelope).status == 0)
    }

    #if os(Linux)
        @Test func `a temporarily unreadable body file gives status 74, and is not quarantined`() throws {
            let queue = try Drainq()
            let uploads = queue.directory.appending(path: "uploads")
            try FileManager.default.createDirectory(at: uploads, withIntermediateDirectories: true)
            let (file, leased) = (uploads.appending(path: "1").path, uploads.appending(path: "2").path)
            for path in [file, leased] { try "picture".write(toFile: path, atomically: false, encoding: .utf8) }
            try "{ routes: { default: { url: 'https://a.example' } }, bodyFiles: ['\(uploads.path)'] }".write(
                to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
            // While this process has a write lease, a non-blocking open fails with EAGAIN. F_SETSIG and F_SETLEASE are
            // macros unknown to Swift; SIGURG is ignored.
            let descriptor = open(leased, O_RDWR | O_CLOEXEC)
            defer { close(descriptor) }
            try #require(fcntl(descriptor, 10, SIGURG) == 0 && fcntl(descriptor, 1024, Int32(F_WRLCK)) == 0)
            let envelope = "{\"drainq\":1,\"bodyFile\":\"\(leased)\"}\n"
            for (arguments, input) in [
                (["add", "--body-file", leased], ""), (["send", "--body-file", leased], ""),
                (["add", "--envelope"], envelope), (["send", "--envelope"], envelope),
                (["add", "--atomic", "--body-file", file, "--body-file", leased], ""),
            ] {
                let finished = try queue.start(arguments, input: input).finish()
                #expect(finished.status == 74, "\(arguments)")
                #expect(finished.error.contains("'\(leased)': the body file cannot be read: "), "\(arguments)")
                #expect(finished.output.isEmpty, "\(arguments)")
            }
            #expect(try queue.names("quarantine").isEmpty && queue.waiting() == 0)
        }
    #endif

    @Test func `check finds the causes of holds before the first run`() throws {
        let queue = try Drainq(
            """
            { routes: {
                default: { url: "https://a.example", headers: { Authorization: "Bearer ${secret:a}", b: "${secret:b}" } },
                literal: { headers: { "X-Api-Key": "0123" } },
              },
              secrets: { a: { file: "missing" }, b: { env: "DRAINQ_TEST_NEVER_SET" }, c: { command: ["/bin/false"] } },
              destinations: { "https://a.example": { caFile: "no.pem", transport: "libcurl" } } }
            """)
        let checked = try queue.run("check")
        #expect(checked.status == 78)
        #expect(checked.error.contains("the secret 'a' "))
        #expect(checked.error.contains("needs the file '\(queue.queue.path)/no.pem', which cannot be read"))
        #expect(checked.output.contains("note: the secret 'b' "))
        #expect(checked.output.components(separatedBy: "nothing uses the secret").count == 2)
        #expect(checked.output.contains("note: nothing uses the secret 'c': write ${secret:c} where it belongs"))
        #expect(checked.output.contains("note: the route 'literal' contains a credential in its header 'X-Api-Key'"))
        #expect(!checked.output.contains("'Authorization'"))
        #expect(!(checked.output + checked.error).contains("0123"))
        try Data("token\n".utf8).write(to: queue.queue.appending(path: "missing"))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: queue.queue.appending(path: "missing").path)
        try Data().write(to: queue.queue.appending(path: "no.pem"))
        let again = try queue.run("check")
        #expect(again.status == 78 && !again.error.contains("the secret"))
        #expect(again.error.contains("'https://a.example' cannot use its certificate files: "))
    }

    @Test func `explain needs only a configuration`() throws {
        let queue = try Drainq(Self.two)
        let explained = try queue.run("explain", "404", "--type", "b", "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(explained.output.utf8)) as? [String: Any])
        #expect(object["outcome"] as? String == "failed")
        #expect(object["schema"] as? Int == 1)
        #expect((object["route"] as? [String: Any])?["destination"] as? String == "https://b.example")
        let file = queue.directory.appending(path: "c.json")
        try "{ routes: { default: { protocol: 'callable' } } }".write(to: file, atomically: true, encoding: .utf8)
        #expect(
            try queue.run("explain", "UNAVAILABLE", "--config", file.path).output.hasPrefix("UNAVAILABLE on the route"))
        #expect(try queue.run("explain", "UNAVAILABLE").status == 64)
        #expect(try queue.run("explain").output.contains("  held        300-399, 401, 403, 407, tls\n"))
    }

    @Test func `a run of ids sends the operations now, and reports operations not sent`() throws {
        let receiver = try LoopbackReceiver(script: Script(["503", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: numbered(3)).lines
        #expect(try queue.run("run", "--limit", "1").status == 75)
        let sent = try queue.run("run", ids[0], "nobody")
        #expect(sent.status == 1 && sent.error.contains("cannot send 'nobody': no such operation in the queue"))
        #expect(receiver.receivedCount == 2)
        try queue.run("hold", ids[1])
        let held = try queue.run("run", ids[1])
        #expect(held.status == 69)
        #expect(held.error.contains("cannot send '\(ids[1])': held individually, until 'drainq release \(ids[1]) -"))
        #expect(try queue.run("run", "-", input: ids[2] + "\n").status == 0)
        #expect(receiver.receivedCount == 3)
        let both = try queue.run("run", ids[1], "--type", "t")
        #expect(both.status == 64 && both.error.contains("exclude each other"))
        try queue.run("pause")
        let paused = try queue.run("run", ids[1])
        #expect(paused.status == 69)
    }

    @Test func `a run of an id behind an older operation of its sequence names the older operation`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "ordering: \"key\"")
        let ids = try queue.run("add", "--key", "k", input: numbered(2)).lines
        let behind = try queue.run("run", ids[1])
        #expect(behind.status == 75 && behind.error.contains("behind '\(ids[0])', which goes first"))
        #expect(receiver.receivedCount == 0)
        #expect(try queue.run("run", ids[1], ids[0]).status == 0)
        #expect(receiver.receivedCount == 2)
    }

    @Test func `a run of a failed id proposes a retry`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: numbered(1)).lines
        try queue.run("run")
        let again = try queue.run("run", ids[0])
        #expect(again.status == 1 && again.error.contains("it is failed"))
        #expect(again.error.contains("drainq retry \(ids[0])"))
    }

    @Test func `operations held behind a failed operation are shown, and drop counts the released operations`() throws {
        let receiver = try LoopbackReceiver(script: Script(["422", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "ordering: \"key\", onFailure: \"hold\"")
        let ids = try queue.run("add", "--key", "k", input: numbered(3)).lines
        #expect(try queue.run("run").status == 1)
        #expect(try queue.run("run").status == 69)
        let status = try queue.status()
        #expect(status["heldBehindFailed"] as? Int == 2 && status["heldByThemselves"] as? Int == 0)
        #expect((status["states"] as? [String: Int])?["held"] == 2)
        #expect(try queue.run("status").output.contains("held behind failed or quarantined ones: 2"))
        #expect(try states(queue, "--state", "held") == ["held", "held"])
        #expect(try queue.run("list").output.contains("held behind \(ids[0])"))
        // An operator has seen the failed one, and what it holds waits all the same.
        #expect(try queue.run("export", "--state", "failed").status == 0)
        let check = try queue.run("status", "--check")
        #expect(check.status == 1 && check.output.contains("2 operations are held behind failed or quarantined ones"))
        let shown = try queue.run("show", ids[1]).output
        #expect(
            shown.contains("held: held behind '\(ids[0])', which failed: 'drainq retry \(ids[0])' sends that one first")
        )
        let refused = try queue.run("retry", "--state", "held")
        #expect(refused.status == 1 && refused.lines.isEmpty && refused.error.contains("drainq retry \(ids[0])"))
        #expect(try !queue.run("retry", "--all", "--dry-run").error.contains("--state held"))
        let row = try #require(try queue.operations(["--state", "held"]).first?["waitsFor"] as? [String: Any])
        #expect(row["what"] as? String == "failed" && row["id"] as? String == ids[0])
        let dropped = try queue.run("drop", ids[0])
        #expect(dropped.error.contains("2 operations are no longer held behind a failed or quarantined one"))
        #expect(try queue.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"])
    }

    @Test(arguments: [
        ("onFailure: \"hold\"", "onFailure"), ("coalesce: \"merge\", batch: { max: 5 }", "batch"),
        ("coalesce: \"both\"", "coalesce"),
    ])
    func `incompatible settings of order are an error`(route: String, key: String) throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\", \(route) } } }")
        let checked = try queue.run("check")
        #expect(checked.status == 78 && checked.error.contains(key), "\(checked.error)")
    }
}

extension Drainq {
    /// The objects of `list --json`.
    func operations(_ options: [String]) throws -> [[String: Any]] {
        try run(["list", "--json"] + options).lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    /// The object of `status --json`.
    func status() throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(try run("status", "--json").output.utf8)) as? [String: Any])
    }

    @discardableResult
    func run(_ arguments: [String], input: String = "") throws -> Finished {
        try start(arguments, input: input).finish()
    }
}
