import CSystem
import Foundation
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// libcurl against independent servers: nginx with TLS, and tinyproxy. Disabled where the servers are not installed.
@Suite(.waiting, .enabled(if: RealServer.areInstalled)) struct RealServerTests {
    private let nginx: RealServer

    init() throws {
        nginx = try RealServer.nginx()
    }

    private func request(_ path: String = "/", method: String = "POST") -> OutgoingRequest {
        OutgoingRequest(
            method: method, url: "https://127.0.0.1:\(nginx.port)\(path)", body: [1, 2, 3],
            timeouts: Timeouts(connect: .seconds(5), request: .seconds(5), total: .seconds(10)), transport: .libcurl,
            connection: ConnectionOptions(caFile: nginx.path("ca.pem")))
    }

    private func deliver(_ requests: [OutgoingRequest]) throws -> [AttemptReport.Result] {
        let sink = AgentSink()
        defer { sink.close() }
        return try sink.deliver(requests).map(\.result)
    }

    private func deliver(_ request: OutgoingRequest) throws -> AttemptReport.Result { try deliver([request])[0] }

    // MARK: - TLS

    @Test func `five requests over TLS with a private authority share an HTTP 2 connection`() throws {
        var connections: Set<String?> = []
        for result in try deliver((0..<5).map { _ in request() }) {
            #expect(result.answer?.status == 200, "\(result)")
            #expect(result.answer?.header("x-protocol") == "HTTP/2.0")
            connections.insert(result.answer?.header("x-connection"))
        }
        #expect(connections.count == 1 && !connections.contains(nil))
    }

    @Test func `a configured authority replaces the system's authorities, even on a kept connection`() throws {
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        var request = request()
        #expect(try sink.deliver(request).result.answer?.status == 200)
        request.connection.caFile = nil
        #expect(try sink.deliver(request).result.failure == .tls)
        request.connection.caFile = nginx.path("stranger.pem")
        #expect(try sink.deliver(request).result.failure == .tls)
    }

    @Test func `a host name missing from the certificate is a TLS error`() throws {
        var request = request()
        request.url = "https://localhost:\(nginx.port)/"
        #expect(try deliver(request).failure == .tls)
    }

    @Test(arguments: [nil, "client.pass"])
    func `a client certificate is presented, with or without a passphrase for its key`(passphrase: String?) throws {
        var request = request("/mine")
        #expect(try deliver(request).answer?.status == 403)
        request.connection.clientCertificate = .init(
            certificateFile: nginx.path("client.pem"),
            keyFile: nginx.path(passphrase == nil ? "client.key" : "client.locked.key"), passphrase: passphrase)
        let result = try deliver(request)
        #expect(result.answer?.status == 200, "\(result)")
        #expect(result.answer?.header("x-client") == "CN=client")
    }

    @Test(arguments: [nil, "wr0ng-w0rd"])
    func `a key without its passphrase is a TLS error, and the error does not contain the passphrase`(
        passphrase: String?
    ) throws {
        var request = request()
        request.connection.clientCertificate = .init(
            certificateFile: nginx.path("client.pem"), keyFile: nginx.path("client.locked.key"), passphrase: passphrase)
        let result = try deliver(request)
        #expect(result.failure == .tls, "\(result)")
        #expect(result.detail?.contains("wr0ng") == false)
    }

    @Test func `plain HTTP on a port for TLS and TLS on a plain port are errors or answers, in time`() throws {
        var request = request()
        request.url = request.url.replacing("https://", with: "http://")
        #expect(try deliver(request).answer?.status == 400)
        let receiver = try LoopbackReceiver()
        request.url = receiver.url.replacing("http://", with: "https://")
        request.timeouts.connect = .milliseconds(300)
        #expect([.tls, .connectTimeout].contains(try deliver(request).failure))
    }

    // MARK: - Answers

    @Test func `a compressed answer is read, and cut at the bound`() throws {
        var request = request("/zeros", method: "GET")
        (request.body, request.answerLimit) = (nil, 100_000)
        let answer = try #require(try deliver(request).answer)
        #expect(answer.header("content-encoding") == "gzip")
        #expect(answer.body == [UInt8](repeating: 0x30, count: 100_000))
    }

    @Test func `a 413 for a body file that is too large is the answer`() throws {
        let path = nginx.path("large")
        try Data(repeating: 1, count: 8 << 20).write(to: URL(filePath: path))
        var request = request("/small")
        (request.body, request.bodyFile) = (nil, try BodyFile(describing: path))
        #expect(try deliver(request).answer?.status == 413)
    }

    @Test func `each of eight large bodies gets its early refusal`() throws {
        let requests = (0..<8).map { _ in
            var request = request("/small")
            request.body = [UInt8](repeating: 1, count: 2 << 20)
            return request
        }
        for result in try deliver(requests) { #expect(result.answer?.status == 413, "\(result)") }
    }

    @Test func `a request leaves over HTTP 1.1 where HTTP 2 has lost an answer`() throws {
        var request = request()
        request.needsHTTP1 = true
        #expect(try deliver([request, request]).map { $0.answer?.header("x-protocol") } == ["HTTP/1.1", "HTTP/1.1"])
    }

    @Test func `a body file arrives, over HTTP 1.1 where the server speaks it`() throws {
        let path = nginx.path("large")
        try Data(repeating: 1, count: 8 << 20).write(to: URL(filePath: path))
        var request = request("/length", method: "PUT")
        (request.body, request.bodyFile) = (nil, try BodyFile(describing: path))
        let answer = try deliver(request).answer
        #expect(answer?.header("x-length") == "\(8 << 20)")
        #expect(answer?.header("x-protocol") == "HTTP/1.1")
    }

    @Test func `a request over a unix socket names its host`() throws {
        var request = request("/")
        request.url = "http://api.example/"
        request.connection = ConnectionOptions(unixSocket: nginx.path("socket"))
        let result = try deliver(request)
        #expect(result.answer?.header("x-host") == "api.example", "\(result)")
        #expect(result.answer?.header("x-protocol") == "HTTP/1.1")
    }

    // MARK: - Proxies

    @Test func `a tunnel is opened with the proxy's credentials`() throws {
        let proxy = try RealServer.tinyproxy(letting: nginx.port)
        var request = request()
        request.connection.proxy = .url("http://user:pass@127.0.0.1:\(proxy.port)")
        #expect(try deliver(request).answer?.header("x-protocol") == "HTTP/2.0")
        request.connection.proxy = .url("http://user:wrong@127.0.0.1:\(proxy.port)")
        let refused = try deliver(request)
        #expect(
            refused.answer?.status == 407 || refused.answer?.status == 401 || refused.failure == .proxy, "\(refused)")
        request.connection.proxy = .url("http://127.0.0.1:\(proxy.port)")
        #expect(try deliver(request).answer?.status == 407)
    }

    @Test func `a refused tunnel is a failure of the proxy`() throws {
        let proxy = try RealServer.tinyproxy(letting: nginx.port)
        var request = request()
        request.connection.proxy = .url("http://user:pass@127.0.0.1:\(proxy.port)")
        request.url = "https://127.0.0.1:1/"
        #expect(try deliver(request).failure == .proxy)
    }
}

