import Foundation
import LoopbackReceiver
import Testing

/// Every way into a queue, with sizes of a byte below, at and above each limit of an operation.
struct LimitTests {
    enum Way: String, CaseIterable {
        case add, envelope, send, imported, foreign, foreignEnvelope
    }

    private static let limit = 2000

    /// Gives the operation to the queue. Returns whether the queue accepted the operation.
    private func take(
        _ payload: String, key: String?, by way: Way, _ queue: Drainq, _ receiver: LoopbackReceiver
    ) throws -> Bool {
        let envelope =
            key.map { #"{"drainq":1,"key":"\#($0)","payload":\#(payload)}"# } ?? #"{"drainq":1,"payload":\#(payload)}"#
        let options = key.map { ["--key", $0] } ?? []
        let status: Int32
        switch way {
        case .add: status = try queue.start(["add"] + options, input: payload).finish().status
        case .envelope: status = try queue.run("add", "--envelope", input: envelope).status
        case .send: status = try queue.start(["send"] + options, input: payload).finish().status
        case .imported:
            let header = #"{"drainq":1,"id":"a","type":"default","createdAt":"2026-01-01T00:00:00Z","#
            let field = key.map { #""key":"\#($0)","# } ?? ""
            let line =
                #"{"schema":1,"id":"a","state":"new","attempts":0,"header":"# + header + field
                + #""contentType":"application/json","length":\#(payload.utf8.count)},"payload":\#(payload)}"#
            status = try queue.run("import", input: line).status
        case .foreign, .foreignEnvelope:
            try queue.drop(Data((way == .foreign ? payload : envelope).utf8), as: "x")
            status = try queue.run("run").status
        }
        let sent = try queue.run("run").status
        // A key of the command line is a mistake of the command.
        #expect(status == 0 || status == 65 || status == 64 && ["add", "send"].contains(way.rawValue) && key != nil)
        #expect(sent == 0 && receiver.requests().count == (status == 0 ? 1 : 0))
        return status == 0
    }

    @Test(arguments: Way.allCases, [-1, 0, 1])
    func `a payload may have as many bytes as the limit by every way in`(way: Way, over: Int) throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url)/\" } }, limits: { operationBytes: \"\(Self.limit)B\" } }")
        let payload = "\"\(String(repeating: "x", count: Self.limit + over - 2))\""
        #expect(try take(payload, key: nil, by: way, queue, receiver) == (over <= 0))
    }

    @Test(arguments: Way.allCases.filter { $0 != .foreign }, [-1, 0, 1])
    func `a key may have 1024 bytes by every way in`(way: Way, over: Int) throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let key = String(repeating: "k", count: 1024 + over)
        #expect(try take("1", key: key, by: way, queue, receiver) == (over <= 0))
    }

    @Test(arguments: Way.allCases.filter { $0 != .imported }, [-1, 0, 1])
    func `a key made by the route may have 1024 bytes by every way in`(way: Way, over: Int) throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "key: \"{payload.u}\", ordering: \"key\"")
        let payload = "{\"u\":\"\(String(repeating: "k", count: 1024 + over))\"}"
        #expect(try take(payload, key: nil, by: way, queue, receiver) == (over <= 0))
    }

    @Test(arguments: ["add", "send"])
    func `a HEAD with a payload and a method in small letters are bad lines`(command: String) throws {
        let queue = try Drainq("{ routes: { default: { url: \"http://127.0.0.1:9/\" } } }")
        #expect(try queue.run(command, "--method", "HEAD", input: "1").status == 65)
        let small = try queue.run(command, "--envelope", input: #"{"method":"get"}"#)
        #expect(small.status == 65 && small.error.contains("methods are written in capitals"))
        #expect(try queue.waiting() == 0)
    }

    @Test func `a byte order mark is ignored by every way in`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: "\u{FEFF}1\n")
        try queue.drop(Data("\u{FEFF}2".utf8), as: "x")
        try queue.drop(Data("\u{FEFF}{\"drainq\":1,\"payload\":3}".utf8), as: "y")
        #expect(try queue.run("run").status == 0)
        #expect(Set(receiver.requests().map(\.text)) == ["1", "2", "3"])
    }

    @Test func `a dangling link as configuration and an unusable url of init are errors`() throws {
        let queue = try Drainq()
        let made = try queue.shell(
            "drainq init --quiet -q b --url 'http://h/{kept.x}' 2>err; echo $?; test -e b; echo $?; cd queue; rm -f drainq.json; ln -s none drainq.json; drainq list 2>err; echo $?; echo 1 | drainq add 2>err; echo $?; drainq check 2>err >out; echo $?"
        )
        #expect(made.lines == ["64", "1", "0", "78", "78"])
    }

    @Test(arguments: ["0177", "0777"])
    func `a umask against the owner does not change the modes of the queue`(umask: String) throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let done = try queue.shell(
            "umask \(umask); echo 1 | drainq add; drainq run; echo $?; find queue -type d ! -perm 0700; find queue -type f ! -name drainq.json -perm /0177"
        )
        #expect(done.lines.count == 2 && done.lines.last == "0")
    }
}
