/// What the receiver does with one request: a message, how it is framed and paced, and what becomes of the connection.
///
/// Every field has an honest default; a hostile server is an honest one with one field changed.
package struct Answer: Hashable, Sendable {
    package var form = Form.message
    package var status: Int
    /// `nil`: the standard phrase, or none where there is none.
    package var reason: String?
    /// Written as they are, before what the framing adds. `Connection: close` here is kept.
    package var headers: [HeaderLine]
    package var body: Body
    package var framing = Framing.length
    /// After a chunked body.
    package var trailers: [HeaderLine] = []
    /// From the end of the request to the first byte.
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
        /// These bytes and nothing else.
        case verbatim([UInt8])
        /// A status line, the headers, and header fields for ever.
        case endlessHeaders
    }

    package enum Body: Hashable, Sendable {
        case bytes([UInt8])
        /// One byte again and again; never held in memory whole.
        case repeated(UInt8, count: Int)
        /// As `repeated`, until the client goes away. Framed by chunks, or else by the end of the connection.
        case endless(UInt8)

        package static func text(_ text: String) -> Body { .bytes(Array(text.utf8)) }
    }

    /// How the end of the body is told. Answers to HEAD and with status 1xx, 204 and 304 have no body.
    package enum Framing: Hashable, Sendable {
        /// A true Content-Length.
        case length
        /// A Content-Length that is the body's with this added, or taken away: a lie.
        case wrongLength(by: Int)
        case chunked
        /// A good chunk with the body, then a chunk whose size is not a number.
        case malformedChunks
        /// Nothing is announced; the end of the connection is the end of the body.
        case untilClose
    }

    /// So many bytes, then a pause, and again.
    package struct Pace: Hashable, Sendable {
        package var bytes: Int
        package var interval: Duration
        /// Whether the head goes out at once.
        package var onlyBody: Bool

        package init(bytes: Int, every interval: Duration, onlyBody: Bool = false) {
            self.bytes = max(bytes, 1)
            self.interval = interval
            self.onlyBody = onlyBody
        }
    }

    /// What becomes of the connection, and where in the answer.
    package enum Ending: Hashable, Sendable {
        /// It serves the next request, unless a header or the client says otherwise.
        case open
        /// FIN, unannounced: at the `end` this makes a stale keep-alive connection, before it a truncated answer.
        case close(at: Position)
        /// RST.
        case reset(at: Position)
        /// Nothing more is sent, and the connection stays.
        case stall(at: Position)
    }

    package enum Position: Hashable, Sendable {
        /// After so many bytes of the answer, its head included.
        case bytes(Int)
        /// After the head and so many bytes of what follows (chunk sizes included).
        case body(Int)
        case end
    }
}

extension Answer {
    package static func status(_ status: Int, headers: [HeaderLine] = [], body: String = "") -> Answer {
        Answer(status, headers: headers, body: .text(body))
    }

    /// `429` or `503` and the seconds or the date after which to come back.
    package static func later(_ status: Int = 429, retryAfter: String) -> Answer {
        Answer(status, headers: [HeaderLine("Retry-After", retryAfter)])
    }

    /// The connection is reset before any byte of an answer.
    package static let reset = Answer.ending(.reset(at: .bytes(0)))

    /// The connection is closed before any byte of an answer.
    package static let close = Answer.ending(.close(at: .bytes(0)))

    /// No answer, ever; the connection stays open.
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

    /// Announces so many bytes more than it sends, then closes.
    package func truncated(by missing: Int) -> Answer {
        framed(.wrongLength(by: missing)).ending(.close(at: .end))
    }

    private func changed(_ change: (inout Answer) -> Void) -> Answer {
        var copy = self
        change(&copy)
        return copy
    }
}
