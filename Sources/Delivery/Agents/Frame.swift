package import Policy

/// A message between a run and a delivery agent, and its bytes.
///
/// On the wire: the payload's length (4 bytes, big-endian), then the payload: one byte for the kind, then the fields in
/// order. Numbers are 8 bytes, big-endian; strings (UTF-8) and bodies are preceded by their length. An agent first
/// sends its version, because it may be of another release. Every field is checked, because the other end may send
/// garbage.
package enum Frame: Hashable, Sendable {
    /// Run to agent, first: upper bound on the attempts in flight.
    case setup(concurrency: Int)
    /// Run to agent: make this attempt and report it once. The descriptor of a `bodyPart` goes with the first byte.
    case attempt(ticket: Int, OutgoingRequest)
    /// Run to agent: end this attempt now and report it, unless already reported.
    case cancel(ticket: Int)
    /// Agent to run, first: the agent runs and reads frames of this version.
    case ready(version: Int = Frame.version)
    /// Agent to run, after `setup`: why its transport cannot be used on this machine; `nil` if it can.
    case opened(defect: UnavailableTransport?)
    /// Agent to run: the end of an attempt.
    case report(ticket: Int, AttemptReport)

    /// The version of these frames and of what an agent writes to descriptor 1.
    package static let version = 7

    /// Upper bound on a payload, in bytes. A larger request is never given to an agent.
    package static let longestPayload = 256 << 20

    /// The whole frame; `nil` if its payload would exceed `longestPayload`.
    package var bytes: [UInt8]? {
        var writer = FrameWriter(room: room)
        switch self {
        case .setup(let concurrency):
            writer.put(kind: 1)
            writer.put(concurrency)
        case .attempt(let ticket, let request):
            writer.put(kind: 2)
            writer.put(ticket)
            writer.put(request)
        case .cancel(let ticket):
            writer.put(kind: 3)
            writer.put(ticket)
        case .ready(let version):
            writer.put(kind: 4)
            writer.put(version)
        case .report(let ticket, let report):
            writer.put(kind: 5)
            writer.put(ticket)
            writer.put(report)
        case .opened(let defect):
            writer.put(kind: 6)
            writer.put(defect) { writer, defect in
                writer.put(defect.reason)
                writer.put(kind: defect.isPassing ? 1 : 0)
            }
        }
        return writer.sealed(longest: Frame.longestPayload)
    }

    /// The length that its bytes rarely exceed.
    private var room: Int {
        if case .attempt(_, let request) = self { 1024 + (request.body?.count ?? 0) } else { 512 }
    }

    /// Reads one payload, which must contain nothing more.
    package init(payload: ArraySlice<UInt8>) throws(FrameError) {
        var reader = FrameReader(payload)
        switch try reader.kind() {
        case 1: self = .setup(concurrency: try reader.number())
        case 2: self = .attempt(ticket: try reader.number(), try reader.request())
        case 3: self = .cancel(ticket: try reader.number())
        case 4: self = .ready(version: try reader.number())
        case 5: self = .report(ticket: try reader.number(), try reader.report())
        case 6:
            self = .opened(
                defect: try reader.isThere()
                    ? UnavailableTransport(reason: try reader.text(), isPassing: try reader.isThere()) : nil)
        case let kind: throw FrameError("a frame of unknown kind \(kind)")
        }
        try reader.finish()
    }
}

/// The error in received bytes.
package struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A buffer that cuts the bytes from a socket into frames.
package struct FrameBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0
    private let longest: Int

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
        return try Frame(payload: payload)
    }
}

private struct FrameWriter {
    /// The frame and room for more. An array that grows field by field takes three times as long.
    private var bytes: [UInt8]
    /// The number of bytes written, with the four of the length.
    private var count = 4

    init(room: Int) {
        bytes = [UInt8](repeating: 0, count: room)
    }

    /// Makes room for this many more bytes.
    private mutating func reserve(_ more: Int) {
        let missing = count + more - bytes.count
        if missing > 0 { bytes.append(contentsOf: repeatElement(0, count: max(missing, bytes.count))) }
    }

    mutating func put(kind: UInt8) {
        reserve(1)
        bytes[count] = kind
        count += 1
    }

