/// One HTTP request as it is to go out: complete, with nothing left to look up.
package struct OutgoingRequest: Hashable, Sendable {
    package var method: String
    /// Absolute, `http` or `https`, percent-encoded.
    package var url: String
    package var headers: [HeaderField]
    /// `nil` sends no body at all; an empty body is sent with a Content-Length of 0.
    package var body: [UInt8]?
    package var timeouts: Timeouts
    /// How many bytes of the answer's body are kept; a longer answer is cut there and the transfer ended.
    package var answerLimit: Int

    package init(
        method: String, url: String, headers: [HeaderField] = [], body: [UInt8]? = nil, timeouts: Timeouts = Timeouts(),
        answerLimit: Int = 65_536
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeouts = timeouts
        self.answerLimit = answerLimit
    }
}

/// How long an attempt may take.
package struct Timeouts: Hashable, Sendable {
    /// Until the connection stands.
    package var connect: Duration
    /// Without a byte in either direction.
    package var request: Duration
    /// From start to end, whatever happens.
    package var total: Duration

    package init(connect: Duration = .seconds(10), request: Duration = .seconds(30), total: Duration = .seconds(120)) {
        self.connect = connect
        self.request = request
        self.total = total
    }
}
