import Testing

@testable import Policy

struct CompressionTests {
    private static let file = BodyFile(path: "/x", length: 1, modified: 0, inode: 1)

    private func compressed(_ request: OutgoingRequest, by compression: Compression = .gzip) throws -> OutgoingRequest {
        var request = request
        try request.compress(by: compression) { body throws(RequestError) in Array(body.reversed()) }
        return request
    }

    @Test func `a compressed body has a Content-Encoding field`() throws {
        let request = try compressed(
            OutgoingRequest(
                method: "PUT", url: "http://a", headers: [HeaderField(name: "A", value: "1")], body: [1, 2]))
        #expect(request.body == [2, 1])
        #expect(request.headers.map { "\($0.name): \($0.value)" } == ["A: 1", "Content-Encoding: gzip"])
    }

    @Test(arguments: [
        (OutgoingRequest(method: "POST", url: "http://a", body: [1, 2]), Compression.none),
        (OutgoingRequest(method: "DELETE", url: "http://a"), .gzip),
        (OutgoingRequest(method: "POST", url: "http://a", body: []), .gzip),
        (OutgoingRequest(method: "PUT", url: "http://a", bodyFile: file), .gzip),
        (
            OutgoingRequest(
                method: "POST", url: "http://a", headers: [HeaderField(name: "content-encoding", value: "br")],
                body: [1, 2]
            ), .gzip
        ),
    ])
    func `a request not to be compressed is unchanged`(request: OutgoingRequest, compression: Compression) throws {
        #expect(try compressed(request, by: compression) == request)
    }

    @Test func `an error of the compressor is passed on`() {
        var request = OutgoingRequest(method: "POST", url: "http://a", body: [1])
        #expect(throws: RequestError.cannotCompress(reason: "no zlib")) {
            try request.compress(by: .gzip) { _ throws(RequestError) in throw .cannotCompress(reason: "no zlib") }
        }
    }

    @Test func `a route's Content-Encoding header contradicts compress`() {
        let headers = [HeaderField(name: "Content-encoding", value: "br")]
        #expect(Route(url: "https://a", headers: headers).problems.isEmpty)
        #expect(
            Route(url: "https://a", headers: headers, compress: .gzip).problems.map(\.key) == [
                "headers.Content-encoding"
            ])
    }
}