    mutating func put(_ number: Int) {
        reserve(8)
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: Int64(number).bigEndian, toByteOffset: count, as: Int64.self) }
        count += 8
    }

    mutating func put(_ data: some Collection<UInt8>) {
        let length = data.count
        put(length)
        reserve(length)
        bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[count...]).copyBytes(from: data) }
        count += length
    }

    mutating func put(_ text: String) { put(text.utf8) }

    mutating func put(_ duration: Duration) {
        let (seconds, attoseconds) = duration.boundedComponents
        put(Int(seconds))
        put(Int(attoseconds))
    }

    mutating func put(_ headers: [HeaderField]) {
        put(headers.count)
        for header in headers {
            put(header.name)
            put(header.value)
        }
    }

    mutating func put(_ request: OutgoingRequest) {
        put(request.method)
        put(request.url)
        put(request.headers)
        put(request.timeouts.connect)
        put(request.timeouts.request)
        put(request.timeouts.total)
        put(request.answerLimit)
        put(request.body) { writer, body in writer.put(body) }
        put(request.bodyFile) { writer, file in
            writer.put(file.path)
            writer.put(file.length)
            writer.put(Int(clamping: file.modified))
            writer.put(Int(bitPattern: UInt(file.inode)))
        }
        put(request.bodyPart) { writer, part in
            writer.put(part.offset)
            writer.put(part.length)
            writer.put(Int(part.checksumBefore))
            writer.put(Int(part.checksum))
        }
        put(request.transport.rawValue)
        put(request.connection)
        put(request.redirects.rawValue)
        put(kind: request.freshConnection ? 1 : 0)
        put(kind: request.needsHTTP1 ? 1 : 0)
    }

    mutating func put<Value>(_ value: Value?, _ put: (inout FrameWriter, Value) -> Void) {
        if let value {
            self.put(kind: 1)
            put(&self, value)
        } else {
            self.put(kind: 0)
        }
    }

    mutating func put(_ text: String?) {
        put(text) { writer, text in writer.put(text.utf8) }
    }

    mutating func put(_ connection: ConnectionOptions) {
        switch connection.proxy {
        case .environment: put(kind: 0)
        case .direct: put(kind: 1)
        case .url(let url):
            put(kind: 2)
            put(url.utf8)
        }
        put(connection.caFile)
        put(connection.clientCertificate) { writer, client in
            writer.put(client.certificateFile.utf8)
            writer.put(client.keyFile)
            writer.put(client.passphrase)
        }
        put(connection.unixSocket)
    }

    mutating func put(_ report: AttemptReport) {
        put(report.duration)
        put(kind: report.isUnread ? 1 : 0)
        put(kind: report.hasBrokenStream ? 1 : 0)
        switch report.result {
        case .answer(let answer):
            put(kind: 1)
            put(answer.status)
            put(answer.headers)
            put(answer.body)
            put(kind: answer.isCut ? 1 : 0)
        case .failure(let error, let detail):
            put(kind: 0)
            put(error.rawValue)
            put(detail)
        }
    }

    consuming func sealed(longest: Int) -> [UInt8]? {
        let length = count - 4
        guard length <= longest else { return nil }
        bytes.removeLast(bytes.count - count)
        for place in 0..<4 { bytes[place] = UInt8(truncatingIfNeeded: length >> (8 * (3 - place))) }
        return bytes
    }
}

private struct FrameReader {
    private let payload: ArraySlice<UInt8>
    private var place: Int

    init(_ payload: ArraySlice<UInt8>) {
        self.payload = payload
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
        // Every field takes at least 16 bytes, so an absurd count allocates nothing.
        guard count >= 0, count <= left / 16 else { throw FrameError("\(count) header fields") }
        var headers: [HeaderField] = []
        headers.reserveCapacity(count)
        for _ in 0..<count { headers.append(HeaderField(name: try text(), value: try text())) }
        return headers
    }

    mutating func request() throws(FrameError) -> OutgoingRequest {
        var request = OutgoingRequest(method: try text(), url: try text())
        request.headers = try headers()
        request.timeouts = Timeouts(connect: try duration(), request: try duration(), total: try duration())
        request.answerLimit = try number()
        request.body = try isThere() ? [UInt8](try data()) : nil
        request.bodyFile = try isThere() ? try bodyFile() : nil
        request.bodyPart = try isThere() ? try bodyPart() : nil
        guard let transport = Transport(rawValue: try text()) else { throw FrameError("an unknown transport") }
        request.transport = transport
        request.connection = try connection()
        guard let redirects = Redirects(rawValue: try text()) else { throw FrameError("unknown redirects") }
        request.redirects = redirects
        (request.freshConnection, request.needsHTTP1) = (try isThere(), try isThere())
        return request
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
