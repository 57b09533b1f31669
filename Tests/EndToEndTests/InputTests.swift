import Foundation
import LoopbackReceiver
import Testing

struct InputTests {
    @Test func `an input that cannot be opened does not affect earlier inputs`() throws {
        let queue = try Drainq()
        let finished = try queue.shell(
            """
            for n in 1 2; do echo $n >$n; done
            drainq add 1 2 none; echo "add $?"; drainq export >all; drainq drop --all >gone
            drainq import all none >imported; echo "import $?"; wc -l <imported
            """)
        #expect(finished.lines.dropFirst(2) == ["add 74", "import 74", "2"])
        #expect(try queue.waiting() == 2)
    }

    @Test func `an id that a command line cannot name is refused`() throws {
        let queue = try Drainq()
        let refused = try queue.run("add", "--id", "-", input: "1")
        #expect(refused.status == 64 && refused.error.contains("- alone means standard input"))
        let envelope = #"{"drainq": 1, "id": "-", "payload": 1}"#
        let value = try queue.run("add", "--envelope", input: envelope)
        #expect(value.status == 65 && value.error.contains("field 'id': '-' is no id"))
        #expect(try queue.run("send", "--envelope", input: envelope).status == 65)
        #expect(try queue.waiting() == 0)
        #expect(try queue.run("add", "--id", "--", input: "1").lines == ["--"])
        #expect(try queue.run("show", "--", "--").status == 0)
    }

