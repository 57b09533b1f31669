import Testing

@testable import Delivery
@testable import Policy

struct RefusalTests {
    private func request(_ url: String = "http://a/", method: String = "POST", header: (String, String)? = nil)
        -> OutgoingRequest
    {
        OutgoingRequest(
            method: method, url: url, headers: header.map { [HeaderField(name: $0.0, value: $0.1)] } ?? [], body: [1])
    }

    @Test(arguments: [
        "", "a", "ftp://a/", "http:/a", "http://", "http:///x", "http://:80/", "http://u@a/", "http://u:p@[::1]:80/",
        "http://a/b c", "http://a/%zz", "http://a/%4", "http://a/\n", "/relative",
    ])
    func `an invalid URL is refused`(url: String) {
        for transport in Transport.allCases {
            var request = request(url)
            request.transport = transport
            #expect(request.refusal != nil)
        }
    }

    @Test(arguments: ["http://a", "HTTPS://A.example:443/x?y=%20#z", "http://127.0.0.1/", "http://bücher.example/ü"])
    func `a valid URL is not refused`(url: String) {
        #expect(request(url).refusal == nil)
    }

    @Test func `only the scheme of a URL is put in lower case`() {
        #expect(request("HTTP://A/B").normalizedURL == "http://A/B")
        #expect(request("HttpS://A/B").normalizedURL == "https://A/B")
    }

    @Test(arguments: ["", "PO ST", "GET\r\nX: y", "CONNECT"])
    func `an invalid method or CONNECT is refused`(method: String) {
        #expect(request(method: method).refusal != nil)
    }

    @Test func `a HEAD with a body is refused for every transport`() {
        for transport in Transport.allCases {
            var request = request(method: "HEAD")
            request.transport = transport
            #expect(request.refusal != nil)
            request.body = []
            #expect(request.refusal == nil)
        }
    }

    static let libcurlOnly: [@Sendable (inout OutgoingRequest) -> Void] = [
        { $0.method = "GET" },
        { $0.url = "https://[::1]/" },
        { $0.bodyFile = BodyFile(path: "/f", length: 0, modified: 0, inode: 0) },
        { $0.connection.proxy = .direct },
        { $0.connection.proxy = .url("http://p:1") },
        { $0.connection.caFile = "/ca" },
        { $0.connection.clientCertificate = .init(certificateFile: "/c") },
        { $0.connection.unixSocket = "/s" },
    ]

    @Test(arguments: libcurlOnly.indices)
    func `a request that only libcurl supports is refused for URLSession`(number: Int) {
        var request = request()
        Self.libcurlOnly[number](&request)
        #expect(request.refusal != nil)
        request.transport = .libcurl
        #expect(request.refusal == nil)
    }

    @Test func `a unix socket and a proxy exclude each other`() {
        var request = request()
        request.transport = .libcurl
        request.connection = ConnectionOptions(proxy: .url("http://p:1"), unixSocket: "/s")
        #expect(request.refusal != nil)
    }

    @Test(arguments: [
        ("A", "b\r\nC: d"), ("A", "token\n"), ("A", "\0"), ("A b", ""), ("A\r\nB", ""), ("", "x"), ("A:", "x"),
        ("Host", "b"), ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("Connection", "close"),
        ("EXPECT", ""), ("Accept-Encoding", "gzip"),
    ])
    func `a header that would break the request is refused`(name: String, value: String) {
        #expect(request(header: (name, value)).refusal != nil)
    }

    @Test(arguments: [("X-Ok", "a\tb ü"), ("Authorization", "Bearer a.b"), ("Cookie", "")])
    func `an ordinary header is not refused`(name: String, value: String) {
        #expect(request(header: (name, value)).refusal == nil)
    }
}
