import Policy

/// A reader of one payload.
struct FrameReader {
    private let payload: ArraySlice<UInt8>
    private var place: Int
    private let history: FrameHistory

    init(_ payload: ArraySlice<UInt8>, after history: FrameHistory) {
        self.payload = payload
        self.history = history
        place = payload.startIndex
    }

    private var left: Int { payload.endIndex - place }

    mutating func kind() throws(FrameError) -> UInt8 {
        guard left > 0 else { throw FrameError("a frame that ends early") }
        defer { place += 1 }
        return payload[place]
    }

    mutating func number() throws(FrameError) -> Int {
        guard left >= 8 else { throw FrameError("a frame that ends early") }
        let number = payload.withUnsafeBytes { bytes in
            bytes.loadUnaligned(fromByteOffset: place - payload.startIndex, as: Int64.self)
        }
        place += 8
        return Int(Int64(bigEndian: number))
    }

    mutating func data() throws(FrameError) -> ArraySlice<UInt8> {
        let length = try number()
        guard length >= 0, length <= left else { throw FrameError("a field of \(length) bytes") }
        defer { place += length }
        return payload[place..<place + length]
    }

    mutating func text() throws(FrameError) -> String {
        guard let text = String(validUTF8: try data()) else { throw FrameError("text that is not UTF-8") }
        return text
    }

    mutating func duration() throws(FrameError) -> Duration {
        let seconds = try number()
        let attoseconds = try number()
        guard attoseconds.magnitude < 1_000_000_000_000_000_000 else {
            throw FrameError("a duration of \(attoseconds) attoseconds")
        }
        return Duration(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
    }

    mutating func headers() throws(FrameError) -> [HeaderField] {
        let count = try number()
        // Every field that no earlier frame has takes at least 16 bytes, so an absurd count allocates nothing.
        guard count >= 0, count <= history.fields.count + left / 16 else { throw FrameError("\(count) header fields") }
        var headers: [HeaderField] = []
        headers.reserveCapacity(count)
        for index in 0..<count {
            let kind = try kind()
            if kind == 0 {
                headers.append(HeaderField(name: try text(), value: try text()))
                continue
            }
            guard kind <= 2, index < history.fields.count else { throw FrameError("a field of unknown kind \(kind)") }
            var field = history.fields[index]
            if kind == 1 { field.value = try text() }
            headers.append(field)
        }
        return headers
    }

    mutating func request() throws(FrameError) -> OutgoingRequest {
        let headers = try headers()
        let own = try isThere() ? RequestBase(try base()) : nil
        guard let base = own ?? history.base else { throw FrameError("an attempt without a base") }
        var request = OutgoingRequest(base, headers: headers)
        request.body = try isThere() ? [UInt8](try data()) : nil
        request.bodyPart = try isThere() ? try bodyPart() : nil
        (request.freshConnection, request.needsHTTP1) = (try isThere(), try isThere())
        return request
    }

    private mutating func base() throws(FrameError) -> RequestBase.Values {
        var base = RequestBase.Values(method: try text(), url: try text())
        base.bodyFile = try isThere() ? try bodyFile() : nil
        base.timeouts = Timeouts(connect: try duration(), request: try duration(), total: try duration())
        base.answerLimit = try number()
        guard let transport = Transport(rawValue: try text()) else { throw FrameError("an unknown transport") }
        base.transport = transport
        base.connection = try connection()
        guard let redirects = Redirects(rawValue: try text()) else { throw FrameError("unknown redirects") }
        base.redirects = redirects
        return base
    }

    mutating func isThere() throws(FrameError) -> Bool {
        switch try kind() {
        case 0: false
        case 1: true
        case let kind: throw FrameError("a field of unknown kind \(kind)")
        }
    }

    private mutating func bodyFile() throws(FrameError) -> BodyFile {
        BodyFile(
            path: try text(), length: try number(), modified: Int64(try number()),
            inode: UInt64(UInt(bitPattern: try number())))
    }

    /// Reads the part without its file, whose descriptor comes beside the frame.
    private mutating func bodyPart() throws(FrameError) -> FilePart {
        let (offset, length) = (try number(), try number())
        guard offset >= 0, length >= 0 else { throw FrameError("a part of a file at \(offset)") }
        return FilePart(
            file: nil, offset: offset, length: length, checksumBefore: UInt32(truncatingIfNeeded: try number()),
            checksum: UInt32(truncatingIfNeeded: try number()))
    }

    private mutating func connection() throws(FrameError) -> ConnectionOptions {
        let proxy: ConnectionOptions.Proxy
        switch try kind() {
        case 0: proxy = .environment
        case 1: proxy = .direct
        case 2: proxy = .url(try text())
        case let kind: throw FrameError("a proxy of unknown kind \(kind)")
        }
        let caFile = try isThere() ? try text() : nil
        let client = try isThere() ? try clientCertificate() : nil
        return ConnectionOptions(
            proxy: proxy, caFile: caFile, clientCertificate: client, unixSocket: try isThere() ? try text() : nil)
    }

    private mutating func clientCertificate() throws(FrameError) -> ConnectionOptions.ClientCertificate {
        ConnectionOptions.ClientCertificate(
            certificateFile: try text(), keyFile: try isThere() ? try text() : nil,
            passphrase: try isThere() ? try text() : nil)
    }

    mutating func report() throws(FrameError) -> AttemptReport {
        let (duration, isUnread, hasBrokenStream) = (try duration(), try isThere(), try isThere())
        let result: AttemptReport.Result
        switch try kind() {
        case 0:
            let name = try text()
            guard let error = NetworkError(rawValue: name) else { throw FrameError("an error of unknown name") }
            result = .failure(error, detail: try text())
        case 1:
            result = .answer(
                AttemptReport.Answer(
                    status: try number(), headers: try headers(), body: [UInt8](try data()), isCut: try isThere()))
        case let kind:
            throw FrameError("a report of unknown kind \(kind)")
        }
        return AttemptReport(
            result: result, duration: duration, isUnread: isUnread, hasBrokenStream: hasBrokenStream)
    }

    func finish() throws(FrameError) {
        guard left == 0 else { throw FrameError("\(left) bytes too many") }
    }
}
