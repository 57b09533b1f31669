/// The bytes of an answer: a beginning, a pattern that repeats, an end, and the end of the connection.
///
/// Memory holds only one pattern of an endless or repeated body.
struct AnswerBytes: Sendable {
    enum Ending {
        case open, close, reset, stall
    }

    private let prefix: [UInt8]
    private let pattern: [UInt8]
    private let patternEnd: Int
    private let suffix: [UInt8]
    private let headLength: Int
    let delay: Duration
    let pace: Answer.Pace?
    let ending: Ending
    /// The number of bytes before the ending; `Int.max` for an endless answer.
    let length: Int

    /// - Parameters:
    ///   - toHead: the request was HEAD.
    ///   - closing: the client asks to close the connection.
    init(_ answer: Answer, toHead: Bool, closing: Bool) {
        var message = Message(answer, toHead: toHead, closing: closing)
        message.compose()
        prefix = message.head + message.body
        pattern = message.pattern
        suffix = message.end
        headLength = message.head.count
        patternEnd = saturated(prefix.count, message.patternLength)
        let whole = saturated(patternEnd, suffix.count)
        func offset(_ position: Answer.Position) -> Int {
            switch position {
            case .bytes(let count): min(count, whole)
            case .body(let count): min(saturated(message.head.count, count), whole)
            case .end: whole
            }
        }
        switch answer.ending {
        case .open:
            length = whole
            ending = message.endsWithConnection ? .close : .open
        case .close(let position):
            length = offset(position)
            ending = .close
        case .reset(let position):
            length = offset(position)
            ending = .reset
        case .stall(let position):
            length = offset(position)
            ending = .stall
        }
        delay = answer.delay
        pace = answer.pace
    }

    /// Calls `send` with the bytes from `offset`, as many as are contiguous and may be sent now.
    func withBytes<Result>(from offset: Int, _ send: (UnsafeRawBufferPointer) -> Result) -> Result {
        var most = length - offset
        if let pace {
            if !pace.onlyBody || offset >= headLength {
                most = min(most, pace.bytes)
            } else {
                most = min(most, headLength - offset)
            }
        }
        let (bytes, start) =
            if offset < prefix.count {
                (prefix, offset)
            } else if offset < patternEnd {
                (pattern, (offset - prefix.count) % pattern.count)
            } else {
                (suffix, offset - patternEnd)
            }
        if offset < patternEnd { most = min(most, patternEnd - offset) }
        return bytes.withUnsafeBytes { all in
            send(UnsafeRawBufferPointer(rebasing: all[start..<(start + min(most, all.count - start))]))
        }
    }

    /// Returns the pause after the first `offset` bytes; `nil` if there is none.
    func pause(at offset: Int) -> Duration? {
        guard let pace, offset < length, !pace.onlyBody || offset >= headLength else { return nil }
        return pace.interval
    }
}
