import CCurl
import Policy

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One attempt by libcurl: its handle, what is sent, and what has come back.
///
/// libcurl holds a pointer to it until the handle is given up, and calls back on the thread that drives the transfer.
final class CurlTransfer {
    /// Why the transfer was ended from this side.
    private enum Stop {
        /// The answer's body is longer than anybody wants it.
        case full
        case headTooLong
        case bodyFile(BodyFileError)
    }

    let ticket: Int
    let handle: OpaquePointer
    /// Without its body, of which libcurl has a copy.
    private(set) var request: OutgoingRequest
    private let length: Int
    private let began = ContinuousClock.now
    private let file: OpenBodyFile?
    private let fields: UnsafeMutablePointer<ccurl_list>?
    private let words: UnsafeMutablePointer<CChar>
    private var sent = 0
    private var head = AnswerHead()
    private var body: [UInt8] = []
    private var stop: Stop?
    /// When a byte was last seen to move, and how many had.
    private var moved: ContinuousClock.Instant
    private var progress: Int64 = 0

    /// Throws why the attempt ends before it has begun.
    init(_ request: OutgoingRequest, ticket: Int) throws(CurlRefusal) {
        do throws(BodyFileError) {
            file = try request.bodyFile.map { file throws(BodyFileError) in try OpenBodyFile(file) }
        } catch {
            throw CurlRefusal(result: error.result)
        }
        guard let handle = ccurl_easy_init() else {
            throw CurlRefusal(result: .failure(.other, detail: "libcurl has no memory for a transfer"))
        }
        self.ticket = ticket
        self.request = request
        self.handle = handle
        moved = began
        fields = request.curlFields.reduce(nil) { list, field in ccurl_list_append(list, field) ?? list }
        words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        length = request.bodyFile?.length ?? request.body?.count ?? 0
        try CurlOptions(handle).set(request)
        self.request.body = nil
        setCallbacks()
    }

    deinit {
        ccurl_easy_cleanup(handle)
        ccurl_list_free(fields)
        words.deallocate()
    }

