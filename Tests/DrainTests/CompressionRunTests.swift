import Delivery
import Policy
import Spool
import Testing

@testable import Drain

/// `compress`, with a compressor that reverses the bytes.
struct CompressionRunTests {
    private let signing = AWSSigning(service: "sqs", region: "eu-central-1", accessKey: "AK", secretKey: "sk")

    private func bench(_ change: (inout Route) -> Void) throws -> Bench {
        let bench = try Bench()
        bench.configuration.defaultRoute.compress = .gzip
        change(&bench.configuration.defaultRoute)
        return bench
    }

    @Test func `signatures cover the compressed bytes`() throws {
        let bench = try bench {
            $0.awsSigning = signing
            $0.headersCommand = ["sign"]
            $0.batch = Batch(max: 9)
        }
        var seen: [[UInt8]] = []
        bench.credentials.signed = { _, request in
            seen.append(request.body ?? [])
            return [HeaderField(name: "Digest", value: request.headers.last?.value ?? "")]
        }
        try bench.add(3)
        #expect(try bench.run().delivered == 3)
        let request = try #require(bench.sink?.requests.first)
        let body = Array("]2,1,0[".utf8)
        #expect(request.body == body && seen == [body])
        #expect(request.header("Digest") == "gzip" && request.header("Content-Encoding") == "gzip")
        #expect(
            request.header("X-Amz-Content-Sha256") == "52170c37220ff6072e685073dff081063f52975f3c61f07b27574eabbf827f3c"
        )
    }

    @Test func `each attempt sends the same compressed bytes`() throws {
        let bench = try bench { _ in }
        try bench.add(1)
        _ = try bench.run { _ in .status(503) }
        let first = bench.bodies
        bench.pass(.seconds(3600))
        #expect(try bench.run().delivered == 1)
        #expect(bench.bodies == first)
    }

    @Test func `a shortage while compressing or signing defers operations uncharged, and holds no destination`() throws
    {
        for isSigning in [true, false] {
            let bench = try bench { if isSigning { $0.headersCommand = ["sign"] } }
            let lack = RequestError.unavailable(.shortage, reason: "nothing left")
            if isSigning {
                bench.credentials.signed = { _, _ throws(RequestError) in throw lack }
            } else {
                bench.gzip = { _ throws(RequestError) in throw lack }
            }
            try bench.add(2)
            let summary = try bench.run()
            #expect(summary.deferred == 2 && summary.attempts == 0 && bench.holds == 0)
            #expect(try bench.names(.deferred).allSatisfy { $0.attempts == 0 })
        }
    }

    @Test func `without a working compressor the destination is held, and no operation is lost`() throws {
        let bench = try bench { _ in }
        bench.gzip = { _ throws(RequestError) in throw .cannotCompress(reason: "no zlib") }
        try bench.add(2)
        let summary = try bench.run()
        #expect(summary.attempts == 0 && bench.holds == 1)
        #expect(try bench.names(.new).count == 2)
        #expect(try bench.names(.new).allSatisfy { $0.attempts == 0 })
    }
}

extension OutgoingRequest {
    fileprivate func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
