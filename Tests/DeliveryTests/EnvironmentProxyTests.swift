import CSystem
import LoopbackReceiver
import Policy
import Testing

@testable import Delivery

/// A proxy from the environment, over both transports. Its failures differ from failures of the destination.
@Suite(.waiting) struct EnvironmentProxyTests {
    private let proxy: LoopbackReceiver

    init() throws {
        proxy = try LoopbackReceiver(
            script: .always(.status(407, headers: ["Proxy-Authenticate: Basic realm=\"p\""])))
    }

    private func deliver(to url: String, by transport: Transport) throws -> AttemptReport.Result {
        let variables = "export http_proxy='\(proxy.url)' https_proxy='\(proxy.url)' no_proxy=localhost"
        let sink = AgentSink(after: variables)
        defer { sink.close() }
        var request = OutgoingRequest.post(to: proxy, by: transport)
        request.url = url
        return try sink.deliver(request).result
    }

    @Test(arguments: ["http", "https"], Transport.allCases)
    func `an unreachable proxy is distinguished from an unreachable destination`(scheme: String, transport: Transport)
        throws
    {
        proxy.stop()
        #expect(try deliver(to: "\(scheme)://127.0.0.2:1/", by: transport).failure == .proxy)
        #expect(try deliver(to: "\(scheme)://localhost:1/", by: transport).failure == .refused)
    }

    @Test(arguments: ["http", "https"], Transport.allCases)
    func `a proxy's 407 is the answer, with and without a tunnel`(
        scheme: String, transport: Transport
    ) throws {
        let result = try deliver(to: "\(scheme)://a.example/", by: transport)
        #expect(result.answer?.status == 407, "\(result)")
    }

    @Test(arguments: Transport.allCases)
    func `a refused tunnel is a failure of the proxy`(transport: Transport) throws {
        let refusing = try LoopbackReceiver(script: .always(.status(403)))
        let sink = AgentSink(after: "export https_proxy='\(refusing.url)'")
        defer { sink.close() }
        var request = OutgoingRequest.post(to: refusing, by: transport)
        request.url = "https://a.example/"
        #expect(try sink.deliver(request).result.failure == .proxy)
    }
}

/// Whether a proxy of the environment carries a request, and whether the proxy or the destination has failed.
struct ProxyChoiceTests {
    @Test(arguments: [
        ("http://a.example/", "http://p:1"), ("https://a.example/", "http://s:1"),
        ("http://b.example/", nil), ("http://x.b.example/", nil), ("http://B.Example./", nil),
        ("http://notb.example/", "http://p:1"), ("http://c.example/", nil), ("http://10.1.2.3/", nil),
        ("http://11.1.2.3/", "http://p:1"), ("http://192.168.0.7/", nil), ("http://192.168.0.8/", "http://p:1"),
        ("http://[::1]:80/", nil), ("http://[fd00::5]/", nil), ("http://[fe00::5]/", "http://p:1"),
    ])
    func `no_proxy excludes domains, addresses and networks`(url: String, proxy: String?) {
        let environment = EnvironmentProxy([
            "http_proxy": "http://p:1", "https_proxy": "http://s:1", "HTTP_PROXY": "http://never:1",
            "no_proxy": "b.example, .c.example,10.0.0.0/8 192.168.0.7,::1,fd00::/8",
        ])
        #expect(environment.proxy(for: url) == proxy)
    }

    @Test func `all_proxy is the fallback, an empty variable names no proxy, and a star excludes all hosts`() {
        #expect(EnvironmentProxy(["http_proxy": "", "ALL_PROXY": "a:1"]).proxy(for: "http://h/") == "a:1")
        #expect(EnvironmentProxy(["http_proxy": "p:1", "no_proxy": "*"]).proxy(for: "http://h/") == nil)
        #expect(EnvironmentProxy(["HTTP_PROXY": "p:1"]).proxy(for: "http://h/") == nil)
        #expect(EnvironmentProxy([:]).proxy(for: "http://h/") == nil)
    }

    static let failures: [(CurlFailure, NetworkError)] = [
        // At the proxy: name, port, TLS, handshake.
        (CurlFailure(code: 5), .proxy), (CurlFailure(code: 6, proxy: "socks5h://p"), .proxy),
        (CurlFailure(code: 7, systemError: ECONNREFUSED, proxy: "http://p"), .proxy),
        (CurlFailure(code: 7, proxy: "ftp://p"), .proxy), (CurlFailure(code: 28, proxy: "socks5h://p"), .proxy),
        (CurlFailure(code: 28, errorMessage: "Proxy CONNECT aborted due to timeout", proxy: "http://p"), .proxy),
        (CurlFailure(code: 35, errorMessage: "Connection reset by peer", proxy: "https://p"), .proxy),
        (CurlFailure(code: 60, proxy: "https://p"), .proxy), (CurlFailure(code: 56, proxy: "http://p"), .proxy),
        (CurlFailure(code: 56, proxy: "http://p", tunnelStatus: 403), .proxy),
        (CurlFailure(code: 97, proxy: "socks5h://p"), .proxy),
        // Behind the proxy.
        (CurlFailure(code: 60, proxy: "http://p", tunnelStatus: 200), .tls),
        (CurlFailure(code: 60, proxy: "socks5h://p"), .tls),
        (CurlFailure(code: 28, wasConnected: true, proxy: "http://p"), .timeout),
        (CurlFailure(code: 56, errorMessage: "Recv failure", wasConnected: true, proxy: "http://p"), .reset),
        (CurlFailure(code: 97, errorMessage: "Failed to resolve \"a\" for SOCKS5 connect.", proxy: "socks5://p"), .dns),
        // The client is to blame.
        (CurlFailure(code: 3, proxy: "http://p"), .badURL), (CurlFailure(code: 58, proxy: "http://p"), .tls),
        (CurlFailure(code: 77, proxy: "http://p"), .tls),
    ]

    @Test(arguments: failures)
    func `a failure before the proxy forwards bytes is the proxy's failure`(failure: CurlFailure, name: NetworkError) {
        #expect(NetworkError(failure) == name)
    }
}
