import Testing

@testable import Policy

struct QuantityTests {
    @Test(
        arguments: [
            ("500ms", 500_000), ("90s", 90_000_000), ("5m", 300_000_000), ("2h", 7_200_000_000),
            ("3d", 259_200_000_000),
            ("1h30m", 5_400_000_000), ("1d2h3m4s5ms", 93_784_005_000), ("1.5s", 1_500_000), ("0s", 0), ("0.001ms", 1),
        ] as [(String, Int64)])
    func `a duration is read exactly`(text: String, microseconds: Int64) {
        #expect(Duration(quantity: text) == .microseconds(microseconds))
    }

    @Test(arguments: [
        "", "5", "s", "-5m", "+5m", "5 m", "5w", "1m1h", "1s1s", "5M", ".5s", "1.s", "0.0001ms", "1h30", "99999999999d",
        "99999999999999999999s", "５s",
    ])
    func `an invalid duration is refused`(text: String) {
        #expect(Duration(quantity: text) == nil)
    }

    @Test(arguments: ["0s", "500ms", "1m30s", "2h", "1d12h", "0.001ms", "1d2h3m4s5.006ms"])
    func `a duration and its text are each other's inverse`(text: String) {
        #expect(Duration(quantity: text)?.quantity == text)
    }

    @Test func `a negative duration shows its sign`() {
        #expect(Duration.seconds(-90).quantity == "-1m30s")
    }

    @Test(arguments: [
        ("512", 512), ("0", 0), ("512B", 512), ("10MB", 10_000_000), ("1KiB", 1024), ("1KB", 1000), ("1kB", 1000),
        ("1.5GB", 1_500_000_000), ("2TiB", 2_199_023_255_552),
    ])
    func `a size is read exactly`(text: String, bytes: Int) {
        #expect(ByteCount(quantity: text)?.bytes == bytes)
    }

    @Test(arguments: ["", "MB", "-1", "10mb", "10 MB", "1.5B", "1MB2KB", "10PB", "9999999999TB"])
    func `an invalid size is refused`(text: String) {
        #expect(ByteCount(quantity: text) == nil)
    }

    @Test(arguments: ["0B", "512B", "10MB", "1KiB", "1500B", "3GiB"])
    func `a size and its text are each other's inverse`(text: String) {
        #expect(ByteCount(quantity: text)?.description == text)
    }

    @Test(arguments: [("20/s", 20, 1), ("5/m", 5, 60), ("100/h", 100, 3600), ("1000/d", 1000, 86_400)])
    func `a rate is a count in a unit of time`(text: String, count: Int, seconds: Int) {
        let rate = Rate(quantity: text)
        #expect(rate == Rate(count: count, per: .seconds(seconds)))
        #expect(rate?.quantity == text)
        #expect(rate?.interval == .seconds(seconds) / count)
    }

    @Test(arguments: ["", "20", "0/s", "20/", "/s", "1.5/s", "20/ms", "20/s/s", "-1/s"])
    func `an invalid rate is refused`(text: String) {
        #expect(Rate(quantity: text) == nil)
    }
}
