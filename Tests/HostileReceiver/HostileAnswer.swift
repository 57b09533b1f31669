package import LoopbackReceiver

/// An answer with manners that `drainq receive` does not have: an honest answer with one property changed.
package struct HostileAnswer: Sendable {
    package var honest: Answer
    package var form = Form.message
    /// The fields after a chunked body.
    package var trailers: [HeaderLine] = []
    package var pace: Pace?
    /// The end of the connection; `nil` for that of the honest answer.
    package var ending: Ending?

    package init(_ honest: Answer) { self.honest = honest }

    package enum Form: Hashable, Sendable {
        case message
        case chunked
        /// These bytes, and nothing else.
        case verbatim([UInt8])
        /// A status line, the headers, and header fields without end.
        case endlessHeaders
        /// A head, and a body without end.
        case endlessBody(chunked: Bool)
    }

    /// A rate of sending: this many bytes, then a pause.
    package struct Pace: Hashable, Sendable {
        package var bytes: Int
        package var interval: Duration
        /// Whether the head is sent at once.
        package var onlyBody: Bool

        package init(bytes: Int, every interval: Duration, onlyBody: Bool = false) {
            self.bytes = bytes
            self.interval = interval
            self.onlyBody = onlyBody
        }
    }

    /// The end of the connection, and the position in the answer where it comes.
    package enum Ending: Hashable, Sendable {
        case close(at: Position)
        case reset(at: Position)
        case stall(at: Position)
    }

    package enum Position: Hashable, Sendable {
        /// After this many bytes of the answer, its head included.
        case bytes(Int)
        /// After the head and this many bytes behind it.
        case body(Int)
        case end
    }
}

extension HostileAnswer {
    package static func verbatim(_ text: String) -> HostileAnswer {
        HostileAnswer(Answer(200)).formed(.verbatim(Array(text.utf8)))
    }

    package static func endlessBody(chunked: Bool = true) -> HostileAnswer {
        HostileAnswer(Answer(200)).formed(.endlessBody(chunked: chunked))
    }

    package static let endlessHeaders = HostileAnswer(Answer(200)).formed(.endlessHeaders)

    package func formed(_ form: Form) -> HostileAnswer { changed { $0.form = form } }

    package func paced(_ pace: Pace) -> HostileAnswer { changed { $0.pace = pace } }

    package func ending(_ ending: Ending) -> HostileAnswer { changed { $0.ending = ending } }

    private func changed(_ change: (inout HostileAnswer) -> Void) -> HostileAnswer {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Answer {
    /// A chunked answer, with these fields after its body.
    package func chunked(trailers: [HeaderLine] = []) -> HostileAnswer {
        var answer = HostileAnswer(self).formed(.chunked)
        answer.trailers = trailers
        return answer
    }

    package func paced(_ pace: HostileAnswer.Pace) -> HostileAnswer { HostileAnswer(self).paced(pace) }

    package func ending(_ ending: HostileAnswer.Ending) -> HostileAnswer { HostileAnswer(self).ending(ending) }
}

extension Script { package static func always(_ answer: HostileAnswer) -> Script { playing { _ in answer.play } } }

extension HostileAnswer {
    /// Gives the answer, and returns what becomes of the connection.
    package func play(on connection: Connection, to request: ReceivedRequest) -> Connection.Ending {
        guard connection.pause(honest.delay) else { return .close }
        let head: [UInt8]
        var body = honest.body
        switch form {
        case .message where ending == nil && pace == nil: return honest.play(on: connection, to: request)
        case .message:
            let length = HeaderLine("Content-Length", "\(body.count)")
            head = honest.head(on: connection, framing: honest.hasBody ? [length] : [])
        case .verbatim(let bytes): (head, body) = (bytes, [])
        case .chunked:
            head = honest.head(on: connection, framing: ["Transfer-Encoding: chunked"])
            let end = trailers.map { "\($0)\r\n" }.joined()
            body = (body.isEmpty ? [] : chunk(body)) + Array("0\r\n\(end)\r\n".utf8)
        case .endlessHeaders:
            let fields = String(repeating: "X-Endless: 0123456789abcdef0123456789abcdef\r\n", count: 512)
            return sendEndlessly(
                honest.head(on: connection, framing: []).dropLast(2), Array(fields.utf8), on: connection)
        case .endlessBody(let chunked):
            let stretch = [UInt8](repeating: UInt8(ascii: "x"), count: 32_768)
            let framing: [HeaderLine] = chunked ? ["Transfer-Encoding: chunked"] : []
            let pattern = chunked ? chunk(stretch) : stretch
            return sendEndlessly(honest.head(on: connection, framing: framing), pattern, on: connection)
        }
        return send(head, body, on: connection) ? end(on: connection) : .close
    }

    private func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    private func sendEndlessly(_ head: some Collection<UInt8>, _ pattern: [UInt8], on connection: Connection)
        -> Connection.Ending
    {
        var goesOn = connection.send(head)
        while goesOn { goesOn = connection.send(pattern) }
        return .close
    }

    /// Sends the answer as far as its ending, at its pace. Returns false if the connection is broken.
    private func send(_ head: [UInt8], _ body: [UInt8], on connection: Connection) -> Bool {
        let bytes = (head + body).prefix(length(head: head.count))
        guard let pace else { return connection.send(bytes) }
        var sent = pace.onlyBody ? head.count : 0
        guard connection.send(bytes.prefix(sent)) else { return false }
        while sent < bytes.count {
            guard connection.send(bytes.dropFirst(sent).prefix(pace.bytes)) else { return false }
            sent += pace.bytes
            if sent < bytes.count, !connection.pause(pace.interval) { return false }
        }
        return true
    }

    private func length(head: Int) -> Int {
        switch ending {
        case nil: .max
        case .close(let position), .reset(let position), .stall(let position):
            switch position {
            case .bytes(let count): count
            case .body(let count): head + count
            case .end: .max
            }
        }
    }

    private func end(on connection: Connection) -> Connection.Ending {
        switch ending {
        case nil: honest.headers.contains("Connection: close") ? .close : .open
        case .close: .close
        case .reset: .reset
        case .stall: .stall
        }
    }
}
