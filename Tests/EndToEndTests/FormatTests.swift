import Foundation
import LoopbackReceiver
import Testing

/// Queues of older releases keep their meaning, and files of newer releases stay untouched.
struct FormatTests {
    let recorded: RecordedQueue
    let drainq: Drainq

    /// Only format 1 exists so far: a new format gets an additional fixture.
    init() throws {
        recorded = try RecordedQueue(format: 1)
        drainq = try Drainq()
        try FileManager.default.removeItem(at: drainq.queue)
        try recorded.write(to: drainq.queue)
    }

    private func rows() throws -> [String: [String: Any]] {
        let rows = try drainq.run("list", "--json").lines.map { try json($0) }
        return Dictionary(uniqueKeysWithValues: rows.compactMap { row in (row["id"] as? String).map { ($0, row) } })
    }

    /// A queue of an older release lacks newer directories and files: every reader takes a missing file as empty.
    @Test func `a queue of format 1 can be read before missing directories are made`() throws {
        for arguments in [["list"], ["status"], ["show", "failed"], ["export"], ["run", "--dry-run"]] {
            let finished = try drainq.start(arguments, input: "").finish()
            #expect(!finished.error.contains("drainq: error:"), "\(arguments): \(finished.error)")
        }
    }

    @Test func `each operation of format 1 keeps its state, type, destination and attempts`() throws {
        let expected = """
            failed    failed    default http://api.test    1 status 404
            reset     deferred  invoice http://api.test    1 error reset
            twice     deferred  order   http://api.test    1 status 503
            asked     deferred  busy    http://busy.test   0 status 429
            down-0    deferred  down    http://down.test   1 error reset
            down-5    new       down    http://down.test   0 -
            refused   held      guarded http://guarded.test 0 -
            number    new       order   http://api.test    0 -
            text      new       default http://api.test    0 -
            binary    new       photo   http://photo.test  0 -
            fields    new       own     origin-of-its-own  0 -
            new-value new       profile http://api.test    0 -
            first     new       ledger  http://ledger.test 0 -
            future    new       default http://api.test    0 -
            attached  held      photo   http://photo.test  0 -
            dead-0    claimed   slow    http://slow.test   0 -
            dead-1    claimed   slow    http://slow.test   0 -
            """
        let rows = try rows()
        for line in expected.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true).map(String.init)
            let row = try #require(rows[words[0]], "\(words[0])")
            let last = [
                (row["lastStatus"] as? Int).map { "status \($0)" }, (row["lastError"] as? String).map { "error \($0)" },
            ]
            let destination = try #require(row["destination"] as? String)
            #expect(row["state"] as? String == words[1], "\(words[0])")
            #expect(row["type"] as? String == words[2], "\(words[0])")
            #expect(destination.hasPrefix("origin ") ? words[3] == "origin-of-its-own" : destination == words[3])
            #expect(row["attempts"] as? Int == Int(words[4]), "\(words[0])")
            #expect(last.compactMap(\.self) == (words[5] == "-" ? [] : [words[5]]), "\(words[0])")
        }
        #expect(rows["fields"]?["key"] as? String == "a key / ü")
        #expect(rows["future"]?["notBefore"] as? String == "2098-07-06T05:04:03.250Z")
        #expect(rows["asked"]?["due"] as? String != nil && rows["twice"]?["due"] as? String != nil)
        #expect(rows.count == recorded.operations.count - 1)
        #expect(try drainq.run("list", "--state", "delivered", "--json").lines.count == 1)
    }

    @Test func `pauses, holds and counters of format 1 stay in force`() throws {
        let status = try json(drainq.run("status", "--json").output)
        let holds = try #require(status["holds"] as? [[String: Any]])
        #expect(status["paused"] as? Bool == true)
        #expect(holds.compactMap { $0["destination"] as? String } == ["http://guarded.test"])
        #expect(holds.compactMap { $0["reason"] as? String } == ["status 401: default 401 holds"])
        #expect((status["lastRun"] as? [String: Any])?["exitStatus"] as? Int == 69)
        let told = try drainq.run("status").output
        #expect(told.contains("paused: 'http://photo.test'"))
        let quarantined = try drainq.run("list", "--state", "quarantined", "--json")
        #expect(try json(quarantined.lines[0])["reason"] as? String == "expected a value, found the end in line 2")
        let metrics = try drainq.run("status", "--prometheus").lines
        #expect(
            metrics.contains {
                $0.hasPrefix("drainq_attempts_total{") && $0.hasSuffix(#"destination="http://down.test"} 5"#)
            })
    }

    @Test func `export has headers, bodies and attempts of format 1 byte for byte, with unknown fields`() throws {
        let lines = try drainq.run("export").lines
        // Kept copies wait for nobody.
        #expect(lines.count == recorded.operations.count - 1)
        for line in lines {
            let id = try #require(try json(line)["id"] as? String)
            let file = try #require(recorded.operations[id]).bytes
            let header = try #require(file.split(separator: 10, maxSplits: 1).first)
            #expect(line.contains("\"header\":" + String(decoding: header, as: UTF8.self)), "\(id)")
            let length = try #require((try json(line)["header"] as? [String: Any])?["length"] as? Int)
            let body = Array(file[(header.count + 1)...].prefix(length))
            let encoded = (try json(line)["bodyBase64"] as? String).flatMap { Data(base64Encoded: $0) }.map {
                Array($0)
            }
            #expect(
                length == 0 || encoded == body
                    || line.contains("\"payload\":" + String(decoding: body, as: UTF8.self)), "\(id)")
            for attempt in file[(header.count + 1 + length)...].split(separator: 10) {
                #expect(line.contains(String(decoding: attempt, as: UTF8.self)), "\(id)")
            }
        }
        #expect(lines.contains { $0.contains(#""trace":{"id": [1, 2.5, null]},"priority":"high""#) })
    }

    @Test func `a queue of format 1 is sent with its original requests`() throws {
        let receiver = try LoopbackReceiver()
        drainq.environment = ["http_proxy": receiver.url, "no_proxy": ""]
        let paused = try drainq.run("run", "--json")
        #expect(paused.status == 0 && receiver.receivedCount == 0)
        #expect(try drainq.run("resume").status == 0)
        #expect(try drainq.run("resume", "--destination", "http://photo.test").status == 0)
        for name in ["api", "busy", "down", "guarded"] {
            #expect(try drainq.run("release", "--destination", "http://\(name).test").status == 0)
        }
        #expect(try drainq.run("retry", "failed").lines == ["failed"])
        let run = try drainq.run("run", "--now", "--limit", "1000", "--quiet")
        #expect(run.status == 0 && run.error.isEmpty)
        let expected = """
            POST http://api.test/v1/default failed {"n": 2}
            POST http://api.test/v1/invoice reset {"n": 3}
            POST http://api.test/v1/order twice {"n": 4}
            POST http://busy.test/ asked {"n": 5}
            POST http://down.test/ down-0 0
            POST http://down.test/ down-1 1
            POST http://down.test/ down-2 2
            POST http://down.test/ down-3 3
            POST http://down.test/ down-4 4
            POST http://down.test/ down-5 5
            POST http://guarded.test/ refused {"n": 7}
            POST http://api.test/v1/order number 0
            POST http://api.test/v1/default text zwei Zeilen/Umlaute: äöü/
            PUT http://photo.test/ binary \u{0}\u{1}\u{2}/\r\n\\\u{7F}\u{FFFD}\u{FFFD}\u{0}
            DELETE http://own.test:8080/things/7?really=yes empty\(" ")
            PUT http://own.test:8080/fields given-key []
            PATCH http://api.test/profile/u7 new-value {"plan": "pro"}
            POST http://ledger.test/entries first 1
            POST http://ledger.test/entries second 2
            POST http://api.test/v1/default unknown {"n": 20}
            POST http://api.test/v1/default exact { "price": 1.10, "big": 12345678901234567890 }
            POST http://slow.test/ dead-0 0
            POST http://slow.test/ dead-1 1
            POST http://api.test/v1/default ? {"from": "elsewhere"}
            """
        let requests = receiver.requests()
        let sent = requests.map { request in
            let key = request.header("Idempotency-Key")?.trimmingCharacters(in: ["\""]) ?? ""
            return [
                request.method, request.target, recorded.operations[key] != nil || key == "given-key" ? key : "?",
                request.text.replacing("\n", with: "/"),
            ].joined(separator: " ")
        }
        #expect(sent.sorted() == expected.split(separator: "\n").map(String.init).sorted())
        let order = requests.compactMap { $0.target.contains("ledger") ? $0.text : nil }
        #expect(order == ["1", "2"])
        let fields = try #require(requests.first { $0.target.hasSuffix("/fields") })
        let many = fields.headers.filter { $0.name == "X-Many" }.map(\.value).joined(separator: ",")
        #expect(fields.header("X-One") == "1" && many.replacing(" ", with: "") == "a,b")
        #expect(
            requests.first { $0.method == "PUT" && $0.target.contains("photo") }?.body == [
                0, 1, 2, 10, 13, 10, 92, 127, 255, 128, 0,
            ])
        #expect(
            requests.first { $0.text == "0" && $0.target.contains("order") }?.header("Content-Type")
                == "application/vnd.order+json")
        #expect(requests.first { $0.header("Idempotency-Key") == "\"twice\"" }?.header("Drainq-Attempt") == "2")
        // Operations due later and operations held by an operator remain.
        #expect(try Set(rows().keys) == ["future", "attached"])
    }

    @Test(
        arguments: [
            ["init"], ["init", "--url", "http://api.test"], ["add"], ["add", "--atomic"], ["add", "--envelope"],
            ["send"],
            ["send", "--no-queue"], ["run"], ["run", "--now", "--until-empty"], ["run", "--dry-run"], ["list"],
            ["show", "twice"], ["status"], ["status", "--json"], ["status", "--prometheus"], ["retry", "--all"],
            ["drop", "--all"], ["hold", "--all"], ["hold", "--destination", "http://down.test"], ["release", "--all"],
            ["release", "--destination", "http://down.test"], ["pause"],
            ["pause", "--destination", "http://down.test"],
            ["resume"], ["export"], ["import"], ["check"], ["check", "--repair"], ["explain", "503"],
        ])
    func `every command refuses a queue of a newer format, and changes no file`(words: [String]) throws {
        let format = drainq.queue.appending(path: "state/format")
        try "2\n".write(to: format, atomically: false, encoding: .utf8)
        let before = try trace()
        let ended = try drainq.start(words, input: "{\"n\":1}\n").finish()
        #expect(ended.status == 78, "\(ended.error)")
        let refusal = "cannot open '\(drainq.queue.path)': a newer drainq has written it (format 2)"
        #expect((ended.output + ended.error).contains(refusal))
        #expect(try trace() == before)
    }

    @Test func `a file of a newer drainq under a canonical name stays in place, and each run says so`() throws {
        for state in ["new", "deferred"] {
            try FileManager.default.removeItem(at: drainq.queue.appending(path: state))
            try FileManager.default.createDirectory(
                at: drainq.queue.appending(path: state), withIntermediateDirectories: false)
        }
        let name = "new/20261120T090000.000001Z-newer.json"
        let file = drainq.queue.appending(path: name)
        let text = #"{"drainq":2,"id":"newer","body":"elsewhere"}"# + "\n"
        try text.write(to: file, atomically: true, encoding: .utf8)
        let odd = "deferred/20261120T090000.000001Z-odd,z=1.json"
        try text.write(to: drainq.queue.appending(path: odd), atomically: true, encoding: .utf8)
        try drainq.run("resume")
        for _ in 0..<2 {
            let run = try drainq.run("run", "--type", "default")
            #expect(run.status == 74)
            #expect(run.error.contains("cannot send '\(name)': a newer drainq has written it (format 2)"))
            #expect(try String(contentsOf: file, encoding: .utf8) == text)
        }
        let check = try drainq.run("check")
        #expect(check.status == 78)
        #expect(check.error.contains("'\(name)' has format 2, newer than this drainq reads"))
        #expect(
            check.output.contains("'deferred' contains 1 file without the name of an operation; drainq ignores them"))
    }

    /// Each name with kind, mode, size and time of the last change, so that every rename and write shows.
    private func trace() throws -> [String] {
        try drainq.shell("cd queue && find . -printf '%p %y %m %s %C@\\n' | LC_ALL=C sort").lines
    }
}
