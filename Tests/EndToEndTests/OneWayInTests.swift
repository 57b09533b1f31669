import Foundation
import LoopbackReceiver
import Testing

struct OneWayInTests {
    @Test func `simultaneous adds of an id make a single operation, and each prints the id`() throws {
        let drainq = try Drainq()
        let adding = try (0..<6).map { _ in try drainq.start("add", "--id", "same", input: "1") }
        for process in adding {
            let finished = try process.finish()
            #expect(finished.status == 0 && finished.output == "same\n")
        }
        #expect(try drainq.names("new").count == 1)
    }

    @Test func `while drainq.json is away, a queue that has had one neither sends, nor takes, nor forgets`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        let drainq = try Drainq(
            "{ retention: { delivered: '1d' }, routes: { default: { url: \"\(receiver.url)/\" } } }")
        try drainq.run("add", input: "1")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.names("delivered").count == 1)
        let file = drainq.queue.appending(path: "drainq.json")
        let away = drainq.directory.appending(path: "away.json")
        try FileManager.default.moveItem(at: file, to: away)
        for command in [["run"], ["add"], ["send"], ["check"]] {
            let finished = try drainq.start(command, input: "2").finish()
            #expect(finished.status == 78, "\(command)")
            #expect((finished.output + finished.error).contains("is gone: the queue has had a configuration"))
        }
        #expect(try drainq.names("delivered").count == 1)
        #expect(try drainq.names("new").isEmpty)
        try FileManager.default.moveItem(at: away, to: file)
        #expect(try drainq.run("run").status == 0)
    }

    @Test func `send does not send an id that waits or has failed in the queue`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(400), .status(204)]))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", "--id", "x", input: "1")
        let waiting = try drainq.run("send", "--id", "x", input: "1")
        #expect(waiting.status == 75 && waiting.error.contains("in the queue already (new)"))
        #expect(try drainq.run("run").status == 1)
        #expect(try drainq.run("send", "--id", "x", input: "1").status == 1)
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.run("send", "--id", "y", input: "1").status == 0)
        #expect(try drainq.names("tmp").isEmpty)
    }

    @Test func `a body file of an envelope outside of the allowed directories is neither sent nor added`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        let drainq = try Drainq(to: receiver)
        let file = drainq.directory.appending(path: "outside")
        try "secret".write(to: file, atomically: true, encoding: .utf8)
        let script = """
            s=$(stat -c '"length":%s,"inode":%i' outside)
            echo '{"drainq":1,"bodyFile":{"path":"'"$PWD"'/outside",'$s',"modified":1}}' > envelope
            drainq send --envelope envelope; echo $?
            drainq add --envelope envelope; echo $?
            """
        let finished = try drainq.shell(script)
        #expect(finished.lines == ["65", "65"] && finished.error.contains("bodyFiles"))
        #expect(receiver.receivedCount == 0)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `a forbidden operation is quarantined on its way in, and fails unsent if accepted before`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: #"{"b":1}"#)
        try drainq.run("add", "--method", "PUT", input: #"{"a":1}"#)
        let configuration =
            "{ routes: { default: { url: '\(receiver.url)', overrides: [], require: { pointer: '/a', exists: true } } } }"
        try configuration.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        try drainq.drop(Data(#"{"b":2}"#.utf8), as: "require")
        try drainq.drop(Data(#"{"drainq":1,"payload":{"a":2},"method":"PUT"}"#.utf8), as: "overrides")
        let run = try drainq.run("run")
        #expect(run.status == 1 && receiver.receivedCount == 0)
        #expect(try drainq.names("quarantine").count == 4 && drainq.names("failed").count == 2)
    }

    @Test func `a line with too long a key is kept, and add --atomic adds and keeps no line`() throws {
        let drainq = try Drainq()
        let key = String(repeating: "k", count: 1025)
        let option = try drainq.run("add", "--key", key, input: "1")
        #expect(option.status == 64 && option.error.contains("longer than 1024 bytes"))
        let line = "\"\(key)\""
        let added = try drainq.run("add", "--key", "{payload}", input: line)
        #expect(added.status == 65 && added.error.contains("longer than 1024 bytes"))
        #expect(try drainq.names("quarantine").count == 2 && drainq.waiting() == 0)
        let whole = try drainq.run("add", "--atomic", "--key", "{payload}", input: "\(line)\n2\n")
        #expect(whole.status == 65 && whole.output.isEmpty && whole.error.contains("no operation was added"))
        #expect(try drainq.names("quarantine").count == 2 && drainq.waiting() == 0)
    }
}
