import CCurl
import CSystem
import Policy

extension CurlTransfer {
    func report(_ result: AttemptReport.Result) -> AttemptReport {
        let isUnread = if case .early = stop { true } else { false }
        return AttemptReport(
            result: result.decoded(upTo: request.answerLimit), duration: began.duration(to: .now), isUnread: isUnread,
            hasBrokenStream: hasBrokenStream)
    }

    /// Returns the result of a transfer that ended with `code`, a CURLcode.
    func result(_ code: Int32) -> AttemptReport.Result {
        hasBrokenStream = version == 2 && hasBegun && wholeAnswer == nil && isEndOfPeer(code)
        switch stop {
        case .full: return answersPart(code) ?? .answer(answer)
        case .head(let defect):
            return decided ?? .failure(.malformedAnswer, detail: defect.detail(over: version))
        case .bodyFile(let error): return error.result
        case .early:
            return .failure(
                .malformedAnswer, detail: "the server has answered on a new connection before the request was sent")
        case .repeated:
            return .failure(.reset, detail: "the connection or its stream ended after the request was sent")
        case .longTunnel: return proxyRefusal ?? .failure(.proxy, detail: "the proxy's answer to CONNECT does not end")
        case .endless:
            return decided ?? .failure(.malformedAnswer, detail: "the server sends without end, and no answer")
        case .stale, .stray, .lacksHTTP1, nil: break
        }
        if mayAnswerLeftovers {
            let status = "status \(head.status), with which the server closed a kept connection"
            return .failure(.malformedAnswer, detail: "\(status), may be about what was sent on it before")
        }
        if let part = answersPart(code) { return part }
        if code == 0 {
            if head.isComplete { return .answer(answer) }
            return .failure(.emptyAnswer, detail: "the answer has no final status")
        }
        if let wholeAnswer, [16, 55, 56, 92].contains(code) { return .answer(wholeAnswer) }
        if let decided { return decided }
        // libcurl has lost the body: it drops what it has read together with the end of the stream.
        if head.isComplete, endsWithoutError(code) { return .answer(answer(isCut: true)) }
        if let proxyRefusal { return proxyRefusal }
        let failure = failure(code)
        return .failure(NetworkError(failure), detail: said(failure))
    }

    /// Returns whether the server ended the transfer. Time-outs (28), a lack of memory (27) and a body that cannot be
    /// decoded (61) end it on this side. libcurl repeats refused and lost requests alike, and does not tell which.
    private func isEndOfPeer(_ code: Int32) -> Bool {
        switch stop {
        case .repeated: true
        case nil: code == 0 ? !head.isComplete : ![27, 28, 61].contains(code)
        default: false
        }
    }

    /// Returns whether the server closed its kept connection under the request, and sent nothing.
    func hasLostKeptConnection(_ code: Int32) -> Bool {
        isOnKeptConnection && head.status == 0 && isEndOfPeer(code)
    }

    /// The result of a transfer ended from outside, because it was idle or took too long, by its answer; `nil` if there
    /// is no usable answer.
    var resultSoFar: AttemptReport.Result? {
        if mayAnswerLeftovers { return nil }
        return answersPart(nil) ?? decided ?? wholeAnswer.map { .answer($0) }
    }

    /// Returns the failure of an attempt whose 2xx came before the whole request had left; `nil` for every other
    /// answer. `code` is libcurl's result, `nil` if this side ends the transfer.
    ///
    /// The server cannot have processed bytes that it never received. Over HTTP/2 the answer counts if the server ended
    /// the stream without an error, and so declared the rest of the request unneeded (RFC 9113 §8.1).
    private func answersPart(_ code: Int32?) -> AttemptReport.Result? {
        let sent = size(CURLINFO_SIZE_UPLOAD_T)
        guard head.isComplete, head.status < 300, sent < length else { return nil }
        if version == 2, endsWithoutError(code) { return nil }
        return .failure(
            .truncated, detail: "the answer came when \(sent) of \(length) bytes of the body had been sent")
    }

