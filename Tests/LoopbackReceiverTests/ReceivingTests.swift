import HostileReceiver
import LoopbackReceiver
import Testing

struct ReceivingTests {
    @Test func `a request is recorded with its line, headers, body and connection`() throws {
        let receiver = try LoopbackReceiver()
        let client = Client(receiver)
        client.send("POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nIdempotency-Key:  \"k\" \r\nContent-Length: 5\r\n\r\nhello")
        #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 204 \r\n\r\n")
        let request = try #require(receiver.requests().first)
        #expect(request.method == "POST")
        #expect(request.target == "/a/b?c=d")
        #expect(request.path == "/a/b")
        #expect(request.headers.map(\.name) == ["Host", "Idempotency-Key", "Content-Length"])
        #expect(request.header("idempotency-key") == "\"k\"")
        #expect(request.text == "hello")
        #expect(request.bodyLength == 5)
        #expect(request.connection == 1)
        #expect(request.number == 1)
    }

    @Test func `a connection is used again, and pipelined requests are answered in order`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, before in
                .status(200, body: "\(before) \(request.target)\n")
            })
        let client = Client(receiver)
        client.send(
            "GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiGET /c HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
        let (text, end) = client.readAll()
        #expect(end == .finished)
        #expect(
            text.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != "\n" } } == ["0 /a", "1 /b", "2 /c"])
        #expect(receiver.requests().map(\.target) == ["/a", "/b", "/c"])
        #expect(Set(receiver.requests().map(\.connection)) == [1])
    }

    @Test func `a request that arrives one byte at a time is the same request`() throws {
        let receiver = try LoopbackReceiver()
        let client = Client(receiver)
        let wire =
            "\r\nPOST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n0\r\nT: v\r\n\r\n"
        for character in wire.utf8 { client.send(String(UnicodeScalar(character))) }
        #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204"))
        #expect(receiver.requests().map(\.text) == ["abc0123456789"])
        client.send(wire)
        #expect(client.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204"))
        #expect(receiver.requests().map(\.text) == ["abc0123456789", "abc0123456789"])
    }

    @Test func `a client that expects 100 is told to continue, once`() throws {
        let receiver = try LoopbackReceiver()
        let client = Client(receiver)
        client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("bo")
        client.send("dy")
        #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 204 \r\n\r\n")
        #expect(receiver.requests().map(\.text) == ["body"])
    }

    @Test func `the answer to HEAD has the headers and no body`() throws {
        let (text, end) = try exchange(
            .status(200, body: "hello"), "HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
        #expect(
            text == "HTTP/1.1 200 \r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
                || text.hasSuffix("Content-Length: 5\r\n\r\n"))
        #expect(end == .finished)
    }

    @Test func `HTTP 1 0 is closed after the answer`() throws {
        let (text, end) = try exchange(.status(200, body: "x"), "GET / HTTP/1.0\r\n\r\n")
        #expect(text.contains("\r\nConnection: close\r\n"))
        #expect(end == .finished)
    }

    @Test(arguments: [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/2.7\r\n\r\n", 505),
        ("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n -5\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413),

    ])
    func `what is no request is refused and not recorded`(wire: String, status: Int) throws {
        let receiver = try LoopbackReceiver(bodyLimit: 1000)
        let client = Client(receiver)
        client.send(wire)
        let (text, end) = client.readAll()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(end == .finished)
        #expect(receiver.requests().isEmpty)
    }

    @Test func `a head without end is refused`() throws {
        let receiver = try LoopbackReceiver()
        let client = Client(receiver)
        client.send("GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 70_000))
        #expect(client.readAll().text.hasPrefix("HTTP/1.1 431 "))
    }

    @Test func `bodies that are not recorded are still measured`() throws {
        let receiver = try LoopbackReceiver(recordsBodies: false)
        let client = Client(receiver)
        client.send("POST / HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
        #expect(client.readAll().end == .finished)
        #expect(receiver.requests().map(\.bodyLength) == [4])
        #expect(receiver.requests().map(\.body) == [[]])
    }

    @Test func `requests that are taken are taken once`() throws {
        let receiver = try LoopbackReceiver()
        let client = Client(receiver)
        client.send(Client.lastGet)
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        #expect(receiver.takeRequests().count == 1)
        #expect(receiver.takeRequests().isEmpty)
        #expect(receiver.receivedCount == 1)
    }

    @Test func `waiting ends without success when the time is over or the receiver stops`() async throws {
        let receiver = try LoopbackReceiver()
        #expect(!receiver.wait(forRequests: 1, within: .milliseconds(1)))
        async let waited = receiver.wait(forRequests: 1, within: .seconds(60))
        receiver.stop()
        #expect(await !waited)
    }

    @Test func `a stopped receiver lets its port and its clients go`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let client = Client(receiver)
        client.send(Client.get)
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        receiver.stop()
        receiver.stop()
        #expect(client.readAll().end == .finished)
        let second = try LoopbackReceiver(port: receiver.port)
        #expect(second.port == receiver.port)
        #expect(second.url == "http://127.0.0.1:\(receiver.port)")
    }

    @Test func `a port that is taken is an error that says so`() throws {
        let receiver = try LoopbackReceiver()
        let error = #expect(throws: ReceiverError.self) { try LoopbackReceiver(port: receiver.port) }
        #expect(error?.description == "cannot listen at 'http://127.0.0.1:\(receiver.port)': Address already in use")
    }

    @Test func `it listens at IPv6 and at a unix socket too`() throws {
        let path = "/tmp/drainq-receiver-\(UInt64.random(in: 0 ... .max)).socket"
        for address in [ListenAddress.loopbackIPv6, .unix(path: path)] {
            let receiver = try LoopbackReceiver(at: address)
            let client = Client(receiver, at: address)
            client.send(Client.lastGet)
            #expect(client.readAll().text.hasPrefix("HTTP/1.1 204 \r\n"))
        }
    }

    @Test func `three hundred connections are served at once`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "x").delayed(.milliseconds(20))))
        let clients = (0..<300).map { _ in Client(receiver) }
        for client in clients { client.send(Client.lastGet) }
        for client in clients { #expect(client.readAll().text.hasSuffix("\r\n\r\nx")) }
        #expect(receiver.connectionCount == 300)
    }
}
