/// The receiver's answer to one request. `manner` says what comes of it.
package struct Answer: Hashable, Sendable {
    package var status: Int
    /// Written as they are, before those of the framing. `Connection: close` among them takes effect.
    package var headers: [HeaderLine]
    package var body: [UInt8]
    /// The number of bytes that the Content-Length announces and the receiver does not send. Above 0 the connection
    /// ends after the answer.
    package var missing = 0
    /// The time from the end of the request to the first byte.
    package var delay = Duration.zero
    package var manner = Manner.message

    package init(_ status: Int = 204, headers: [HeaderLine] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package enum Manner: Hashable, Sendable {
        case message
        /// No answer; the connection stays open.
        case silence
        /// A reset of the connection before any byte of an answer.
        case reset
        /// A close of the connection before any byte of an answer.
        case close
    }

    package static func status(_ status: Int, headers: [HeaderLine] = [], body: String = "") -> Answer {
        Answer(status, headers: headers, body: Array(body.utf8))
    }

    package static let silence = Answer().changed { $0.manner = .silence }

    package static let reset = Answer().changed { $0.manner = .reset }

    package static let close = Answer().changed { $0.manner = .close }

    package func delayed(_ delay: Duration) -> Answer { changed { $0.delay = delay } }

    /// Announces `missing` bytes more than are sent, then closes.
    package func truncated(by missing: Int) -> Answer { changed { $0.missing = missing } }

    private func changed(_ change: (inout Answer) -> Void) -> Answer {
        var copy = self
        change(&copy)
        return copy
    }

    /// Gives the answer, and returns what becomes of the connection.
    package func play(on connection: Connection, to request: ReceivedRequest) -> Connection.Ending {
        guard connection.pause(delay) else { return .close }
        switch manner {
        case .silence: return .stall
        case .reset: return .reset
        case .close: return .close
        case .message: break
        }
        let length = hasBody || missing > 0 ? [HeaderLine("Content-Length", "\(body.count + missing)")] : []
        let answersWithBody = hasBody && request.method != "HEAD"
        guard connection.send(head(on: connection, framing: length) + (answersWithBody ? body : [])) else {
            return .close
        }
        return missing > 0 || headers.first("Connection")?.lowercased() == "close" ? .close : .open
    }

    /// Whether a message of this status has a body.
    package var hasBody: Bool { status >= 200 && status != 204 && status != 304 }

    /// Returns the status line, with an empty reason phrase (RFC 9112 §4), and the fields, the empty line included.
    package func head(on connection: Connection, framing: [HeaderLine]) -> [UInt8] {
        let end: [HeaderLine] = connection.isLast && headers.first("Connection") == nil ? ["Connection: close"] : []
        let fields = (headers + end + framing).map { "\($0)\r\n" }.joined()
        return Array("HTTP/1.1 \(status) \r\n\(fields)\r\n".utf8)
    }
}
