import Policy
import Testing

struct SaturationTests {
    static let edges: [Int64] = [.min, .min + 1, -1_000_001, -1, 0, 1, 1_000_001, .max - 1, .max]

    @Test func `a result out of range becomes the nearest representable value`() {
        for left in Self.edges {
            for right in Self.edges {
                func nearest(_ exact: Int128) -> Int64 { Int64(min(max(exact, Int128(Int64.min)), Int128(Int64.max))) }
                #expect(left +| right == nearest(Int128(left) + Int128(right)))
                #expect(left -| right == nearest(Int128(left) - Int128(right)))
                #expect(left *| right == nearest(Int128(left) * Int128(right)))
            }
        }
        let results: [UInt64] = [.max +| 1, 0 -| 1, .max *| 2]
        #expect(results == [.max, 0, .max])
    }

    @Test(
        arguments: [
            (Double.infinity, Int64.max), (-.infinity, .min), (.nan, 0), (9.3e18, .max), (-9.3e18, .min), (1.9, 1),
            (-1.9, -1), (0x1p63, .max), (-0x1p63, .min),
        ] as [(Double, Int64)])
    func `a floating-point number is truncated to a whole number and saturated`(number: Double, whole: Int64) {
        #expect(Int64(saturating: number) == whole)
    }

    @Test func `times and durations of any size do not overflow`() {
        let durations: [Duration] =
            Self.edges.map { .microseconds($0) } + Self.edges.map { .seconds($0) }
            + Self.edges.map { .milliseconds($0) }
        for edge in Self.edges {
            let moment = Timestamp(microseconds: edge)
            _ = (moment.compactMicroseconds, moment.compactMilliseconds, moment.rfc3339, moment.roundedUpToMilliseconds)
            _ = Timestamp(httpDate: "Sunday, 06-Nov-94 08:49:37 GMT", now: moment)
            for other in Self.edges { _ = (moment - Timestamp(microseconds: other)).wholeMicroseconds }
            for duration in durations { _ = (moment + duration, moment - duration, duration.inSeconds) }
        }
        #expect(Timestamp(microseconds: .max) + .seconds(1) == Timestamp(microseconds: .max))
        #expect(Timestamp(microseconds: .min) - .seconds(Int64.max) == Timestamp(microseconds: .min))
    }
}
