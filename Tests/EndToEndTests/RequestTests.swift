import Foundation
import HostileReceiver
import LoopbackReceiver
import Testing

/// Requests on the wire, with the real program and real sockets.
struct RequestTests {
    private func deliver(
        _ url: String, _ route: String = "", _ more: String = "", add arguments: [String] = [], input: String = "1"
    ) throws -> Finished {
        let drainq = try Drainq("{ routes: { default: { url: \"\(url)\", \(route) } } \(more) }")
        let added = try drainq.start(["add"] + arguments, input: input).finish()
        #expect(added.status == 0, "\(added.error)")
        return try drainq.run("run", "-v")
    }

    /// The route's Content-Type is for payloads without a media type.
    @Test(arguments: [
        ([], #"{"a":1}"#, "application/json; charset=utf-8"),
        (["--content-type", "text/csv"], "a;b\n1;2\n", "text/csv"),
        (["--envelope"], #"{"body":"a;b","contentType":"text/csv"}"#, "text/csv"),
        (["--content-type", "text/csv", "-H", "Content-Type: text/csv"], "a;b\n", "text/csv"),
    ])
    func `the media type of an operation overrides its route's header`(arguments: [String], input: String, type: String)
        throws
    {
        let receiver = try LoopbackReceiver()
        let queue = try Drainq(to: receiver, #"headers: { "Content-Type": "application/json; charset=utf-8" }"#)
        try #require(try queue.start(["add"] + arguments, input: input).finish().status == 0)
        #expect(try queue.run("run").status == 0)
        try #require(try queue.start(["send"] + arguments, input: input).finish().status == 0)
        #expect(receiver.requests().map { $0.header("Content-Type") } == [type, type])
    }

    @Test func `a copy of the program alone delivers over libcurl, and explain says why`() throws {
        let receiver = try LoopbackReceiver()
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: "1")
        let alone = try queue.shell("cp \"$DRAINQ\" alone && ./alone explain && ./alone run")
        #expect(alone.status == 0 && alone.error == "")
        #expect(
            alone.output.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains(
                "libcurl: auto takes it first on Linux: it keeps connections, takes less processor time and has all features"
            ))
        #expect(receiver.receivedCount == 1)
    }

    @Test func `URLSession delivers if drainq cannot use the machine's libcurl, and explain says why`() throws {
        let receiver = try LoopbackReceiver()
        let queue = try Drainq(to: receiver, "headers: { \"x-lower\": \"1\" }")
        try queue.run("add", input: "1")
        // Foundation still uses the real libcurl.
        let finished = try queue.shell(
            """
            mkdir programs libraries && cp "$DRAINQ" programs/drainq && echo "no library" > libraries/libcurl.so.4
            printf '#!/bin/sh\\nunset LD_LIBRARY_PATH\\nexec "%s-urlsession" "$@"\\n' "$DRAINQ" > programs/drainq-urlsession
            chmod +x programs/drainq-urlsession && export LD_LIBRARY_PATH="$PWD/libraries"
            programs/drainq explain | grep transport && programs/drainq run && echo 2 | programs/drainq send
            """)
        #expect(finished.status == 0 && finished.error == "", "\(finished)")
        #expect(finished.output.contains("urlsession: libcurl cannot be used here"), "\(finished.output)")
        let names = receiver.requests().map { $0.headers.map(\.name).filter { $0.lowercased() == "x-lower" } }
        #expect(names == [["X-Lower"], ["X-Lower"]])
    }

    /// URLSession capitalises the names of header fields, and libcurl does not.
    @Test(arguments: [
        ("auto", "", "x-lower", "libcurl: auto takes it first"),
        ("auto", "urlsession", "X-Lower", "urlsession: DRAINQ_TRANSPORT is 'urlsession'"),
        ("auto", "libcurl", "x-lower", "libcurl: DRAINQ_TRANSPORT is 'libcurl'"),
        ("urlsession", "libcurl", "X-Lower", "urlsession: transport is 'urlsession'"),
        ("libcurl", "urlsession", "x-lower", "libcurl: transport is 'libcurl'"),
    ])
    func `a destination's transport takes precedence over the environment, and explain gives the reason`(
        transport: String, variable: String, name: String, reason: String
    ) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/x", headers: { "x-lower": "1" } } },
              destinations: { "\(receiver.url)": { transport: "\(transport)" } } }
            """)
        drainq.environment["DRAINQ_TRANSPORT"] = variable
        let explained = try drainq.run("explain")
        #expect(explained.status == 0 && explained.output.contains(reason), "\(explained.output)")
        #expect(try drainq.run("add", input: "1").status == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.run("send", input: "2").status == 0)
        let sent = receiver.requests().map { $0.headers.map(\.name).filter { $0.lowercased() == "x-lower" } }
        #expect(sent == [[name], [name]])
    }

    @Test(arguments: ["run", "send", "check", "explain"])
    func `an unknown word in DRAINQ_TRANSPORT is a usage error with the known words`(command: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        drainq.environment["DRAINQ_TRANSPORT"] = "curl"
        let finished = try drainq.run(command, input: "1")
        #expect(finished.status == 64, "\(finished)")
        #expect(
            finished.error.contains("DRAINQ_TRANSPORT is 'curl', which is not one of urlsession, libcurl"),
            "\(finished.error)")
        #expect(receiver.receivedCount == 0)
    }

    @Test func `an IPv6 address is a valid host`() throws {
        let receiver = try LoopbackReceiver(at: .loopbackIPv6)
        #expect(try deliver("http://[::1]:\(receiver.port)/x").status == 0)
        #expect(receiver.requests().first?.header("Host") == "[::1]:\(receiver.port)")
    }

    @Test func `a configured unix socket is used for any host`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "dq-\(UUID().uuidString.prefix(8)).sock").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let receiver = try LoopbackReceiver(at: .unix(path: path))
        let more = ", destinations: { \"http://service\": { unixSocket: \"\(path)\" } }"
        #expect(try deliver("http://service/x", "", more).status == 0)
        #expect(receiver.requests().first?.header("Host") == "service")
    }

    @Test(arguments: ["urlsession", "libcurl"])
    func `non-ASCII letters of a url are encoded once`(transport: String) throws {
        let receiver = try LoopbackReceiver()
        let more = ", destinations: { \"\(receiver.url)\": { transport: \"\(transport)\" } }"
        let run = try deliver("\(receiver.url)/grüße/{key}?q=ö&x=%20", "", more, add: ["--key", "ключ/1"])
        #expect(run.status == 0)
        #expect(
            receiver.requests().first?.target
                == "/gr%C3%BC%C3%9Fe/%D0%BA%D0%BB%D1%8E%D1%87%2F1?q=%C3%B6&x=%20")
    }

    @Test func `batched operations share a request as lines`() throws {
        let receiver = try LoopbackReceiver()
        let run = try deliver(
            "\(receiver.url)/x", "batch: { max: 3, format: \"ndjson\" }", input: "{\"a\":\n1}\n2\n3\n4\n5\n")
        #expect(run.status == 0)
        #expect(receiver.requests().map(\.text).sorted() == ["4\n5\n", "{\"a\": 1}\n2\n3\n"])
        #expect(receiver.requests().first?.header("Content-Type") == "application/x-ndjson")
    }

    @Test func `a body file is sent unchanged, and a changed body file is not sent`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq()
        try """
        { routes: { default: { url: "\(receiver.url)/x" } }, bodyFiles: ["\(drainq.directory.path)"] }
        """.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let file = drainq.directory.appending(path: "photo.jpg")
        try bytes.write(to: file)
        let arguments = ["add", "--content-type", "image/jpeg", "--body-file", file.path]
        #expect(try drainq.start(arguments, input: "").finish().status == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().first.map { Data($0.body) } == bytes)
        #expect(receiver.requests().first?.header("Content-Type") == "image/jpeg")
        let id = try #require(try drainq.start(arguments, input: "").finish().lines.first)
        try Data("another".utf8).write(to: file)
        let change = "photo.jpg' has changed since it was added: it had 100000 bytes, and has 7 now"
        func shown() throws -> String { try drainq.run("show", id).output }
        #expect(try shown().hasPrefix("new: it cannot be sent: the body file '") && shown().contains(change))
        let run = try drainq.run("run")
        #expect(run.status == 1 && run.error.contains("photo.jpg"))
        #expect(try shown().hasPrefix("failed: permanently; it cannot be sent: the body file '"))
        #expect(try shown().contains("\(change); once that is mended, 'drainq retry \(id)' sends it again"))
        #expect(receiver.receivedCount == 1)
        // The content counts, not the file: it is put back as another file.
        try bytes.write(to: drainq.directory.appending(path: "backup"))
        #expect(try drainq.shell("cp backup back && mv back photo.jpg && drainq retry --all && drainq run").status == 0)
        #expect(receiver.requests().last.map { Data($0.body) } == bytes && receiver.receivedCount == 2)
        #expect(try drainq.run("add", "--body-file", "/etc/hostname").status == 65)
    }

    @Test func `libcurl finds a host with a non-ASCII name in the C locale`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url.replacing("127.0.0.1", with: "bücher.localhost"))/x\" } } }")
        drainq.environment["DRAINQ_TRANSPORT"] = "libcurl"
        drainq.environment["LC_ALL"] = "C"
        try drainq.run("add", input: "1")
        let run = try drainq.run("run")
        #expect(run.status == 0, "\(run)")
        #expect(receiver.requests().first?.header("Host")?.hasPrefix("xn--bcher-kva.localhost") == true)
    }

    @Test func `classify may defer an operation whose body file is missing`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq()
        try drainq.write("a photo", as: "photo.jpg")
        try drainq.write(
            """
            { routes: { default: { url: "\(receiver.url)/x", classify: { "body-file": "defer" } } },
              bodyFiles: ["\(drainq.directory.path)"] }
            """, as: "queue/drainq.json")
        let file = drainq.directory.appending(path: "photo.jpg")
        let (away, manager) = (drainq.directory.appending(path: "away"), FileManager.default)
        #expect(try drainq.run("add", "--body-file", file.path).status == 0)
        try manager.moveItem(at: file, to: away)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.run("list", "--status", "body-file").output.contains("body-file"))
        #expect(try drainq.run("status").output.contains("last run"))
        #expect(try drainq.run("status").output.contains("exit status 75"))
        try manager.moveItem(at: away, to: file)
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(receiver.requests().first?.text == "a photo")
    }

    @Test(arguments: ["urlsession", "libcurl"])
    func `a batch is compressed as a whole`(transport: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver, "compress: \"gzip\", batch: { max: 9, format: \"ndjson\" }")
        drainq.environment["DRAINQ_TRANSPORT"] = transport
        try drainq.run("add", input: numbered(3))
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.run("explain").output.contains("POST \(receiver.url)/{type} (gzip)"))
        let request = try #require(receiver.requests().first)
        #expect(request.header("Content-Encoding") == "gzip")
        #expect(request.header("Content-Length") == "\(request.body.count)")
        try Data(request.body).write(to: drainq.directory.appending(path: "body.gz"))
        #expect(try drainq.shell("gzip -dc body.gz").output == numbered(3))
    }

    @Test func `a body file is not compressed`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq()
        try drainq.write("a photo", as: "photo.jpg")
        try drainq.write(
            """
            { routes: { default: { url: "\(receiver.url)/x", compress: "gzip" } },
              bodyFiles: ["\(drainq.directory.path)"] }
            """, as: "queue/drainq.json")
        let file = drainq.directory.appending(path: "photo.jpg").path
        #expect(try drainq.run("add", "--body-file", file).status == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().first?.text == "a photo")
        #expect(receiver.requests().first?.header("Content-Encoding") == nil)
    }

    @Test func `check reports an unusable zlib, and a run sends nothing`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver, "compress: \"gzip\"")
        try drainq.run("add", input: "1")
        // libcurl needs zlib too, and the agent of URLSession needs its own libraries.
        let finished = try drainq.shell(
            """
            mkdir programs libraries && cp "$DRAINQ" programs/drainq && echo "no library" > libraries/libz.so.1
            printf '#!/bin/sh\\nunset LD_LIBRARY_PATH\\nexec "%s-urlsession" "$@"\\n' "$DRAINQ" > programs/drainq-urlsession
            chmod +x programs/drainq-urlsession && export LD_LIBRARY_PATH="$PWD/libraries" DRAINQ_TRANSPORT=urlsession
            programs/drainq check; echo "check: $?"; programs/drainq run; echo "run: $?"
            """)
        #expect(finished.output.contains("check: 78") && finished.output.contains("run: 69"), "\(finished)")
        #expect(finished.error.contains("cannot be sent: 'compress' needs zlib"), "\(finished)")
        #expect(try receiver.receivedCount == 0 && drainq.waiting() == 1)
        #expect(try drainq.run("check").status == 0)
        #expect(try drainq.run("release", "--all").status == 0)
        #expect(try drainq.run("run").status == 0)
    }

    @Test func `a command signs each request`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url)/x\", headersCommand: [\"sh\", \"../sign.sh\"] } } }")
        try drainq.write(
            "read -r head\nbody=$(cat)\nprintf 'X-Signature: %s-signed\\n' \"$body\"\n", as: "sign.sh")
        try drainq.run("add", input: "7")
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().first?.header("X-Signature") == "7-signed")
        try drainq.write("exit 3\n", as: "sign.sh")
        try drainq.run("add", input: "8")
        let deferred = try drainq.run("run", "-v")
        #expect(deferred.status == 75 && deferred.error.contains("headersCommand 'sh' exited with status 3"))
        #expect(try drainq.list().map { $0["attempts"] as? Int } == [0])
        try drainq.write("exit 77\n", as: "sign.sh")
        let held = try drainq.run("run", "--now")
        #expect(held.status == 69 && held.error.contains("headersCommand 'sh' exited with status 77"))
        #expect(held.error.ranges(of: "exited with status 77").count == 1)
        #expect(receiver.receivedCount == 1)
    }

    @Test(arguments: ["Evil: a\r\nX-Injected: 1", "Bad Name: x", "Host: other", "Content-Length: 5"])
    func `add and run refuse a header that would change the request`(header: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        let name = header.prefix { $0 != ":" }
        let value = header.dropFirst(name.count + 2).replacing("\r\n", with: "\\r\\n")
        let envelope = "{\"drainq\":1,\"payload\":1,\"headers\":{\"\(name)\":\"\(value)\"}}"
        #expect(try drainq.run("add", "--envelope", input: envelope).status == 65)
        try drainq.drop(Data(envelope.utf8), as: "dropped")
        #expect(try drainq.run("run").status != 0)
        #expect(receiver.receivedCount == 0)
    }

    @Test(arguments: ["urlsession", "libcurl"])
    func `an endless answer is read only up to the limit`(transport: String) throws {
        let receiver = try LoopbackReceiver(script: .always(.endlessBody()))
        let more = ", destinations: { \"\(receiver.url)\": { transport: \"\(transport)\" } }"
        #expect(try deliver("\(receiver.url)/x", "answerLimit: \"1KiB\"", more).status == 0)
    }

    @Test func `a captive portal's page is no delivery`() throws {
        let receiver = try LoopbackReceiver(
            script: .always(.status(200, headers: ["Content-Type: text/html; charset=utf-8"], body: "<h1>Log in</h1>")))
        let run = try deliver("\(receiver.url)/x", "accept: { contentType: \"application/json\" }")
        #expect(run.status == 75 && run.error.contains("deferred"))
    }

    @Test func `a HEAD asks for existence, and its status decides`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, count in
                .status(request.method == "HEAD" && request.body.isEmpty ? (count == 0 ? 404 : 200) : 400)
            })
        let drainq = try Drainq(
            to: receiver, "method: \"HEAD\", body: \"\", classify: { \"404\": \"defer\" }")
        try drainq.run("add", input: "{\"id\":7}")
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.run("run", "--now").status == 0)
    }

    @Test func `a redirect to another origin gets neither body nor credentials`() throws {
        let elsewhere = try LoopbackReceiver()
        let receiver = try LoopbackReceiver(
            script: .always(.status(307, headers: [HeaderLine("Location", elsewhere.url + "/steal")])))
        let run = try deliver(
            "\(receiver.url)/x", "redirects: \"same-origin\", headers: { Authorization: \"Bearer abc\" }")
        #expect(run.status == 69)
        #expect(elsewhere.receivedCount == 0)
    }

    @Test func `a redirect within the origin keeps method, headers and body`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, count in
                count == 0 ? .status(308, headers: ["Location: /y"]) : .status(204)
            })
        let run = try deliver("\(receiver.url)/x", "redirects: \"same-origin\", method: \"PUT\"", input: "{\"a\":1}")
        #expect(run.status == 0)
        let requests = receiver.requests()
        #expect(requests.map(\.target) == ["/x", "/y"])
        #expect(Set(requests.map(\.text)) == ["{\"a\":1}"] && Set(requests.map(\.method)) == ["PUT"])
        #expect(Set(requests.map { $0.header("Idempotency-Key") }).count == 1)
    }
}
