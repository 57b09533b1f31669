import Foundation
import HostileReceiver
import LoopbackReceiver
import Policy
import Testing

@testable import Delivery

/// Differences between the transports by nature. The remaining suites check the same behaviour of both.
@Suite(.waiting) struct TransportDifferenceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var script = Script.always(.status(200))
        var address = ListenAddress.loopback
        var change: @Sendable (inout OutgoingRequest, LoopbackReceiver) -> Void = { _, _ in }
        var urlsession: [NetworkError]
    }

    static let rows: [Row] = [
        Row(
            testDescription: "a GET with a body", change: { request, _ in request.method = "GET" },
            urlsession: [.badURL]),
        Row(
            testDescription: "an IPv6 address as host", address: .loopbackIPv6, urlsession: [.badURL]),
        Row(
            testDescription: "a unix socket", address: .unix(path: socketPath()),
            change: { request, receiver in
                request.url = "http://anywhere.invalid/"
                request.connection.unixSocket = receiver.url
            }, urlsession: [.badURL]),
        Row(
            testDescription: "no proxy, whatever the environment says",
            change: { request, _ in request.connection.proxy = .direct }, urlsession: [.badURL]),
        Row(
            testDescription: "a proxy of one's own",
            change: { request, receiver in
                request.url = "http://nowhere.invalid/"
                request.connection.proxy = .url(receiver.url)
            }, urlsession: [.badURL]),
        Row(
            testDescription: "other authorities of trust",
            change: { request, _ in request.connection.caFile = "/etc/ssl/certs/ca-certificates.crt" },
            urlsession: [.badURL]),
    ]

    @Test(arguments: rows)
    func `libcurl sends requests that URLSession refuses`(row: Row) throws {
        let receiver = try LoopbackReceiver(at: row.address, script: row.script)
        let sink = AgentSink()
        defer { sink.close() }
        for transport in Transport.allCases {
            var request = OutgoingRequest.post(to: receiver, by: transport)
            request.timeouts.total = .seconds(3)
            row.change(&request, receiver)
            let result = try sink.deliver(request).result
            switch transport {
            case .urlsession: #expect(result.failure.map(row.urlsession.contains) == true, "\(result)")
            case .libcurl: #expect(result.answer?.status == 200, "\(result)")
            }
        }
    }

    @Test func `libcurl sends each field separately under its exact name, and adds only three fields`()
        throws
    {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver, by: .libcurl)
        request.headers = [
            HeaderField(name: "x-lower", value: "1"), HeaderField(name: "X-TWICE", value: "a"),
            HeaderField(name: "X-Twice", value: "b"), HeaderField(name: "X-Blank", value: " "),
        ]
        #expect(try sink.deliver(request).result.answer?.status == 204)
        let received = try #require(receiver.requests().first)
        #expect(
            received.headers.map(\.name).filter { $0.lowercased().hasPrefix("x-") } == [
                "x-lower", "X-TWICE", "X-Twice", "X-Blank",
            ])
        #expect(
            Set(received.headers.map { $0.name.lowercased() }).subtracting(["x-lower", "x-twice", "x-blank"]) == [
                "host", "accept-encoding", "content-length",
            ])
    }

    #if os(Linux)
        @Test func `URLSession adds the documented fields, unless the request has its own`() throws {
            let receiver = try LoopbackReceiver()
            let sink = AgentSink()
            defer { sink.close() }
            var request = OutgoingRequest.post(to: receiver, by: .urlsession)
            request.headers = [HeaderField(name: "Content-Type", value: "text/plain")]
            #expect(try sink.deliver(request).result.answer?.status == 204)
            let added = try #require(receiver.takeRequests().first)
            #expect(
                Set(added.headers.map { $0.name.lowercased() }) == [
                    "host", "accept", "accept-encoding", "accept-language", "connection", "user-agent",
                    "content-length", "content-type",
                ])
            #expect(added.header("accept") == "*/*" && added.header("accept-language") == "en")
            #expect(added.header("connection") == "keep-alive")
            request.headers += [
                HeaderField(name: "Accept", value: "text/csv"), HeaderField(name: "Accept-Language", value: "de"),
            ]
            #expect(try sink.deliver(request).result.answer?.status == 204)
            let own = try #require(receiver.takeRequests().first)
            #expect(own.header("accept") == "text/csv" && own.header("accept-language") == "de")
        }
    #endif

    @Test func `libcurl distinguishes no body from an empty body`() throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        for (method, body, length) in [
            ("DELETE", nil, nil), ("DELETE", [], "0"), ("GET", [], "0"), ("GET", nil, nil), ("POST", nil, "0"),
            ("PATCH", nil, "0"),
        ] as [(String, [UInt8]?, String?)] {
            var request = OutgoingRequest.post(to: receiver, by: .libcurl)
            (request.method, request.body) = (method, body)
            #expect(try sink.deliver(request).result.answer?.status == 204)
            let received = try #require(receiver.takeRequests().first)
            #expect(received.method == method)
            #expect(received.header("content-length") == length)
        }
    }
}

/// Returns a path for a socket in a new directory.
func socketPath() -> String {
    let directory = FileManager.default.temporaryDirectory.appending(path: "drainq-\(UUID().uuidString)")
    try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    return directory.appending(path: "socket").path
}
