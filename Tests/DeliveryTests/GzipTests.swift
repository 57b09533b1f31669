import Delivery
import Testing

struct GzipTests {
    /// Decompresses with gzip(1).
    private func decompressed(_ bytes: [UInt8]) -> ExternalCommandResult {
        ExternalCommand(["gzip", "-dc"], directory: "/", environment: ProgramEnvironment())
            .run(input: bytes, within: .seconds(120), outputLimit: .max)
    }

    @Test(arguments: [1, 100, 65_536, 3_000_000])
    func `gzip(1) restores the compressed bytes`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* $0) >> 7) }
        let result = decompressed(try Gzip.compressed(bytes))
        #expect(result.failure == nil && result.output == bytes)
    }

    @Test func `the same bytes give the same member, without a name and a time`() throws {
        let text = Array(String(repeating: "{\"room\":\"attic\",\"value\":21.5}\n", count: 1000).utf8)
        let member = try Gzip.compressed(text)
        #expect(try Gzip.compressed(text) == member)
        #expect(member.count < text.count / 20)
        // RFC 1952 §2.3: the method deflate, no flags, no time.
        #expect(member.prefix(8) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0])
    }
}
