import Delivery
import LoopbackReceiver
import Policy
import Testing

/// A proxy that the environment names, over both transports: what is its doing is told apart from the destination's.
@Suite(.serialized) struct EnvironmentProxyTests {
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
    func `a proxy that is not there is told apart from the destination`(scheme: String, transport: Transport) throws {
        proxy.stop()
        #expect(try deliver(to: "\(scheme)://127.0.0.2:1/", by: transport).failure == .proxy)
        #expect(try deliver(to: "\(scheme)://localhost:1/", by: transport).failure == .refused)
    }

    @Test(arguments: ["http", "https"], Transport.allCases)
    func `a proxy that wants credentials answers 407, with and without a tunnel`(
        scheme: String, transport: Transport
    ) throws {
        let result = try deliver(to: "\(scheme)://a.example/", by: transport)
        #expect(result.answer?.status == 407, "\(result)")
    }

    @Test(arguments: Transport.allCases)
    func `a proxy that opens no tunnel is the proxy's failure`(transport: Transport) throws {
        let refusing = try LoopbackReceiver(script: .always(.status(403)))
        let sink = AgentSink(after: "export https_proxy='\(refusing.url)'")
        defer { sink.close() }
        var request = OutgoingRequest.post(to: refusing, by: transport)
        request.url = "https://a.example/"
        #expect(try sink.deliver(request).result.failure == .proxy)
    }
}
