import Foundation
import LoopbackReceiver
import Testing

/// Quarantine remembers how bytes were to be read, and `retry` reads them so.
struct QuarantineReadingTests {
    private let receiver: LoopbackReceiver
    private let drainq: Drainq

    init() throws {
        receiver = try LoopbackReceiver()
        drainq = try Drainq()
    }

    /// Writes a configuration with a route for patients, which needs a doctor unless `isRelaxed`.
    private func configure(isRelaxed: Bool) throws {
        let rule = isRelaxed ? "" : ", require: { pointer: '/doctor', notEmpty: true }"
        let text = """
            { routes: { default: { url: '\(receiver.url)/default' },
                        patient: { url: '\(receiver.url)/patient/{key}'\(rule) } } }
            """
        try text.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
    }

    private func quarantined() throws -> [String: Any] {
        let line = try #require(try drainq.run("list", "--state", "quarantined", "--json").lines.first)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func `retry asks the question of add again, with its type, key, headers and times`() throws {
        try configure(isRelaxed: false)
        let added = try drainq.run(
            "add", "--type", "patient", "--key", "{payload.id}", "--header", "X-Ward: 3", "--method", "PUT",
            input: #"{"id":"p1"}"#)
        #expect(added.status == 65)
        let item = try quarantined()
        #expect(item["type"] as? String == "patient" && item["key"] as? String == "p1")
        let id = try #require(item["id"] as? String)
        let refused = try drainq.run("retry", "--state", "quarantined")
        #expect(refused.status == 1 && refused.error.contains("the payload does not meet the route's 'require'"))
        try configure(isRelaxed: true)
        #expect(try drainq.run("retry", "--state", "quarantined").status == 0)
        #expect(try drainq.names("quarantine").isEmpty && drainq.names("new").count == 1)
        #expect(try drainq.run("list", "--json").output.contains("\"id\":\"\(id)\""))
        #expect(try drainq.run("run").status == 0)
        let request = try #require(receiver.requests().first)
        #expect(request.target == "/patient/p1" && request.method == "PUT" && request.text == #"{"id":"p1"}"#)
        #expect(receiver.receivedCount == 1)
    }

    @Test func `a line of import that was refused is retried as a line of import`() throws {
        try configure(isRelaxed: false)
        try drainq.run("add", "--type", "patient", "--key", "p2", input: #"{"doctor":"x"}"#)
        let line = try drainq.run("export").output.replacing(#"{"doctor":"x"}"#, with: #"{"doctor":""}"#)
        try drainq.run("drop", "--all")
        #expect(try drainq.run("import", input: line).status == 65)
        try configure(isRelaxed: true)
        #expect(try drainq.run("retry", "--state", "quarantined").status == 0)
        #expect(try drainq.run("run").status == 0 && receiver.requests().map(\.target) == ["/patient/p2"])
    }

    @Test func `bytes whose reading is not known stay, and the command says what to type`() throws {
        try configure(isRelaxed: true)
        try drainq.run("add", input: "{\n")
        let name = try #require(drainq.names("quarantine").first { !$0.hasSuffix(".reason") })
        try drainq.write("{\"a\":1}", as: "queue/quarantine/\(name)")
        try drainq.write(#"{"reason":"r","source":"standard input line 1"}"#, as: "queue/quarantine/\(name).reason")
        let retried = try drainq.run("retry", name)
        #expect(retried.status == 1 && retried.error.contains("it is not known how its bytes were to be read"))
        #expect(retried.error.contains("hint: drainq add --type TYPE "))
        #expect(try drainq.names("quarantine").count == 2 && drainq.waiting() == 0)
    }

    @Test(arguments: [
        (#"{"a":1}"#, "drainq add --type TYPE "),
        (#"{"type":"patient","payload":1,"headers":{"Authorization":"mine"}}"#, "drainq add --envelope "),
    ])
    func `without a record retry and show give the command that reads the bytes`(content: String, command: String)
        throws
    {
        try configure(isRelaxed: true)
        try drainq.run("add", input: "{\n")
        let name = try #require(drainq.names("quarantine").first { !$0.hasSuffix(".reason") })
        try drainq.write(content, as: "queue/quarantine/\(name)")
        try FileManager.default.removeItem(at: drainq.queue.appending(path: "quarantine/\(name).reason"))
        #expect(try drainq.run("retry", name).error.contains("hint: \(command)"))
        let shown = try drainq.run("show", name).output.replacing("\n", with: " ")
        #expect(shown.contains("'\(command)") && !shown.contains("drainq retry"))
    }

    @Test func `retry says what add says, and what is known of a line is shown`() throws {
        try configure(isRelaxed: true)
        let added = try drainq.run("add", "--type", "patient", "--key", "k", input: "[1,\n")
        #expect(added.error.contains("at column "))
        let item = try quarantined()
        #expect(item["type"] as? String == "patient" && item["key"] as? String == "k")
        let retried = try drainq.run("retry", "--state", "quarantined")
        #expect(retried.error.contains("at column ") && !retried.error.contains("at byte"), "\(retried.error)")
        #expect(try drainq.run("list", "--type", "patient").output.contains("patient"))
    }

    @Test func `retry and drop of everything say what they leave`() throws {
        try configure(isRelaxed: true)
        try drainq.run("add", input: "{\n")
        for verb in ["retry", "drop"] {
            let result = try drainq.run(verb, "--all")
            #expect(result.error.contains("left 1 file in quarantine: 'drainq \(verb) --state quarantined"))
        }
    }

    @Test(arguments: [["--url", "example.com/x"], ["--url", "ftp://x/"]])
    func `a mistake in an option is a mistake of the command, not of each line`(option: [String]) throws {
        let added = try drainq.start(["add"] + option, input: "1\n2\n").finish()
        #expect(added.status == 64 && added.error.contains("'\(option.joined(separator: " "))'"))
        #expect(try drainq.names("quarantine").isEmpty && drainq.waiting() == 0)
    }

    // MARK: - Order

    /// The ways into quarantine of a value that a route refuses.
    enum Way: CaseIterable { case line, envelope, export, foreign }

    /// Writes a route `t`, which needs `/ok` unless `isRelaxed`.
    private func configure(_ order: String, isRelaxed: Bool = false) throws {
        let rule = isRelaxed ? "" : ", require: { pointer: '/ok', exists: true }"
        let text = "{ routes: { t: { url: '\(receiver.url)/'\(rule), \(order) } } }"
        try text.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
    }

    private func enter(_ payload: String, by way: Way) throws {
        let envelope = #"{"drinq":1,"type":"t","key":"k","payload":\#(payload)}"#.replacing("drinq", with: "drainq")
        switch way {
        case .line: try drainq.run("add", "--type", "t", "--key", "k", input: payload)
        case .envelope: try drainq.run("add", "--envelope", input: envelope)
        case .export:
            let other = try Drainq()
            try other.run("add", "--type", "t", "--key", "k", input: payload)
            try drainq.run("import", input: try other.run("export").output)
        case .foreign:
            let number = try drainq.names("new").count + drainq.names("quarantine").count
            try drainq.write(envelope, as: "queue/new/f\(number)")
        }
    }

    @Test(arguments: Way.allCases)
    func `the delivery of a value removes the older values of its key from quarantine`(way: Way) throws {
        try configure("coalesce: true")
        try enter(#"{"v":1}"#, by: way)
        if way == .foreign { #expect(try drainq.run("run").status == 65) }
        #expect(try drainq.run("list", "--state", "quarantined", "--type", "t", "--json").lines.count == 1)
        try enter(#"{"v":2,"ok":1}"#, by: .line)
        try drainq.run("run")
        #expect(try drainq.names("quarantine").isEmpty)
        try configure("coalesce: true", isRelaxed: true)
        try drainq.run("retry", "--state", "quarantined")
        try drainq.run("run")
        #expect(receiver.requests().map(\.text) == [#"{"v":2,"ok":1}"#])
    }

    @Test(arguments: Way.allCases)
    func `retry leaves an older value in quarantine, and as the newest it replaces the newer one`(way: Way) throws {
        try configure("coalesce: true")
        try enter(#"{"v":1}"#, by: way)
        if way == .foreign { try drainq.run("run") }
        try enter(#"{"v":2,"ok":1}"#, by: .line)
        try configure("coalesce: true", isRelaxed: true)
        let refused = try drainq.run("retry", "--state", "quarantined")
        #expect(refused.status == 1 && refused.error.contains("is a newer value of its key"))
        let files = try drainq.names("quarantine").filter { !$0.hasSuffix(".reason") }
        let shown = try drainq.run("show", files[0]).output
        #expect(shown.contains("retry --as-newest") && !shown.contains("reads it again"), "\(shown)")
        #expect(try files.count == 1 && drainq.names("quarantine").count == 2)
        #expect(try drainq.run("retry", "--as-newest", "--state", "quarantined").status == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == [#"{"v":1}"#])
    }

    @Test(arguments: Way.allCases)
    func `a refused operation holds the operations behind it as one that failed does`(way: Way) throws {
        try configure("ordering: 'key', onFailure: 'hold'")
        try enter(#"{"v":1}"#, by: way)
        try enter(#"{"v":2,"ok":1}"#, by: way == .foreign ? .foreign : .line)
        for _ in 1...2 { try drainq.run("run") }
        #expect(try drainq.names("new").count == 1 && receiver.receivedCount == 0)
        try configure("ordering: 'key', onFailure: 'hold'", isRelaxed: true)
        #expect(try drainq.run("retry", "--state", "quarantined").status == 0)
        try drainq.run("run")
        #expect(receiver.requests().map(\.text) == [#"{"v":1}"#, #"{"v":2,"ok":1}"#])
    }

    @Test func `an id in quarantine is free for the mended line`() throws {
        try configure("coalesce: true")
        for number in 1...2 {
            #expect(try drainq.run("add", "--type", "t", "--id", "a", input: #"{"v":\#(number)}"#).status == 65)
        }
        #expect(try drainq.run("add", "--type", "t", "--id", "a", input: #"{"ok":1}"#).status == 0)
        #expect(try drainq.names("quarantine").count(where: { $0.hasSuffix(".input") }) == 2)
    }

    // MARK: - wait

    @Test func `wait ends with 1 and the word for what ended an operation without a delivery`() throws {
        let text = """
            { routes: { default: { url: '\(receiver.url)/' }, p: { url: '\(receiver.url)/p', coalesce: true } },
              limits: { operations: 2, whenFull: 'dropOldest' } }
            """
        try text.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        try drainq.run("add", "--id", "evicted", input: "1")
        let waiting = try drainq.start("wait", "evicted", "--json")
        try drainq.run("add", "--id", "dropped", input: "2")
        let crowd = try drainq.run("add", "--type", "p", "--key", "k", "--id", "older", input: "3")
        #expect(crowd.error.contains("dropped 'evicted', the oldest"))
        let waited = try waiting.finish()
        // The command may begin after the eviction: it knows the operation all the same.
        #expect(waited.status == 1 && waited.output.contains(#""outcome":"evicted""#))
        try drainq.run("add", "--type", "p", "--key", "k", "--id", "newer", input: "4")
        try drainq.run("drop", "dropped")
        #expect(try drainq.run("run").status == 0)
        let all = try drainq.run("wait", "dropped", "older")
        #expect(all.status == 1 && all.error.contains("'dropped' was dropped by an operator"))
        #expect(all.error.contains("'older' is superseded: 'newer' replaced it"))
        #expect(try drainq.run("wait", "nobody").status == 66)
        #expect(try drainq.run("status", "--json").output.contains(#""evictedTotal":1"#))
    }

    @Test func `wait ends with 0 for a delivery alone, and takes the last ending of an id`() throws {
        try configure(isRelaxed: true)
        var removed: Finished
        repeat {
            try drainq.run("add", "--id", "removed", input: "1")
            let waiting = try drainq.start("wait", "--json", "removed")
            #expect(try drainq.run("wait", "removed", "--timeout", "300ms").status == 75)
            for name in try drainq.names("new") {
                try FileManager.default.removeItem(at: drainq.queue.appending(path: "new/\(name)"))
            }
            removed = try waiting.finish()
            // A command that begins after the removal has not seen the operation.
        } while removed.status == 66
        #expect(removed.status == 1 && removed.output.contains(#""outcome":"gone""#), "\(removed)")
        try drainq.run("add", "--id", "again", input: "1")
        try drainq.run("drop", "again")
        #expect(try drainq.run("wait", "again").status == 1)
        try drainq.run("add", "--id", "again", input: "2")
        try drainq.run("add", "--id", "moved", input: "3")
        let saved = try drainq.run("export", "moved", "--then-drop").output
        try drainq.run("import", input: saved)
        #expect(try drainq.run("run").status == 0)
        let waited = try drainq.run("wait", "--json", "again", "moved")
        #expect(waited.status == 0 && waited.output.split(separator: "delivered").count == 3, "\(waited)")
    }

    @Test func `wait says that a line in quarantine was dropped`() throws {
        try configure(isRelaxed: false)
        try drainq.run("add", "--type", "patient", "--key", "p", "--id", "line", input: "{}")
        #expect(try drainq.run("drop", "line").status == 0)
        let dropped = try drainq.run("wait", "line")
        #expect(dropped.status == 1 && dropped.error.contains("was dropped by an operator"), "\(dropped)")
    }

    @Test func `an eviction tells of the operations that wait for a value of what went`() throws {
        let text = """
            { routes: { create: { url: '\(receiver.url)/', keep: { id: '/id' } },
                        update: { url: '\(receiver.url)/{kept.id}' } }, limits: { operations: 2, whenFull: 'dropOldest' } }
            """
        try text.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        try drainq.run("add", "--type", "create", "--key", "k", "--id", "made", input: "1")
        try drainq.run("add", "--type", "update", "--key", "k", "--id", "follower", input: "2")
        let crowd = try drainq.run("add", "--type", "create", "--key", "m", input: "3")
        #expect(crowd.error.contains("dropped 'made', the oldest"))
        #expect(crowd.error.contains("'follower' waits for a value of an operation that was evicted"))
    }

    @Test func `wait says that an operation has expired, and that no run has come yet`() throws {
        try drainq.run("add", "--id", "x", "--expires", "2020-01-01T00:00:00Z", input: "1")
        let early = try drainq.run("wait", "x", "--timeout", "20ms")
        #expect(early.status == 75 && early.error.contains("no run yet: see WHEN IT RUNS in drainq-setup(7)"))
        try drainq.run("run")
        // A power cut may lose the times of runs.
        try FileManager.default.removeItem(at: drainq.queue.appending(path: "state/runs"))
        let waited = try drainq.run("wait", "x", "--json")
        #expect(waited.status == 1 && waited.output.contains(#""outcome":"expired""#))
        #expect(!waited.error.contains("no run yet"))
    }
}