/// An installed server, with its files in a new directory.
final class RealServer {
    static let areInstalled = ["/usr/sbin/nginx", "/usr/bin/tinyproxy", "/usr/bin/openssl"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let port: UInt16
    private let directory: URL
    private let process: Process

    func path(_ name: String) -> String { directory.appending(path: name).path }

    private init(
        _ executable: String, _ arguments: [String], port: UInt16, in directory: URL, configuration: String
    ) throws {
        (self.port, self.directory) = (port, directory)
        try configuration.write(to: directory.appending(path: "conf"), atomically: false, encoding: .utf8)
        process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try awaitListening()
    }

    deinit {
        // At once, even with open connections.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Knocks until somebody opens.
    private func awaitListening() throws {
        let sink = AgentSink()
        defer { sink.close() }
        let knock = OutgoingRequest(
            method: "GET", url: "http://127.0.0.1:\(port)/", transport: .libcurl,
            connection: ConnectionOptions(proxy: .direct))
        let deadline = ContinuousClock.now + .seconds(60)
        while try sink.deliver(knock).result.failure == .refused {
            try #require(process.isRunning && ContinuousClock.now < deadline, "it does not listen")
        }
    }

    private static func prepare() throws -> (directory: URL, port: UInt16) {
        let directory = URL(filePath: socketPath()).deletingLastPathComponent()
        // Below the kernel's ephemeral range: no receiver of another test takes the port before the server listens.
        let receiver = try #require(
            (0..<100).reduce(nil) { found, _ in found ?? (try? LoopbackReceiver(port: .random(in: 10_000..<32_000))) })
        defer { receiver.stop() }
        return (directory, receiver.port)
    }

    static func nginx() throws -> RealServer {
        let (directory, port) = try prepare()
        try makeCertificates(in: directory)
        return try RealServer(
            "/usr/sbin/nginx", ["-p", directory.path, "-c", "conf", "-e", "error.log"], port: port, in: directory,
            configuration: """
                daemon off; master_process off; pid pid; error_log error.log;
                events {}
                http {
                    access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c;
                    uwsgi_temp_path d; scgi_temp_path e; large_client_header_buffers 4 16k;
                    ssl_certificate server.pem; ssl_certificate_key server.key;
                    ssl_client_certificate ca.pem; ssl_verify_client optional;
                    add_header X-Protocol $server_protocol always; add_header X-Host $host;
                    add_header X-Connection $connection;
                    add_header X-Client $ssl_client_s_dn; add_header X-Length $content_length;
                    gzip on; gzip_types application/octet-stream;
                    server {
                        listen 127.0.0.1:\(port) ssl http2; listen unix:\(directory.path)/socket;
                        client_max_body_size 100m; root \(directory.path);
                        # A proxy reads the body before it answers.
                        location / { proxy_pass http://unix:\(directory.path)/socket:/inner; }
                        location /inner { add_header X-Inner 1; return 200; }
                        location /mine {
                            if ($ssl_client_verify != SUCCESS) { return 403; }
                            proxy_pass http://unix:\(directory.path)/socket:/inner;
                        }
                        location /small { client_max_body_size 1m; proxy_pass http://127.0.0.1:1; }
                        location /length { proxy_pass http://unix:\(directory.path)/socket:/inner; }
                        location /zeros { default_type application/octet-stream; }
                    }
                }
                """)
    }

    static func tinyproxy(letting target: UInt16) throws -> RealServer {
        let (directory, port) = try prepare()
        let configuration = directory.appending(path: "conf").path
        return try RealServer(
            "/usr/bin/tinyproxy", ["-d", "-c", configuration], port: port, in: directory,
            configuration: """
                Port \(port)
                Listen 127.0.0.1
                Timeout 60
                BasicAuth user pass
                ConnectPort \(target)
                ConnectPort 1
                """)
    }

    private static func makeCertificates(in directory: URL) throws {
        try Data(repeating: 0x30, count: 1_000_000).write(to: directory.appending(path: "zeros"))
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/bin/sh")
        openssl.currentDirectoryURL = directory
        openssl.arguments = [
            "-ec",
            """
            exec 2> /dev/null
            for authority in ca stranger; do
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$authority" -days 2 -keyout $authority.key \
                    -out $authority.pem
            done
            for who in server client; do
                openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=$who -keyout $who.key -out $who.csr
                printf 'subjectAltName=IP:127.0.0.1' > $who.ext
                openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $who.ext \
                    -out $who.pem
            done
            openssl ec -aes256 -passout pass:client.pass -in client.key -out client.locked.key
            """,
        ]
        try openssl.run()
        openssl.waitUntilExit()
        try #require(openssl.terminationStatus == 0)
    }
}
