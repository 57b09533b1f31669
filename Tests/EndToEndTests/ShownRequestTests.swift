import Foundation
import LoopbackReceiver
import Testing

/// `show --request` and `run --dry-run --request`, compared with the requests at a server.
struct ShownRequestTests {
    private static let words = [
        "{id}", "{type}", "{key}", "{createdAt}", "{attempt}", "{payload}", "{payload.v}", "{payload.a.b}",
        "{payload.list.1}", "{payload.v:base64}", "{createdAt:epochMillis}", "{payload.none|\"x y\"}", "${secret:s}",
        "${secret:s:base64}",
        "{payload.v}+${secret:s}",
    ]

    /// The places of a word, each as members of a route.
    private static let places: [(name: String, route: @Sendable (String, String) -> String)] = [
        ("path", { "url: '\($0)/\($1)/x'" }),
        ("query", { "url: '\($0)/x?q=\($1)&r=1'" }),
        ("header", { "url: '\($0)/x', headers: { 'X-Word': 'a\($1)b' }" }),
        ("json", { "url: '\($0)/x', body: '{\"x\":\($1.contains("+") ? "\"\($1)\"" : $1)}'" }),
        ("quotes", { "url: '\($0)/x', body: '[\"a\($1)\"]', compress: 'gzip'" }),
        (
            "form",
            { "url: '\($0)/x', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'a=\($1)&b'" }
        ),
        ("text", { "url: '\($0)/x', method: 'PUT', headers: { 'Content-Type': 'text/plain' }, body: 'm=\($1);'" }),
        ("batch", { "url: '\($0)/x', batch: { max: 3, body: '{\"r\":[{items}]}' }, body: '[\"\($1)\"]'" }),
    ]

    private static let secret = "s\"\\ü{id}#"

    private static let values = [
        #""plain""#, #""it's \"$HOME\" `x` \\ \u0301'\u0301 €\u0009""#, "-0", "12345678901234567890", "true",
        #"[1,  "é"]"#,
    ]

    /// A queue whose routes have each word in each place, with an operation for each value.
    private func queue(_ receiver: LoopbackReceiver) throws -> Drainq {
        var routes: [String] = []
        var lines: [String] = []
        for (index, word) in Self.words.enumerated() {
            for (place, route) in Self.places {
                let type = "\(place)\(index)"
                routes.append("\(type): { \(route(receiver.url, word)) }")
                for value in Self.values {
                    let payload = #"{"v":\#(value),"a":{"b":\#(value)},"list":[0,\#(value)]}"#
                    lines.append(#"{"drainq":1,"type":"\#(type)","key":"k/é:1","payload":\#(payload)}"#)
                }
            }
        }
        let drainq = try Drainq(
            "{ routes: { \(routes.joined(separator: ",\n")) }, secrets: { s: { env: 'S' } }, passEnvironment: ['S'] }")
        drainq.environment["S"] = Self.secret
        _ = try drainq.run("add", "--envelope", input: lines.joined(separator: "\n"))
        return drainq
    }

    /// Each request as a text: method, target, fields, and the body in Base64.
    private func received(_ requests: some Sequence<ReceivedRequest>, lowercased: Bool = false) -> [String] {
        requests.map { request in
            let fields = request.headers.filter { !Self.ofTransport.contains($0.name.lowercased()) }
                .map { "\(lowercased ? $0.name.lowercased() : $0.name): \($0.value)" }.sorted()
            let body = request.header("Content-Encoding") == "gzip" ? gunzipped(request.body) : Data(request.body)
            return ([request.method, request.target] + fields + [body.base64EncodedString()]).joined(separator: "\n")
        }.sorted()
    }

    private func gunzipped(_ bytes: [UInt8]) -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/gzip")
        process.arguments = ["-dc"]
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        guard (try? process.run()) != nil else { return Data() }
        input.fileHandleForWriting.write(Data(bytes))
        try? input.fileHandleForWriting.close()
        return output.fileHandleForReading.readDataToEndOfFile()
    }

    /// The fields added by a transport.
    private static let ofTransport: Set<String> = [
        "host", "accept", "accept-encoding", "accept-language", "content-length", "connection",
    ]