    private func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_PRIVATE, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA,
            CURLOPT_XFERINFODATA,
        ] { ccurl_set_pointer(handle, option, this) }
        ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, words)
        ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, fields)
        ccurl_set_data_function(handle, CURLOPT_READFUNCTION) { space, size, count, this in
            CurlTransfer.at(this).give(UnsafeMutableRawBufferPointer(start: space, count: size * count))
        }
        ccurl_set_seek_function(handle) { this, offset, origin in
            guard origin == SEEK_SET else { return 1 }
            CurlTransfer.at(this).sent = Int(offset)
            return 0
        }
        ccurl_set_data_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, this in
            CurlTransfer.at(this).takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_data_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, this in
            CurlTransfer.at(this).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        ccurl_set_progress_function(handle) { this, _, received, _, sent in
            CurlTransfer.at(this).note(received + sent)
            return 0
        }
        ccurl_set_number(handle, CURLOPT_NOPROGRESS, 0)
    }

    /// The transfer that a handle was made for.
    static func of(_ handle: OpaquePointer) -> CurlTransfer {
        var this: UnsafeMutableRawPointer?
        ccurl_get_pointer(handle, CURLINFO_PRIVATE, &this)
        return at(this)
    }

    private static func at(_ this: UnsafeMutableRawPointer?) -> CurlTransfer {
        Unmanaged<CurlTransfer>.fromOpaque(this!).takeUnretainedValue()
    }

    // MARK: - Called by libcurl

    private func give(_ space: UnsafeMutableRawBufferPointer) -> Int {
        do throws(BodyFileError) {
            let count = try file?.read(at: sent, into: space) ?? 0
            sent += count
            return count
        } catch {
            stop = .bodyFile(error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    private func takeLine(_ line: UnsafeRawBufferPointer) -> Int {
        moved = .now
        if head.take(line) { return line.count }
        stop = .headTooLong
        return 0
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = max(0, request.answerLimit) - body.count
        body += bytes.prefix(room)
        if bytes.count <= room { return bytes.count }
        stop = .full
        return 0
    }

    private func note(_ bytes: Int64) {
        if bytes == progress { return }
        progress = bytes
        moved = .now
    }

    // MARK: - Time

    /// When it will have been idle for too long; `nil` while it connects, for which libcurl keeps the time itself.
    var patience: ContinuousClock.Instant? {
        let connected = size(CURLINFO_PRETRANSFER_TIME_T)
        guard connected > 0 else { return nil }
        return max(moved, began + .microseconds(connected)) + request.timeouts.request
    }

    // MARK: - Ends

    func report(_ result: AttemptReport.Result) -> AttemptReport {
        AttemptReport(result: result, duration: began.duration(to: .now))
    }

    /// What a transfer that has ended with `code` came to.
    func result(_ code: Int32) -> AttemptReport.Result {
        switch stop {
        case .full:
            return .answer(answer)
        case .headTooLong:
            return .failure(
                .malformedAnswer, detail: "the answer's header fields are longer than \(AnswerHead.limit) bytes")
        case .bodyFile(let error):
            return error.result
        case nil:
            break
        }
        if code == 0 {
            if head.isComplete { return .answer(answer) }
            return .failure(.emptyAnswer, detail: "the answer has no final status")
        }
        if hasAnswered(code) { return .answer(answer) }
        switch number(CURLINFO_HTTP_CONNECTCODE) {
        // The proxy wants credentials: that is an answer, though libcurl keeps its fields to itself.
        case 407: return .answer(AttemptReport.Answer(status: 407))
        case 300...: return .failure(.proxy, detail: said(code))
        default: return .failure(NetworkError(failure(code)), detail: said(code))
        }
    }

    /// A server that needs no more of the body may answer and go before all of it is sent, and to libcurl that is an
    /// error. What the server said is the answer all the same: where all of it has come, and where it refuses.
    private func hasAnswered(_ code: Int32) -> Bool {
        guard [55, 56, 92].contains(code), head.isComplete else { return false }
        if wholeAnswer != nil { return true }
        return head.status >= 400 && size(CURLINFO_SIZE_UPLOAD_T) < length
    }

    /// What the server has said, where all of it is there. Over HTTP/2 libcurl may still wait until it may send the rest
    /// of a body that the server has no use for.
    var wholeAnswer: AttemptReport.Answer? {
        guard head.isComplete else { return nil }
        let announced = head.status == 204 ? 0 : answer.header("content-length").flatMap { Int64($0) }
        return announced == size(CURLINFO_SIZE_DOWNLOAD_T) ? answer : nil
    }

    private var answer: AttemptReport.Answer {
        AttemptReport.Answer(status: head.status, headers: head.headers, body: body)
    }

    private func failure(_ code: Int32) -> CurlFailure {
        // The name of a unix socket that is too long is no host's.
        CurlFailure(
            code: code == 6 && request.connection.unixSocket != nil ? 7 : code, words: String(cString: words),
            systemError: Int32(number(CURLINFO_OS_ERRNO)),
            hasStatus: head.isComplete, wasConnected: size(CURLINFO_PRETRANSFER_TIME_T) > 0,
            isProxys: isProxys(code))
    }

    private func isProxys(_ code: Int32) -> Bool {
        if number(CURLINFO_PROXY_SSL_VERIFYRESULT) != 0 { return true }
        switch request.connection.proxy {
        case .direct: return false
        // Every connection is to the proxy; what happens once it stands may be the destination's doing.
        case .url: return code == 7 || code == 28 && size(CURLINFO_CONNECT_TIME_T) == 0
        case .environment: return request.hasFailedAtProxy(String(cString: words))
        }
    }

    /// libcurl's words, or its general ones for the code where those might quote a URL with what is secret in it.
    private func said(_ code: Int32) -> String {
        let own = String(cString: words)
        return own.isEmpty || own.contains("://") || own.contains("@")
            ? String(cString: ccurl_easy_strerror(code)) : own
    }

    private func number(_ info: ccurl_info) -> Int {
        var number = 0
        ccurl_get_number(handle, info, &number)
        return number
    }

    private func size(_ info: ccurl_info) -> Int64 {
        var size: Int64 = 0
        ccurl_get_size(handle, info, &size)
        return size
    }
}

/// An attempt that ends before it has begun.
struct CurlRefusal: Error {
    var result: AttemptReport.Result
}
