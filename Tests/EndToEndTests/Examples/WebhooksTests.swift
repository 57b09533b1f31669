import Foundation
import LoopbackReceiver
import Testing

/// The tests check signatures as Standard Webhooks requires, with openssl. Without openssl they check only the input
/// and the output of the command.
struct WebhooksTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized
    private static let sign = root.appending(path: "etc/drainq/examples/standard-webhooks-sign").path
    private static let hasOpenssl = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/openssl") }

    private let payload = #"{"id":"in_1","amount":1.10}"#
    /// The body that the route's envelope makes of the payload.
    private let body = /\{"type": "invoice\.paid", "timestamp": "[0-9T:.-]+Z", "data": \{"id":"in_1","amount":1\.10\}\}/

    private func queue(to receiver: LoopbackReceiver, signing command: String) throws -> Drainq {
        try Drainq(
            example: "webhooks",
            replacing: [
                "https://hooks.example.com": receiver.url,
                #"["/etc/drainq/standard-webhooks-sign", "/etc/drainq/webhook.key"]"#: command,
            ])
    }

    @Test func `the command gets a line about the request and the body, and its fields are sent`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try queue(to: receiver, signing: #"["sh", "../sign.sh"]"#)
        try drainq.write("cat >../request; echo webhook-id: w1; echo 'webhook-signature:  v1,x '\n", as: "sign.sh")
        let id = try #require(try drainq.run("add", "--type", "invoice.paid", input: payload).lines.first)
        #expect(try drainq.run("run").status == 0)
        let request = try #require(receiver.requests().first)
        #expect(request.header("webhook-id") == "w1")
        #expect(request.header("webhook-signature") == "v1,x")
        #expect(request.text.wholeMatch(of: body) != nil)
        let given = try String(contentsOf: drainq.directory.appending(path: "request"), encoding: .utf8)
        let (line, rest) = try #require(given.firstIndex(of: "\n").map { (given[..<$0], given[$0...].dropFirst()) })
        #expect(rest == request.text)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(Set(object.keys) == ["bodyLength", "headers", "idempotencyKey", "method", "url"])
        #expect(object["idempotencyKey"] as? String == id)
        #expect(object["bodyLength"] as? Int == request.body.count)
        #expect(object["url"] as? String == receiver.url + "/drainq")
    }

    @Test func `a webhook that cannot be signed is neither sent nor lost`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try queue(to: receiver, signing: #"["sh", "../sign.sh"]"#)
        try drainq.run("add", "--type", "invoice.paid", input: payload)
        let deferred = try drainq.run("run", "-v")
        #expect(deferred.status == 75 && deferred.error.contains("headersCommand 'sh' exited with status"))
        #expect(receiver.receivedCount == 0)
        try drainq.write("echo webhook-id: w1\n", as: "sign.sh")
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(receiver.receivedCount == 1)
    }

    @Test func `a 410 holds the destination, and no webhook fails`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(410)))
        let drainq = try queue(to: receiver, signing: #"["true"]"#)
        try drainq.run("add", "--type", "invoice.paid", input: payload)
        #expect(try drainq.run("run").status == 69)
        #expect(try drainq.list().map { $0["state"] as? String } == ["held"])
    }

    @Test(.enabled(if: hasOpenssl, "openssl signs"))
    func `each attempt has a new signature under the same id`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(204)]))
        let drainq = try queue(to: receiver, signing: "[\"\(Self.sign)\", \"../webhook.key\"]")
        try drainq.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", as: "webhook.key")
        let id = try #require(try drainq.run("add", "--type", "invoice.paid", input: payload).lines.first)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.run("run", "--now").status == 0)
        let requests = receiver.requests()
        #expect(requests.count == 2)
        for request in requests {
            #expect(request.header("webhook-id") == id)
            let time = try #require(request.header("webhook-timestamp"))
            #expect(try abs(#require(Double(time)) - Date().timeIntervalSince1970) < 60)
            let signed = try drainq.write("\(id).\(time).\(request.text)", as: "signed")
            #expect(try request.header("webhook-signature") == "v1,\(hmac(of: signed))")
        }
    }

    /// By openssl's own HMAC, with the key of the test in hexadecimal.
    private func hmac(of path: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            openssl dgst -sha256 -mac HMAC -binary \
            -macopt hexkey:31f290f6bf06298aab4f08d43c3f082cf648a362da2da4b0 "$1" | openssl base64 -A
            """, "sh", path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
