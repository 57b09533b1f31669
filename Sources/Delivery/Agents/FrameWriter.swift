import CSystem
import Policy

/// A writer of frames, one behind the other, into a buffer that is used again once its frames have left.
struct FrameWriter {
    /// The frames and room for more. An array that grows field by field takes three times as long.
    private(set) var bytes: [UInt8] = []
    /// The number of bytes written.
    private(set) var count = 0

    /// The length in bytes up to which frames share a buffer, and a buffer is used again.
    static let sharedLength = 1 << 16

    /// Writes a frame behind the frames of the history. Returns false, and writes nothing, if the payload would exceed
    /// `longest` bytes.
    mutating func append(
        _ frame: Frame, after history: inout FrameHistory, longest: Int = Frame.longestPayload
    ) -> Bool {
        let start = count
        reserve(frame.room)
        count += 4
        put(frame, after: history)
        let length = count - start - 4
        guard length <= longest else {
            count = start
            if start == 0 { clear() }
            return false
        }
        for place in 0..<4 { bytes[start + place] = UInt8(truncatingIfNeeded: length >> (8 * (3 - place))) }
        history.note(frame)
        return true
    }

    /// Removes the frames, which have left.
    mutating func clear() {
        count = 0
        if bytes.count > Self.sharedLength { bytes = [] }
    }

    private mutating func put(_ frame: Frame, after history: FrameHistory) {
        switch frame {
        case .setup(let concurrency):
            put(kind: 1)
            put(concurrency)
        case .attempt(let ticket, let request):
            put(kind: 2)
            put(ticket)
            put(request, after: history)
        case .cancel(let ticket):
            put(kind: 3)
            put(ticket)
        case .ready(let version):
            put(kind: 4)
            put(version)
        case .report(let ticket, let report):
            put(kind: 5)
            put(ticket)
            put(report, after: history)
        case .opened(let defect):
            put(kind: 6)
            put(defect) { writer, defect in
                writer.put(defect.reason)
                writer.put(kind: defect.isPassing ? 1 : 0)
            }
        }
    }

    /// Makes room for this many more bytes.
    private mutating func reserve(_ more: Int) {
        let missing = count + more - bytes.count
        if missing > 0 { bytes += [UInt8](repeating: 0, count: max(missing, bytes.count)) }
    }

    private mutating func put(kind: UInt8) {
        reserve(1)
        bytes[count] = kind
        count += 1
    }

    private mutating func put(_ number: Int) {
        reserve(8)
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: Int64(number).bigEndian, toByteOffset: count, as: Int64.self) }
        count += 8
    }

    private mutating func put(_ data: some Collection<UInt8>) {
        let length = data.count
        put(length)
        reserve(length)
        bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[count...]).copyBytes(from: data) }
        count += length
    }

    private mutating func put(_ text: String) { put(text.utf8) }

    private mutating func put(_ duration: Duration) {
        let (seconds, attoseconds) = duration.boundedComponents
        put(Int(seconds))
        put(Int(attoseconds))
    }

    private mutating func put(_ headers: [HeaderField], after history: FrameHistory) {
        put(headers.count)
        for (index, header) in headers.enumerated() {
            let former = index < history.fields.count ? history.fields[index] : nil
            guard let former, former.name.hasBytes(of: header.name) else {
                put(kind: 0)
                put(header.name)
                put(header.value)
                continue
            }
            if former.value.hasBytes(of: header.value) {
                put(kind: 2)
            } else {
                put(kind: 1)
                put(header.value)
            }
        }
    }

    private mutating func put(_ request: OutgoingRequest, after history: FrameHistory) {
        put(request.headers, after: history)
        put(history.base === request.base ? nil : request.base.values) { writer, base in writer.put(base) }
        put(request.body) { writer, body in writer.put(body) }
        put(request.bodyPart) { writer, part in
            writer.put(part.offset)
            writer.put(part.length)
            writer.put(Int(part.checksumBefore))
            writer.put(Int(part.checksum))
        }
        put(kind: request.freshConnection ? 1 : 0)
        put(kind: request.needsHTTP1 ? 1 : 0)
    }

    private mutating func put(_ base: RequestBase.Values) {
        put(base.method)
        put(base.url)
        put(base.bodyFile) { writer, file in
            writer.put(file.path)
            writer.put(file.length)
            writer.put(Int(clamping: file.modified))
            writer.put(Int(bitPattern: UInt(file.inode)))
        }
        put(base.timeouts.connect)
        put(base.timeouts.request)
        put(base.timeouts.total)
        put(base.answerLimit)
        put(base.transport.rawValue)
        put(base.connection)
        put(base.redirects.rawValue)
    }

    private mutating func put<Value>(_ value: Value?, _ put: (inout FrameWriter, Value) -> Void) {
        if let value {
            self.put(kind: 1)
            put(&self, value)
        } else {
            self.put(kind: 0)
        }
    }

    private mutating func put(_ text: String?) {
        put(text) { writer, text in writer.put(text.utf8) }
    }

    private mutating func put(_ connection: ConnectionOptions) {
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

    private mutating func put(_ report: AttemptReport, after history: FrameHistory) {
        put(report.duration)
        put(kind: report.isUnread ? 1 : 0)
        put(kind: report.hasBrokenStream ? 1 : 0)
        switch report.result {
        case .answer(let answer):
            put(kind: 1)
            put(answer.status)
            put(answer.headers, after: history)
            put(answer.body)
            put(kind: answer.isCut ? 1 : 0)
        case .failure(let error, let detail):
            put(kind: 0)
            put(error.rawValue)
            put(detail)
        }
    }
}
