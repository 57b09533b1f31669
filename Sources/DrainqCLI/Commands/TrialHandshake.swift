import Delivery
import LoopbackReceiver
import Policy

/// A server on loopback that shows whether libcurl can use a destination's certificate files.
///
/// libcurl reads the files, and decrypts the key, before it sends the first byte of a handshake. The server ends every
/// connection there, so only the files can make the handshake fail as an error of trust.
struct TrialHandshake {
    private let server: LoopbackReceiver

    init() throws(ReceiverError) { server = try LoopbackReceiver(isMute: true) }

    /// Returns why libcurl cannot use the files, in its own words; `nil` if it can, or if no handshake could begin.
    func defect(of connection: ConnectionOptions) -> String? {
        var connection = connection
        (connection.proxy, connection.unixSocket) = (.direct, nil)
        var request = OutgoingRequest(method: "GET", url: "https://127.0.0.1:\(server.port)/")
        request.timeouts = Timeouts(connect: .seconds(5), request: .seconds(5), total: .seconds(10))
        request.transport = .libcurl
        request.connection = connection
        guard case .failure(.tls, let detail) = AgentSink.report(of: request).result else { return nil }
        return detail
    }
}
