import Foundation
import Testing

@testable import Delivery
@testable import Policy

/// A file of TLS stands for its content: a request after a change uses no connection or session from before it.
struct `A changed certificate file` {
    private func write(_ names: [String], beside certificate: String) throws {
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/bin/sh")
        openssl.currentDirectoryURL = URL(filePath: certificate).deletingLastPathComponent()
        openssl.arguments =
            [
                "-ec",
                """
                for name in "$@"; do
                    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" -days 2 \
                        -keyout $name -out part 2>/dev/null; cat part >>$name
                done
                """, "sh",
            ] + names
        try openssl.run()
        openssl.waitUntilExit()
        try #require(openssl.terminationStatus == 0)
    }

    private func request(_ url: String, trusting file: String) -> OutgoingRequest {
        OutgoingRequest(
            method: "GET", url: url,
            timeouts: Timeouts(connect: .seconds(9), request: .seconds(9), total: .seconds(18)),
            transport: .libcurl, connection: ConnectionOptions(caFile: file))
    }

    private func copy(_ from: String, to path: String) throws {
        try Data(contentsOf: URL(filePath: from)).write(to: URL(filePath: path))
    }

    @Test(.enabled(if: HostileServerTests.hasOpenSSL), arguments: ["-tls1_2", "-tls1_3"])
    func `a request shows the client's certificate that its file has now`(version: String) throws {
        try HostileServerTests().withServer("\(version) -verify 1") { url, certificate in
            try write(["alice", "bob"], beside: certificate)
            let directory = URL(filePath: certificate).deletingLastPathComponent().path
            let sink = AgentSink(concurrency: 1)
            defer { sink.close() }
            var request = request(url, trusting: certificate)
            request.connection.clientCertificate = .init(certificateFile: "\(directory)/mine")
            for user in ["alice", "alice", "bob", "alice"] {
                try copy("\(directory)/\(user)", to: "\(directory)/mine")
                let result = try sink.deliver(request).result
                let page = String(decoding: result.answer?.body ?? [], as: UTF8.self)
                let shown = page.matches(of: /Subject: CN ?= ?(\w+)/).map { String($0.1) }
                #expect(shown == [user], "\(result)")
            }
        }
    }

    @Test(.enabled(if: HostileServerTests.hasOpenSSL))
    func `a request trusts the authorities that their file has now`() throws {
        try HostileServerTests().withServer("") { url, certificate in
            try write(["stranger"], beside: certificate)
            let directory = URL(filePath: certificate).deletingLastPathComponent().path
            let sink = AgentSink(concurrency: 1)
            defer { sink.close() }
            for (file, isTrusted) in [("certificate", true), ("stranger", false), ("certificate", true)] {
                try copy("\(directory)/\(file)", to: "\(directory)/trusted")
                let result = try sink.deliver(request(url, trusting: "\(directory)/trusted")).result
                #expect(isTrusted ? result.answer?.status == 200 : result.failure == .tls, "\(result)")
            }
        }
    }

    @Test func `the name of a file changes with its content, and requests of one base keep one base`() throws {
        let place = try SecretPlace()
        let file = try place.write("one", to: "ca.pem")
        var names = CurlFileNames()
        let request = request("https://a.example/", trusting: file)
        func name() -> String? { names.named(request).connection.caFile }
        #expect(name() == file && names.named(request).base === request.base)
        try place.write("three", to: "ca.pem")
        #expect(name() == "/.\(file)" && names.named(request).base === names.named(request).base)
        try FileManager.default.removeItem(atPath: file)
        #expect(name() == "/./.\(file)" && name() == "/./.\(file)")
        var plain = request
        plain.connection.caFile = nil
        #expect(names.named(plain) == plain)
    }
}
