/// The receiver's answer to one request: a message, its framing and pace, and the end of its connection.
///
/// Each property has an honest default. A hostile server is an honest one with one property changed.
package struct Answer: Hashable, Sendable {
    package var form = Form.message
    package var status: Int
    /// The reason phrase; `nil` for the standard phrase, or none if the status has no name.
    package var reason: String?
    /// Written as they are, before those of the framing. `Connection: close` among them takes effect.
    package var headers: [HeaderLine]
    package var body: Body
    package var framing = Framing.length
    /// The fields after a chunked body.
    package var trailers: [HeaderLine] = []
    /// The time from the end of the request to the first byte.
    package var delay = Duration.zero
    package var pace: Pace?
    package var ending = Ending.open

    package init(_ status: Int = 204, headers: [HeaderLine] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package enum Form: Hashable, Sendable {
        case message
        /// These bytes, and nothing else.
        case verbatim([UInt8])
        /// A status line, the headers, and header fields without end.
        case endlessHeaders
    }

    package enum Body: Hashable, Sendable {
        case bytes([UInt8])
        /// One byte, `count` times. Never in memory as a whole.
        case repeated(UInt8, count: Int)
        /// As `repeated`, until the client closes. Framed by chunks, or by the end of the connection.
        case endless(UInt8)

        package static func text(_ text: String) -> Body { .bytes(Array(text.utf8)) }
    }

    /// The sign that the body has ended. Answers to HEAD and with status 1xx, 204 and 304 have no body.
    package enum Framing: Hashable, Sendable {
        /// A true Content-Length.
        case length
        /// A false Content-Length: the body's length plus this difference.
        case wrongLength(by: Int)
        case chunked
        /// A correct chunk with the body, then a chunk whose size is not a number.
        case malformedChunks
        /// No length: the end of the connection is the end of the body.
        case untilClose
    }

    /// A rate of sending: this many bytes, then a pause.
    package struct Pace: Hashable, Sendable {
        package var bytes: Int
        package var interval: Duration
        /// Whether the head is sent at once.
        package var onlyBody: Bool

        package init(bytes: Int, every interval: Duration, onlyBody: Bool = false) {
            self.bytes = max(bytes, 1)
            self.interval = interval
            self.onlyBody = onlyBody
        }
    }

    /// The end of the connection, and the position in the answer where it comes.
    package enum Ending: Hashable, Sendable {
        /// The connection serves the next request, unless a header or the client closes it.
        case open
        /// A FIN without announcement. At the `end` it leaves a stale keep-alive connection, before that a truncated
        /// answer.
        case close(at: Position)
        /// A RST.
        case reset(at: Position)
        /// The receiver sends nothing more, and the connection stays open.
        case stall(at: Position)
    }

    package enum Position: Hashable, Sendable {
        /// After this many bytes of the answer, its head included.
        case bytes(Int)
        /// After the head and this many bytes behind it, chunk sizes included.
        case body(Int)
        case end
    }
}

extension Answer {
    package static func status(_ status: Int, headers: [HeaderLine] = [], body: String = "") -> Answer {
        Answer(status, headers: headers, body: .text(body))
    }

    /// A `429` or `503` with a Retry-After, in seconds or as a date.
    package static func later(_ status: Int = 429, retryAfter: String) -> Answer {
        Answer(status, headers: [HeaderLine("Retry-After", retryAfter)])
    }

    /// A reset of the connection before any byte of an answer.
    package static let reset = Answer.ending(.reset(at: .bytes(0)))

    /// A close of the connection before any byte of an answer.
    package static let close = Answer.ending(.close(at: .bytes(0)))

    /// No answer; the connection stays open.
    package static let silence = Answer.ending(.stall(at: .bytes(0)))

    package static func verbatim(_ text: String) -> Answer {
        var answer = Answer(200)
        answer.form = .verbatim(Array(text.utf8))
        return answer
    }

    package static func endlessBody(chunked: Bool = true) -> Answer {
        Answer(200, body: .endless(UInt8(ascii: "x"))).framed(chunked ? .chunked : .untilClose)
    }

    package static let endlessHeaders: Answer = {
        var answer = Answer(200)
        answer.form = .endlessHeaders
        return answer
    }()

    private static func ending(_ ending: Ending) -> Answer { Answer(204).ending(ending) }

    package func delayed(_ delay: Duration) -> Answer { changed { $0.delay = delay } }

    package func framed(_ framing: Framing) -> Answer { changed { $0.framing = framing } }

    package func paced(_ pace: Pace) -> Answer { changed { $0.pace = pace } }

    package func ending(_ ending: Ending) -> Answer { changed { $0.ending = ending } }

    /// Announces `missing` bytes more than are sent, then closes.
    package func truncated(by missing: Int) -> Answer {
        framed(.wrongLength(by: missing)).ending(.close(at: .end))
    }

    private func changed(_ change: (inout Answer) -> Void) -> Answer {
        var copy = self
        change(&copy)
        return copy
    }
}