    @Test func `without a default route, a type without a route is refused with the nearest name`() throws {
        let drainq = try Drainq("{ routes: { updateProfile: { url: 'http://a.example/' } } }")
        let mistyped = try drainq.run("add", "--type", "upadteProfile", input: "1")
        #expect(mistyped.status == 64)
        #expect(
            mistyped.error.contains("no route for the type 'upadteProfile'")
                && mistyped.error.contains("did you mean 'updateProfile'?"))
        #expect(try drainq.run("add", input: "1").error.contains("the types are updateProfile"))
        #expect(try drainq.run("send", "--type", "other", input: "1").status == 64)
        // A value that names its type itself is a bad line.
        #expect(try drainq.run("add", "--type", "{payload}", input: "\"other\"").status == 65)
        #expect(try drainq.run("add", "--type", "updateProfile", input: "1").status == 0)
        // An operation with its own url needs no route, and a queue without routes is not configured yet.
        #expect(try drainq.run("add", "--type", "other", "--url", "http://b.example/", input: "1").status == 0)
        #expect(try Drainq("{}").run("add", "--type", "other", input: "1").status == 0)
        #expect(try drainq.waiting() == 2)
    }

    @Test func `an array is a single operation with a notice, and --each makes each element an operation`() throws {
        let drainq = try Drainq()
        let array = "[ {\"n\": 1},\n  \"two\",\n [3] ]\n"
        let one = try drainq.run("add", input: array)
        #expect(one.status == 0 && one.lines.count == 1)
        #expect(
            one.error == "drainq: 'standard input' has a JSON array, which is one operation; --each adds its elements\n"
        )
        let each = try drainq.run("add", "--each", input: array + "4\n[]\n")
        #expect(each.status == 0 && each.error == "" && each.lines.count == 4)
        let enveloped = try drainq.run(
            "add", "--each", "--envelope", input: "[{\"payload\": 1},\n{\"payload\": 1, \"id\": 7}]")
        #expect(enveloped.status == 65 && enveloped.lines.count == 1)
        #expect(enveloped.error.contains("line 2 of 'standard input'"), "\(enveloped)")
        let exported = try drainq.run("export").output
        for payload in ["{\"n\": 1}", "\"two\"", "[3]", "4"] {
            #expect(exported.contains("\"payload\":\(payload)"), "\(exported)")
        }
    }

    @Test func `a bad line is reported with its number and kept, and good lines are added`() throws {
        let drainq = try Drainq()
        let added = try drainq.run("add", input: "{\"n\":1}\n{\"n\":\n{\"n\":3}\n")
        #expect(added.status == 65)
        #expect(added.lines.count == 2)
        #expect(added.error.contains("cannot add line 2 of 'standard input'"))
        #expect(try drainq.names("quarantine").count == 2)
    }

    @Test(arguments: ["add", "import"])
    func `bad lines of an input are kept by a single call`(command: String) throws {
        let drainq = try Drainq()
        let finished = try drainq.run(command, input: String(repeating: "no\n", count: 40))
        #expect(finished.status == 65 && finished.error.matches(of: /cannot \w+ line/).count == 40)
        // Reported for the first such line: lines before may be JSON.
        let warnings = finished.error.matches(of: /line 1 of '[^']*' looks like plain text/).count
        #expect(warnings == (command == "add" ? 1 : 0))
        let names = try drainq.names("quarantine").filter { !$0.hasSuffix(".reason") }
        let lines = try names.map { name in
            let reason = drainq.queue.appending(path: "quarantine/\(name).reason")
            return try String(contentsOf: reason, encoding: .utf8).firstMatch(of: /line (\d+)/).map { Int($0.1) ?? 0 }
        }
        // The time in the name of a value is the time at which it was read.
        #expect(names.count == 40 && (command == "import" ? Set(lines).count == 40 : lines == Array(1...40)))
    }

    @Test func `--atomic adds all operations or none`() throws {
        let drainq = try Drainq()
        let added = try drainq.run("add", "--atomic", input: "{\"n\":1}\nno\n")
        #expect(added.status == 65)
        #expect(added.output.isEmpty)
        #expect(try drainq.waiting() == 0)
        #expect(try drainq.run("add", "--atomic", input: numbered(3)).lines.count == 3)
    }

    @Test func `a document over several lines is a single operation`() throws {
        let drainq = try Drainq()
        let file = drainq.directory.appending(path: "document.json")
        try "{\n  \"a\": [\n    1\n  ]\n}\n".write(to: file, atomically: true, encoding: .utf8)
        let id = try #require(try drainq.run("add", file.path).lines.first)
        let story = try json(drainq.run("show", "--json", id).lines[0])
        #expect(story["body"] as? String == "{\n  \"a\": [\n    1\n  ]\n}")
    }

    @Test func `the lines of a broken document are no operations`() throws {
        let drainq = try Drainq()
        let added = try drainq.run("add", input: "{\n  \"a\": 1,,\n  \"b\"\n}\n{\"good\": true}\n")
        #expect(added.status == 65)
        #expect(added.lines.count == 1)
        #expect(added.error.contains("in line 2"))
    }

    @Test func `an envelope carries its own fields, and its payload byte for byte`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        let added = try drainq.run(
            "add", "--envelope",
            input:
                "{\"drainq\":1,\"id\":\"mine\",\"type\":\"note\",\"method\":\"PUT\",\"payload\":{\"x\": 12345678901234567890}}\n"
        )
        #expect(added.lines == ["mine"])
        #expect(try drainq.run("run").status == 0)
        let request = try #require(receiver.requests().first)
        #expect(request.method == "PUT" && request.path == "/note" && request.text == "{\"x\": 12345678901234567890}")
        #expect(request.header("Content-Type") == "application/json")
    }

    @Test func `an option takes precedence over the envelope's field, and a header over the same header`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        let added = try drainq.run(
            "add", "--envelope", "--type", "b", "--key", "k2", "--method", "POST", "--header", "x-a: option",
            input:
                "{\"type\":\"a\",\"key\":\"k1\",\"method\":\"PUT\",\"headers\":{\"X-A\":[\"1\",\"2\"],\"X-B\":\"field\"},\"payload\":1}\n"
        )
        #expect(added.status == 0)
        #expect(try drainq.run("list", "--key", "k2", "--json").lines.count == 1)
        #expect(try drainq.run("run").status == 0)
        let request = try #require(receiver.requests().first)
        #expect(request.method == "POST" && request.path == "/b")
        #expect(request.header("X-A") == "option" && request.header("X-B") == "field")
        #expect(request.headers.count { $0.name.lowercased() == "x-a" } == 1)
    }

    @Test func `an id already in the queue is not added again`() throws {
        let drainq = try Drainq()
        #expect(try drainq.run("add", "--id", "one", input: "1").status == 0)
        let again = try drainq.run("add", "--id", "one", input: "2")
        #expect(again.status == 0)
        #expect(again.error.contains("'one' is in the queue already"))
        #expect(try drainq.waiting() == 1)
    }

    @Test func `a body that is not JSON is sent unchanged`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", "--content-type", "text/plain", input: "line one\nline two")
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().first?.text == "line one\nline two")
        #expect(receiver.requests().first?.header("Content-Type") == "text/plain")
    }

    @Test func `a given media type takes precedence over the header of the route`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver, #"headers: { "Content-Type": "application/json; charset=utf-8" }"#)
        try drainq.run("add", input: "1")
        try drainq.run("add", "--content-type", "text/csv", input: "a;b")
        try drainq.run("add", "--envelope", input: #"{"body":"a;b","contentType":"text/csv"}"#)
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.run("send", "--content-type", "text/csv", input: "a;b").status == 0)
        let types = receiver.requests().compactMap { $0.header("Content-Type") }
        #expect(types.sorted() == ["application/json; charset=utf-8", "text/csv", "text/csv", "text/csv"])
    }

    @Test func `an id given twice means a single operation`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        let id = try drainq.run("add", input: "1").lines[0]
        #expect(try drainq.run("show", "--json", id, id).lines.count == 1)
        #expect(try drainq.run("run", "--dry-run", id, id).lines.count == 1)
        let waited = try drainq.run("wait", "--timeout", "100ms", id, id)
        #expect(waited.error.matches(of: /is not delivered yet/).count == 1)
        #expect(try drainq.run("run", id, id).status == 0)
        #expect(receiver.requests().count == 1)
    }

    @Test func `foreign files in new are delivered if valid, and quarantined if not`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.drop(Data("{\"hello\": 1}".utf8), as: "good-1")
        try drainq.drop(Data("{\"drainq\":1,\"type\":\"t\",\"payload\":2}".utf8), as: "good-2.json")
        try drainq.drop(Data("{\"drainq\":1,\"payload\":".utf8), as: "truncated.json")
        try drainq.drop(Data(), as: "empty")
        try drainq.drop(Data("{\"a\":\"\0\"}".utf8), as: "nul.json")
        let big = drainq.queue.appending(path: "new/big.json")
        try Data().write(to: big)
        try FileHandle(forWritingTo: big).truncate(atOffset: 100_000_000)
        let new = drainq.queue.appending(path: "new")
        try FileManager.default.createDirectory(
            at: new.appending(path: "directory"), withIntermediateDirectories: false)
        mkfifo(new.appending(path: "fifo").path, 0o600)
        try FileManager.default.createSymbolicLink(
            atPath: new.appending(path: "link").path, withDestinationPath: "/etc/passwd")
        let run = try drainq.run("run")
        #expect(run.status == 65)
        #expect(Set(receiver.requests().map(\.text)) == ["{\"hello\": 1}", "2"])
        for name in ["truncated.json", "empty", "nul.json", "big.json", "directory", "fifo", "link"] {
            #expect(run.error.contains("'\(name)' is in quarantine"), "\(name)")
        }
        #expect(try drainq.names("new").isEmpty)
        #expect(try drainq.run("run").status == 0)
    }

    @Test func `wrong use, a missing queue and a bad configuration have distinct exit statuses`() throws {
        let drainq = try Drainq()
        let wrong = try drainq.run("run", "--limt", "5")
        #expect(wrong.status == 64 && wrong.error.contains("did you mean --limit?"))
        let missing = try drainq.run("run", "-q", "/nonexistent/queue")
        #expect(missing.status == 66 && missing.error.contains("hint: drainq init"))
        try "{ routes: { default: { ulr: \"x\" } } }".write(
            to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let bad = try drainq.run("run")
        #expect(bad.status == 78 && bad.error.contains("drainq.json:1"))
        #expect(try drainq.run("check").status == 78)
    }

    @Test func `drop needs a choice, and drops only the chosen operations`() throws {
        let drainq = try Drainq()
        let ids = try drainq.run("add", input: numbered(3)).lines
        #expect(try drainq.run("drop").status == 64)
        #expect(try drainq.run("drop", "-", input: ids[1] + "\n").lines == [ids[1]])
        #expect(
            try drainq.run("list", "--json").lines.compactMap { try json($0)["id"] as? String } == [ids[0], ids[2]])
        #expect(try drainq.run("drop", "--all", "--dry-run").lines.count == 2)
        #expect(try drainq.run("drop", "--all").lines.count == 2)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `status counts by state and destination`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(500)))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(2))
        try drainq.run("run", "--limit", "1")
        let status = try json(drainq.run("status", "--json").lines[0])
        let states = try #require(status["states"] as? [String: Int])
        #expect(states["new"] == 1 && states["deferred"] == 1)
        #expect((status["destinations"] as? [[String: Any]])?.first?["destination"] as? String == receiver.url)
        #expect((status["lastRun"] as? [String: Any])?["exitStatus"] as? Int == 75)
    }

    @Test func `the demo delivers its input, with a retry`() throws {
        let drainq = try Drainq()
        let demo = try drainq.run("demo", input: "{\"mine\":1}\n{\"mine\":2}\n")
        #expect(demo.status == 0)
        #expect(demo.lines.count == 3)
        #expect(demo.error.contains("2 delivered"))
    }

    @Test func `an envelope needs no marker, and a misspelled field gives a warning`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        let added = try queue.run(
            "add", "--envelope", input: "{\"typ\":\"crm\",\"payload\":1,\"note\":2}\n{\"typ\":\"crm\",\"payload\":1}\n")
        #expect(added.status == 0 && added.lines.count == 2)
        #expect(added.error.components(separatedBy: "'typ' is not a known field of an operation").count == 2)
        #expect(added.error.contains("did you mean 'type'?") && !added.error.contains("note"))
        let newer = try queue.run("add", "--envelope", input: "{\"drainq\":2,\"payload\":1}\n")
        #expect(newer.status == 65)
        let shown = try queue.run("show", added.lines[0]).output
        #expect(shown.contains("attempts:     0 of 14: it fails for good when 14 have been counted"))
    }
}