    /// The requests printed by a dry run, with the secret filled in, in the form of `received`.
    private func shown(_ drainq: Drainq, _ origin: String, lowercased: Bool) throws -> [String] {
        let finished = try drainq.run("run", "--dry-run", "--request", "--json", "--limit", "100000")
        #expect(finished.status == 0, "\(finished.error)")
        let (encoded, escaped) = ("s%22%5C%C3%BC%7Bid%7D%23", #"s\"\\ü{id}#"#)
        let base64 = Data(Self.secret.utf8).base64EncodedString()
        let encodedBase64 = base64.replacing("=", with: "%3D").replacing("+", with: "%2B").replacing("/", with: "%2F")
        return try finished.lines.map { line in
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let fields = (object["headers"] as? [[String]] ?? []).map { pair in
                "\(lowercased ? pair[0].lowercased() : pair[0]): \(pair[1].replacing("[Base64 of [secret s]]", with: base64).replacing("[secret s]", with: Self.secret))"
            }
            let type = fields.first { $0.lowercased().hasPrefix("content-type") } ?? ""
            let secret =
                type.contains("json") ? escaped : type.contains("urlencoded") ? encoded : Self.secret
            let isForm = type.contains("urlencoded")
            var body = Data(
                (object["body"] as? String ?? "")
                    .replacing("[Base64 of [secret s]]", with: isForm ? encodedBase64 : base64)
                    .replacing("[secret s]", with: secret).utf8)
            if let base64 = object["bodyBase64"] as? String {
                body = gunzipped(Array(try #require(Data(base64Encoded: base64))))
            }
            let url = try #require(object["url"] as? String).replacing("[Base64 of [secret s]]", with: encodedBase64)
                .replacing("[secret s]", with: encoded)
            #expect(url.hasPrefix(origin))
            return
                ([try #require(object["method"] as? String), String(url.dropFirst(origin.count))] + fields.sorted()
                + [body.base64EncodedString()]).joined(separator: "\n")
        }.sorted()
    }

    @Test(arguments: ["urlsession", "libcurl"])
    func `a dry run shows the bytes that the server gets, over both transports`(transport: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try queue(receiver)
        drainq.environment["DRAINQ_TRANSPORT"] = transport
        let isLower = transport == "urlsession"
        let shown = try shown(drainq, receiver.url, lowercased: isLower)
        #expect(shown.count > 300, "\(shown.count)")
        let run = try drainq.run("run", "--limit", "100000")
        #expect(run.status == 0, "\(run.error)")
        let received = received(receiver.requests(), lowercased: isLower)
        #expect(shown.count == received.count)
        for (shown, received) in zip(shown, received) { try #require(shown == received) }
    }

    @Test func `the curl commands of a dry run send the same requests as a run`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try queue(receiver)
        let commands = try drainq.run("run", "--dry-run", "--request", "--curl", "--limit", "100000")
        #expect(commands.status == 0 && commands.error == "")
        try drainq.write(commands.output, as: "send.sh")
        // Without the secrets the commands end, and the first command names a missing secret.
        let lacking = try drainq.shell("sh send.sh 2>&1; echo $?")
        #expect(lacking.output.contains("the secret s"), "\(lacking.output.suffix(300))")
        let seen = receiver.receivedCount
        try drainq.write(Self.secret, as: "plain")
        try drainq.write("s%22%5C%C3%BC%7Bid%7D%23", as: "encoded")
        try drainq.write(#"s\"\\ü{id}#"#, as: "escaped")
        let sent = try drainq.shell(
            """
            export s="$(cat plain)" s_encoded="$(cat encoded)" s_escaped="$(cat escaped)"
            sh send.sh > sent 2>&1; echo $?; grep -v '^ ' sent | sort | uniq | head
            """)
        #expect(sent.output.hasPrefix("0\n"), "\(sent)")
        let byCurl = receiver.requests().dropFirst(seen)
        let run = try drainq.run("run", "--limit", "100000")
        #expect(run.status == 0, "\(run.error)")
        let byRun = received(receiver.requests().dropFirst(seen + byCurl.count))
        #expect(byCurl.count == byRun.count)
        for (curl, run) in zip(received(byCurl), byRun) { try #require(curl == run) }
    }

    @Test(arguments: ["sh", "bash"])
    func `a curl command pipes a body that begins with a hyphen`(shell: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        var bodies = [Array("--B\r\n%s\\'\r\n".utf8) + [0, 1], Array("-n".utf8) + [0xFF]]
        bodies.append(Array(repeating: UInt8(ascii: "-"), count: 70_000))
        for (index, body) in bodies.enumerated() {
            try Data(body).write(to: drainq.directory.appending(path: "body"))
            let file = drainq.directory.appending(path: "body").path
            let added = try drainq.run("add", "--id", "a\(index)", "--content-type", "text/x; charset=x", file)
            #expect(added.status == 0, "\(added)")
            try drainq.write(drainq.run("show", "--curl", "a\(index)").output, as: "send.sh")
            let sent = try drainq.shell("\(shell) send.sh")
            #expect(sent.status == 0, "\(sent)")
            #expect(receiver.requests().last?.body == body)
        }
    }

    @Test func `a curl command keeps dot segments, and reads no file of curl's options`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq("{ routes: { default: { url: '\(receiver.url)/a/../b/./c' } } }")
        try drainq.run("add", "--id", "a", input: "1")
        try drainq.write("header = \"X-Other: 1\"\n", as: ".curlrc")
        try drainq.write(drainq.run("show", "--curl", "a").output, as: "send.sh")
        #expect(try drainq.shell("HOME=\"$PWD\" sh send.sh").status == 0)
        #expect(try drainq.run("run").status == 0)
        let received = receiver.requests()
        #expect(received.map(\.target) == ["/a/../b/./c", "/a/../b/./c"])
        #expect(received.first?.header("X-Other") == nil)
    }

    @Test func `a curl command names a client certificate whose path has a colon or a backslash`() throws {
        let drainq = try Drainq(
            """
            { routes: { default: { url: 'https://a.example/' } },
              destinations: { 'https://a.example': { clientCertificate: { certificate: '/tmp/a:b\\\\c.pem' } } } }
            """)
        try drainq.run("add", "--id", "a", input: "1")
        let shown = try drainq.run("show", "--curl", "a")
        #expect(shown.output.contains(#"--cert '/tmp/a\:b\\c.pem'"#), "\(shown)")
    }
}
