/// A buffer that cuts the bytes from a socket into frames.
package struct FrameBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0
    private let longest: Int
    private var history = FrameHistory()

    /// `longest`: upper bound on a payload, in bytes.
    package init(longest: Int = Frame.longestPayload) {
        self.longest = longest
    }

    package mutating func append(_ more: some Sequence<UInt8>) {
        if start > 0, start == bytes.count || start > 1 << 16 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Removes and returns the next whole frame; `nil` if more bytes are needed.
    package mutating func next() throws(FrameError) -> Frame? {
        guard bytes.count - start >= 4 else { return nil }
        let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard length <= longest else { throw FrameError("a frame of \(length) bytes") }
        guard bytes.count - start - 4 >= length else { return nil }
        let payload = bytes[start + 4..<start + 4 + length]
        start += 4 + length
        let frame = try Frame(payload: payload, after: history)
        history.note(frame)
        return frame
    }
}
