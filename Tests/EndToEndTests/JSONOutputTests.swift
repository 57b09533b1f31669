import Foundation
import LoopbackReceiver
import Testing

@testable import DrainqCLI
@testable import DrainqCLITests

/// Runs every `--json` of the program, and checks the output against the table of the manual.
struct JSONOutputTests {
    private let witness = OutputWitness()

    /// Fields that the tests cannot produce.
    private static let elsewhere: Set<String> = [
        // The network and the power of this machine delay no run; a run in progress is a second process.
        "the summary of a run.conditions", "the status of the queue.lastRun.conditions",
        "the status of the queue.conditions", "an operation.waitsFor.reason",
        "an operation with all its attempts.waitsFor.reason",
        "an operation with all its attempts.run",
        // Only a server that speaks HTTP/2 loses answers over it: DeliveryTests and Tests/Interop have one.
        "the status of the queue.destinations.http1Until",
        // Only a death, or a disk without room for a record, leaves it.
        "an operation to be imported.unknowns",
        // In the journal's and the log's form of an attempt.
        "an attempt.excerpt",
    ]

    @Test func `every line of every command has the documented fields, and every documented field is printed`() throws {
        try input()
        try operations()
        try requests()
        try runs()
        try statuses()
        try logs()
        try waits()
        try answers()
        try actions()
        try findings()
        try explanations()
        try receiver()
        #expect(
            Set(witness.unseen).subtracting(Self.elsewhere) == [],
            "these fields were never printed: let a function below run a command that does")
    }

    @Test func `summaries and meanings of the table are fit for a manual`() {
        for object in OutputObject.table {
            #expect(object.title.first?.isLowercase == true && object.title.last != ".")
            #expect(Set(object.fields.map(\.name)).count == object.fields.count, "\(object.title)")
            for field in object.fields { #expect(field.meaning.last != ".", "\(object.title).\(field.name)") }
        }
        #expect(Set(OutputObject.table.map(\.title)).count == OutputObject.table.count)
    }

    @Test func `the table has exactly the commands with --json`() {
        let printing = Set(OutputObject.table.flatMap(\.printedBy).map { String($0.prefix { $0 != " " }) })
        let having = CommandDescription.visible.filter { OptionDescription.row(.json, of: $0) != nil }
        let known = Set(having.map(\.name) + ["export"])
        #expect(
            known.subtracting(printing) == [],
            "these print JSON: give each an OutputObject in Tests/DrainqCLITests/OutputObject+Table.swift")
        #expect(printing.subtracting(known) == [], "OutputObject+Table.swift names these, which have no --json")
    }

    // MARK: - Each command

    private func requests() throws {
        let queue = try Drainq()
        try queue.write(
            """
            { routes: { default: { url: "https://a.example", headersCommand: ["sign"] } },
              bodyFiles: ["\(queue.directory.path)"] }
            """, as: "queue/drainq.json")
        try queue.write("a photo", as: "photo")
        let ids = try queue.shell(
            "echo 1 | drainq add; drainq add --body-file photo; printf '\\377' | drainq add --content-type image/png"
        ).lines
        #expect(ids.count == 3)
        witness.check(try queue.run(["show", "--request", "--json"] + ids), by: "show --request")
        witness.check(
            try queue.run("run", "--dry-run", "--request", "--json"), by: "run --dry-run --request")
    }

    private func input() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        witness.check(try queue.run("add", "--json", input: "1\n{\n"), by: "add")
        witness.check(try queue.run("add", "--json", "--id", "a", input: "1"), by: "add")
        witness.check(try queue.run("add", "--json", "--id", "a", input: "1"), by: "add")
        witness.check(try queue.run("add", "--json", "--body-file", "/none"), by: "add")
        try queue.run("hold", "a")
        let exported = try queue.run("export")
        witness.check(exported, by: "export")
        witness.check(try queue.run("import", "--json", input: exported.output + "{}\n"), by: "import")
        witness.check(try queue.run("import", "--json", "--replace", input: exported.output), by: "import")
        witness.check(try Drainq().run("import", "--json", input: exported.output), by: "import")

        let receiver = try LoopbackReceiver(
            script: .sequence([
                .status(200, body: "yes"), Answer(200, body: [0xFF]), .status(400, body: "no"), .status(503),
                .status(503),
            ]))
        defer { receiver.stop() }
        let sending = try Drainq(to: receiver)
        for _ in 0..<4 { witness.check(try sending.run("send", "--json", input: "1"), by: "send") }
        witness.check(try sending.run("send", "--json", "--no-queue", input: "1"), by: "send")
        witness.check(try sending.run("send", "--json", input: "{"), by: "send")
    }

    /// An operation of each kind, placed by hand: names carry the data of `list`.
    private func operations() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\", retry: \"quick\" } } }")
        let header = """
            {"drainq":1,"id":"ID","createdAt":"2026-11-21T09:15:00Z","key":"k","method":"PUT","url":"https://b.example/",\
            "notBefore":"2026-11-21T10:00:00Z","expiresAt":"2036-11-21T09:15:00Z","idempotencyKey":"i","contentType":"text/plain","length":2}
            """
        let file = """
            BODY
            hi
            {"at":"2026-11-21T09:15:00Z","durationMs":3,"outcome":"deferred","status":503,"rule":"r","retryAfter":7,"excerpt":"e"}
            {"at":"2026-11-21T09:16:00Z","durationMs":3,"outcome":"failed","error":"timeout","rule":"r","ruleCode":"attempts","accused":"destination","counted":true,"interruptions":1}

            """.replacing("BODY", with: header)
        let stem = "20261121T091500.000000Z-ID,k=8254c329a92850f6d539dd37"
        func put(_ id: String, _ path: String, _ rest: String, _ content: String = file) throws {
            let url = queue.queue.appending(path: "\(path)/\(stem.replacing("ID", with: id))\(rest).json")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(content.replacing("\"ID\"", with: "\"\(id)\"").utf8).write(to: url)
        }
        try put("deferred", "deferred", ",a=2,i=1,t=20261121T092000Z")
        try put("failed", "failed", ",a=2")
        try put("delivered", "delivered", ",a=1")
        try put("held", "new", ",h=1")
        try put("waiting", "new", ",n=20361121T092000Z")
        try put("claimed", "claimed/20261121T091500.123456Z-9f86d081884c7d65", "")
        let answered = file.split(separator: "\n", omittingEmptySubsequences: false)
        try put("answered", "deferred", ",a=1,t=20261121T092000Z", answered.prefix(3).joined(separator: "\n") + "\n")
        let bodyFile = #""bodyFile":{"path":"/etc/hostname","length":1,"modified":1,"inode":1},"length":0}"#
        try put("file", "new", "", header.replacing("\"length\":2}", with: bodyFile) + "\n\n")
        try put("quarantined", "quarantine", "")
        try queue.run("add", input: "{")
        try queue.drop(Data("{".utf8), as: "foreign")
        witness.check(try queue.run("run", "--dry-run", "--json", "--now"), by: "run --dry-run")
        try queue.run("hold", "--destination", "https://a.example")
        witness.check(try queue.run("list", "--json"), by: "list")
        witness.check(try queue.run("list", "--json", "--state", "delivered"), by: "list")
        let ids = ["deferred", "answered", "failed", "held", "waiting", "claimed", "file"]
        witness.check(try queue.run(["show", "--json"] + ids), by: "show")
        let added = try queue.run("add", input: "1").lines[0]
        witness.check(try queue.run("show", "--json", added), by: "show")
        witness.check(try queue.run("show", "--json", "quarantined"), by: "show")
        witness.check(try queue.run("export", "--all"), by: "export")
    }

    private func runs() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503, body: "busy"), .status(204)]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "retry: { schedule: [\"1h\"] },")
        try queue.run("add", input: numbered(2))
        try queue.run("add", "--url", "http://127.0.0.1:1/", input: "3")
        try queue.run("add", "--expires", "1ms", input: "3")
        try queue.drop(Data("{".utf8), as: "foreign")
        witness.check(try queue.run("run", "--json", "--concurrency", "1"), by: "run")
        // The deferred operation is due next.
        try queue.run("add", input: "4")
        witness.check(try queue.run("run", "--json"), by: "run")
        witness.check(try queue.run("status", "--json"), by: "status")
        try refusalBesideNewerValue()
    }

    /// A hook adds the newer value after the run has chosen the older value.
    private func refusalBesideNewerValue() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(400)]))
        defer { receiver.stop() }
        let queue = try Drainq()
        try queue.write("echo 2 | '\(builtProgram.path)' add -q '\(queue.queue.path)' --key k", as: "hook")
        try queue.write(
            """
            { routes: { default: { url: "\(receiver.url)", coalesce: true } },
              hooks: { started: ["/bin/sh", "\(queue.directory.path)/hook"] } }
            """, as: "queue/drainq.json")
        try queue.run("add", "--key", "k", input: "1")
        let run = try queue.run("run", "--json", "--limit", "1")
        #expect(run.output.contains(#""outcome":"superseded""#))
        witness.check(run, by: "run")
    }

    private func statuses() throws {
        let queue = try Drainq(
            "{ routes: { default: { url: \"https://a.example\" }, b: { url: \"https://b.example\" }, d: { url: \"https://d.example\" } } }"
        )
        let id = try queue.run("add", input: "1").lines[0]
        let soon = Date(timeIntervalSinceNow: 60).formatted(.iso8601)
        try Data(
            """
            {"version":1,"destinations":{
              "https://a.example":{"hold":{"reason":"401","since":"2026-11-21T09:15:00Z","status":401,"cause":{"status":401,"error":"UNAUTHENTICATED","words":"no"}},"lastSuccess":"2026-11-21T09:00:00Z",
                "incident":{"since":"2026-11-21T09:15:00Z","last":"2026-11-21T09:15:00Z","attempts":2,"cause":{"status":401,"error":"UNAUTHENTICATED","words":"no"}}},
              "https://b.example":{"notBefore":"\(soon)","window":2,"overload":{"inFlight":4,"at":"\(soon)","times":1}},
              "https://c.example":{"failures":5,"downSince":"2026-11-21T09:14:00Z","lastFailure":"refused","lastFailureAt":"2026-11-21T09:15:00Z","coolDownUntil":"\(soon)","coolDowns":1}}}
            """.utf8
        ).write(to: queue.queue.appending(path: "state/destinations.json"))
        let ring = (0..<2).map { minute in
            let seconds = Int(Date().timeIntervalSince1970) - 60 * minute
            return (seconds / 60 % 1500 * 11, Data("\(seconds)\n".utf8))
        }
        var runs = Data(count: 1500 * 11)
        for (start, slot) in ring { runs.replaceSubrange(start..<start + 11, with: slot) }
        try runs.write(to: queue.queue.appending(path: "state/runs"))
        witness.check(try queue.run("list", "--json"), by: "list")
        witness.check(try queue.run("show", "--json", id), by: "show")
        let unsent = try queue.run("add", "--type", "d", input: "1").lines[0]
        try Data(
            "{\"version\":1,\"operations\":[{\"id\":\"\(unsent)\",\"since\":\"\(Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))\",\"reason\":\"r\"}]}"
                .utf8
        ).write(to: queue.queue.appending(path: "state/withheld.json"))
        witness.check(try queue.run("status", "--json"), by: "status")
        try queue.run("pause")
        witness.check(try queue.run("status", "--json"), by: "status")
    }

    private func logs() throws {
        let receiver = try LoopbackReceiver(script: Script(["503 *5", "204", "400", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(
            to: receiver, "coalesce: true, retry: { schedule: [\"1s\", \"1s\", \"1s\", \"1s\", \"1s\"] }")
        try queue.run("add", "--key", "k", input: "1")
        try queue.run("add", "--key", "k", input: "2")
        for _ in 0..<6 { witness.check(try queue.run("run", "--now", "--json"), by: "run") }
        try queue.run("add", "--key", "other", input: "3")
        try queue.run("run", "--now")
        try queue.run("drop", "--state", "failed")
        witness.check(try queue.run("log", "--json"), by: "log")
        let nowhere = try Drainq("{ routes: { default: {} } }")
        try nowhere.run("add", input: "1")
        try nowhere.run("add", "--url", "http://127.0.0.1:1/", input: "1")
        try nowhere.run("run")
        witness.check(try nowhere.run("log", "--json"), by: "log")
    }

    private func waits() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\", ordering: \"key\" } } }")
        try queue.run("add", "--key", "k", "--id", "first", "--delay", "1h", input: "1")
        try queue.run("add", "--key", "k", "--id", "second", input: "2")
        witness.check(try queue.run("list", "--json"), by: "list")
        witness.check(try queue.run("show", "--json", "first", "second"), by: "show")
    }

    private func answers() throws {
        let receiver = try LoopbackReceiver(
            script: .sequence([
                .json("{}"), Answer(200, body: [UInt8](repeating: 0xFF, count: 2000)), .status(400, body: "no"),
            ]))
        defer { receiver.stop() }
        let queue = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)", keepAnswer: true, answerLimit: "1KiB" },
                        create: { keep: { note: "/id" } },
                        update: { url: "\(receiver.url)/{kept.note}" } } }
            """)
        for id in ["text", "bytes", "failed"] { try queue.run("add", "--id", id, input: "1") }
        try queue.run("add", "--id", "next", "--type", "update", "--key", "k", input: "2")
        try queue.run("run", "--concurrency", "1")
        let ids = ["text", "bytes", "failed", "next"]
        witness.check(try queue.run("list", "--json"), by: "list")
        witness.check(try queue.run(["show", "--json"] + ids), by: "show")
        witness.check(try queue.run(["wait", "--json", "--timeout", "0s"] + ids), by: "wait")
        let update = ["--json", "--type", "update", "--key", "k"]
        witness.check(try queue.run(["explain", "503"] + update), by: "explain ANSWER")
        witness.check(try queue.run(["explain"] + update), by: "explain")
    }

    private func actions() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        let id = try queue.run("add", input: "1\n{\n").lines[0]
        let strange = try #require(try queue.names("quarantine").first { !$0.hasSuffix(".reason") })
        try Data("2".utf8).write(to: queue.queue.appending(path: "quarantine/\(strange)"))
        witness.check(try queue.run("hold", "--json", id), by: "hold")
        witness.check(try queue.run("release", "--json", "--all"), by: "release")
        witness.check(try queue.run("hold", "--json", "--destination", "https://a.example"), by: "hold")
        witness.check(try queue.run("release", "--json", "--destination", "https://a.example"), by: "release")
        witness.check(try queue.run("retry", "--json", "--rate", "1/s", id), by: "retry")
        witness.check(try queue.run("retry", "--json", "--state", "quarantined"), by: "retry")
        witness.check(try queue.run("drop", "--json", id), by: "drop")
    }

    private func findings() throws {
        let queue = try Drainq("{ routes: { default: { headers: { Authorization: \"Bearer x\" } } } }")
        try queue.run("add", input: "1")
        try FileManager.default.removeItem(at: queue.queue.appending(path: "delivered"))
        witness.check(try queue.run("check", "--json"), by: "check")
        witness.check(try queue.run("check", "--json", "--repair"), by: "check")
    }

    private func explanations() throws {
        let limited = try LoopbackReceiver(script: .always(.status(403, headers: ["x-reset: 60"])))
        let waiting = try Drainq(to: limited, #"answers: [{ status: 403, is: "defer", until: "x-reset" }]"#)
        let id = try #require(try waiting.run("add", input: "1").lines.first)
        try waiting.run("run")
        witness.check(try waiting.run("show", "--json", id), by: "show")
        let queue = try Drainq(
            """
            { routes: { default: { url: "https://a.example", accept: { contentType: "application/json" },
                                   retryRateLimited: { base: "1s", max: "10s", attempts: 50, maxAge: "8d" }, expiresAfter: "7d" },
                        b: { url: "https://[::1]/", retry: "quick" },
                        c: { url: "https://c.example", accept: null, classify: { "404": "defer" }, batch: { max: 2, results: { pointer: "", status: "/s" } },
                             answers: [{ status: 422, json: { pointer: "/e", exists: true }, is: "defer" }] },
                        d: { url: "https://d.example/{kept.id}", compress: "gzip" }, e: { keep: { id: "/id" } } },
              destinations: { "https://[::1]": { transport: "urlsession" } } }
            """)
        try queue.run("hold", "--destination", "https://a.example", "--destination", "https://c.example")
        for answer in ["503", "401", "200", "timeout", "400"] {
            witness.check(try queue.run("explain", answer, "--json"), by: "explain ANSWER")
            witness.check(try queue.run("explain", answer, "--json", "--type", "b"), by: "explain ANSWER")
        }
        for answer in ["404", "422"] {
            witness.check(try queue.run("explain", answer, "--json", "--type", "c"), by: "explain ANSWER")
        }
        let answer = "HTTP/1.1 200 OK\r\n\r\n[{\"s\":422,\"e\":1}]"
        witness.check(
            try queue.run("explain", "--answer", "-", "--json", "--type", "c", input: answer), by: "explain --answer")
        witness.check(try queue.run("explain", "--json", "--type", "c"), by: "explain")
        witness.check(try queue.run("explain", "--json"), by: "explain")
        witness.check(try queue.run("explain", "--json", "--type", "b"), by: "explain")
        witness.check(try queue.run("explain", "503", "--json", "--type", "d", "--key", "k"), by: "explain ANSWER")
        witness.check(try queue.run("explain", "--json", "--type", "d", "--key", "k"), by: "explain")
        witness.check(try Drainq().run("explain", "--json"), by: "explain")
    }

    private func receiver() throws {
        let queue = try Drainq()
        let file = queue.directory.appending(path: "url")
        let receiving = try queue.start(
            ["receive", "--json", "--bodies", "--count", "2", "--max-time", "50s", "--url-file", file.path], input: "")
        // The file exists before its line is whole.
        var url = ""
        while !url.hasSuffix("\n") {
            try #require(receiving.process.isRunning)
            url = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        }
        url.removeLast()
        try queue.run("send", "--url", url, input: "{\"n\":1}")
        try queue.run("send", "--url", url, "--method", "DELETE", "--content-type", "text/plain")
        witness.check(try receiving.finish(), by: "receive")
    }
}
