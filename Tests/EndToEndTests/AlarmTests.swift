import Foundation
import LoopbackReceiver
import Testing

/// The mails of cron over many runs: a cause gives a single mail.
struct AlarmTests {
    private func queue(_ script: Script) throws -> (LoopbackReceiver, Drainq) {
        let receiver = try LoopbackReceiver(script: script)
        let settings = "destinations: { \"\(receiver.url)\": { stormGuard: 0, holdProbe: \"1ms\" } }"
        let queue = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url)/{type}\", classify: { \"418\": \"hold\" } } }, \(settings) }"
        )
        return (receiver, queue)
    }

    /// Moves the times of all reported failures an hour back.
    private func passAnHour(_ queue: Drainq) throws {
        let file = queue.queue.appending(path: "state/reports.json")
        var ledger = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        var rows = try #require(ledger["reports"] as? [[String: Any]])
        for index in rows.indices { rows[index]["told"] = Date(timeIntervalSinceNow: -3601).ISO8601Format() }
        ledger["reports"] = rows
        try JSONSerialization.data(withJSONObject: ledger).write(to: file)
    }

    @Test func `a repeated failure at a destination is told once an hour, with the count`() throws {
        let (receiver, queue) = try queue(.always(.status(422, body: "no")))
        var said: [String] = []
        for number in 1...4 {
            try queue.run("add", "--type", "note", input: "\(number)")
            let run = try queue.run("run")
            #expect(run.status == 1)
            said.append(run.error)
        }
        #expect(said[0].contains("(note, \(receiver.url)) failed: 422 \"no\""))
        #expect(said[1...] == ["", "", ""])
        try passAnHour(queue)
        let later = try queue.run("run")
        #expect(later.status == 0)
        #expect(later.error.contains("3 more operations failed at '\(receiver.url)' in the last 1h: 422"))
        #expect(try queue.run("run").error.isEmpty)
    }

    @Test func `a hold by the storm guard is told at once, although a mail has just told its cause`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(422, body: "no")))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        #expect(try queue.run("run").error.contains("failed: 422"))
        try queue.run("add", input: numbered(12))
        let run = try queue.run("run")
        #expect(run.status == 69 && run.error.contains("'\(receiver.url)' is held: "), "\(run.error)")
        #expect(try queue.run("run").error.isEmpty)
    }

    @Test func `verbose and JSON output tell every failure`() throws {
        let (receiver, queue) = try queue(.always(.status(422, body: "no")))
        defer { receiver.stop() }
        for options in [["-v"], ["--json"], ["-v"]] {
            try queue.run("add", input: "1")
            let run = try queue.start(["run"] + options, input: "").finish()
            #expect((run.error + run.output).contains("422"))
        }
    }

    @Test func `a hold that send began is told once, by the next run`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(401)))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        #expect(try (1...2).map { try queue.run("send", input: "\($0)").status } == [1, 69])
        let said = try (1...3).map { _ in try queue.run("run") }
        #expect(said.map(\.status) == [69, 69, 69])
        #expect(said[0].error.contains("'\(receiver.url)' is held: 401"), "\(said[0])")
        #expect(said[1...].map(\.error) == ["", ""])
    }

    @Test func `a recovery after an alarm is told once`() throws {
        let (receiver, queue) = try queue(.sequence([.status(418), .status(204)]))
        try queue.run("add", input: "1")
        let held = try queue.run("run")
        #expect(held.status == 69 && held.error.contains("'\(receiver.url)' is held: 418"))
        let well = try queue.run("run")
        #expect(well.status == 0 && well.error.contains("'\(receiver.url)' is no longer held"))
        try queue.run("add", input: "2")
        #expect(try queue.run("run").error.isEmpty)
    }
}