    /// Returns whether the server ended the HTTP/2 stream without an error. If the server ends the stream by RST_STREAM
    /// while libcurl has more to send, libcurl reports an error of the stream, with words only if there was an error.
    private func endsWithoutError(_ code: Int32?) -> Bool { code == 0 || code == 92 && errorMessage[0] == 0 }

    /// The answer by its status alone, if the rest is cut, endless or undecodable; `nil` for a 2xx.
    ///
    /// A refusal or a redirect is a decision. A 2xx counts only as a whole: a server that fails midway cuts its answer.
    private var decided: AttemptReport.Result? {
        head.isComplete && head.status >= 300 ? .answer(answer) : nil
    }

    /// The answer, if all of it has arrived. The server may answer and close before it has read the whole request, and
    /// over HTTP/2 libcurl may wait to send the rest of a body that the server does not want.
    private var wholeAnswer: AttemptReport.Answer? {
        guard head.isComplete else { return nil }
        let announced = head.status == 204 ? 0 : answer.header("content-length").flatMap { Int64($0) }
        return announced == size(CURLINFO_SIZE_DOWNLOAD_T) ? answer : nil
    }

    private var answer: AttemptReport.Answer { answer(isCut: isFull) }

    private var isFull: Bool { if case .full = stop { true } else { false } }

    private func answer(isCut: Bool) -> AttemptReport.Answer {
        AttemptReport.Answer(status: head.status, headers: head.headers, body: body, isCut: isCut)
    }

    /// Whether the answer may be about bytes left on the connection by an earlier request.
    ///
    /// A server that does not read a request's body takes the body for the next request, refuses this request as no
    /// HTTP or as an unknown method, and closes. The next attempt uses a fresh connection: there the same answer
    /// counts.
    private var mayAnswerLeftovers: Bool {
        guard isOnKeptConnection, head.isComplete, [400, 405, 414, 431, 501, 505].contains(head.status) else {
            return false
        }
        return head.headers.contains { field in
            field.name.lowercased() == "connection" && field.value.lowercased().contains("close")
        }
    }

    /// The answer of a proxy requiring credentials. libcurl does not give its fields.
    private var proxyRefusal: AttemptReport.Result? {
        number(CURLINFO_HTTP_CONNECTCODE) == 407 ? .answer(AttemptReport.Answer(status: 407)) : nil
    }

    private func failure(_ code: Int32) -> CurlFailure {
        // libcurl reports too long a path of a unix socket as an unresolved host.
        let isLongPath = code == 6 && request.connection.unixSocket != nil
        let wasConnected = size(CURLINFO_PRETRANSFER_TIME_T) > 0
        return CurlFailure(
            code: isLongPath ? 7 : code, errorMessage: String(cString: errorMessage),
            systemError: isLongPath
                ? ENAMETOOLONG
                : CurlFailure.systemError(
                    Int32(number(CURLINFO_OS_ERRNO)), ofSocket: owned.socketError.pointee, wasConnected: wasConnected),
            hasStatus: head.isComplete, wasConnected: wasConnected,
            proxy: request.proxy, tunnelStatus: number(CURLINFO_HTTP_CONNECTCODE), alert: alert)
    }

    /// Returns the words about a failure, with the path of an unreachable unix socket.
    private func said(_ failure: CurlFailure) -> String {
        if failure.code == 7, let path = request.connection.unixSocket {
            return "cannot connect to the unix socket '\(path)': \(Errno(failure.systemError))"
        }
        return failure.words(general: String(cString: ccurl_easy_strerror(failure.code)))
    }

    // MARK: - What libcurl knows

    func number(_ info: ccurl_info) -> Int {
        var number = 0
        ccurl_get_number(handle, info, &number)
        return number
    }

    func size(_ info: ccurl_info) -> Int64 {
        var size: Int64 = 0
        ccurl_get_size(handle, info, &size)
        return size
    }
}
