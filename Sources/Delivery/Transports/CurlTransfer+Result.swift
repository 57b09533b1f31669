import CCurl
import Policy

extension CurlTransfer {
    /// Returns the result of a transfer that ended with `code`, a CURLcode.
    func result(_ code: Int32) -> AttemptReport.Result {
        switch stop {
        case .full: return answersPart ?? .answer(answer)
        case .head(.noStatus):
            return .failure(.malformedAnswer, detail: "the answer does not begin with a status line")
        case .head(.tooLong):
            return decided
                ?? .failure(
                    .malformedAnswer, detail: "the answer's header fields are longer than \(AnswerHead.limit) bytes")
        case .bodyFile(let error): return error.result
        case .early:
            return .failure(.malformedAnswer, detail: "the server spoke before the request was sent")
        case .repeated:
            return .failure(.reset, detail: "the connection or its stream ended after the request was sent")
        case .longTunnel: return proxyRefusal ?? .failure(.proxy, detail: "the proxy's answer to CONNECT does not end")
        case .endless:
            return decided ?? .failure(.malformedAnswer, detail: "the server sends without end, and no answer")
        case .stale, nil: break
        }
        if mayAnswerLeftovers {
            let status = "status \(head.status), with which the server closed a kept connection"
            return .failure(.malformedAnswer, detail: "\(status), may be about what was sent on it before")
        }
        if let answersPart { return answersPart }
        if code == 0 {
            if head.isComplete { return .answer(answer) }
            return .failure(.emptyAnswer, detail: "the answer has no final status")
        }
        if let decided { return decided }
        if [16, 55, 56, 92].contains(code), let wholeAnswer { return .answer(wholeAnswer) }
        if let proxyRefusal { return proxyRefusal }
        if number(CURLINFO_HTTP_CONNECTCODE) >= 300 { return .failure(.proxy, detail: said(code)) }
        return .failure(NetworkError(failure(code)), detail: said(code))
    }

    /// The answer to a transfer that is ended from outside, because it was idle or took too long; `nil` if it has none.
    var answerSoFar: AttemptReport.Result? {
        if mayAnswerLeftovers || answersPart != nil { return nil }
        return decided ?? wholeAnswer.map { .answer($0) }
    }

    /// The failure of an attempt whose 2xx came before the whole request had left; `nil` for every other answer.
    ///
    /// The server cannot have processed bytes that it never received. Over HTTP/2 the answer counts: a server that
    /// needs no more of the request says so by ending the stream without an error (RFC 9113 §8.1).
    private var answersPart: AttemptReport.Result? {
        let sent = size(CURLINFO_SIZE_UPLOAD_T)
        guard head.version < 2, head.isComplete, head.status < 300, sent < length else { return nil }
        return .failure(
            .truncated, detail: "the answer came when \(sent) of \(length) bytes of the body had been sent")
    }

    /// The answer by its status alone, if the rest of it is cut, endless or undecodable; `nil` for a 2xx.
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

    private var answer: AttemptReport.Answer {
        let isCut = if case .full = stop { true } else { false }
        return AttemptReport.Answer(status: head.status, headers: head.headers, body: body, isCut: isCut)
    }

    /// Whether the answer may be about bytes that an earlier request left on the connection.
    ///
    /// A server that does not read a request's body takes it for the next request, refuses that as no HTTP or as an
    /// unknown method, and closes. The next attempt uses a fresh connection, on which the same answer counts.
    private var mayAnswerLeftovers: Bool {
        guard isOnKeptConnection, head.isComplete, [400, 405, 414, 431, 501, 505].contains(head.status) else {
            return false
        }
        return head.headers.contains { field in
            field.name.lowercased() == "connection" && field.value.lowercased().contains("close")
        }
    }

    /// The answer of a proxy that requires credentials. libcurl does not give its fields.
    private var proxyRefusal: AttemptReport.Result? {
        number(CURLINFO_HTTP_CONNECTCODE) == 407 ? .answer(AttemptReport.Answer(status: 407)) : nil
    }

    private func failure(_ code: Int32) -> CurlFailure {
        // libcurl reports a path of a unix socket that is too long as an unresolved host.
        CurlFailure(
            code: code == 6 && request.connection.unixSocket != nil ? 7 : code,
            errorMessage: String(cString: errorMessage),
            systemError: Int32(number(CURLINFO_OS_ERRNO)),
            hasStatus: head.isComplete, wasConnected: size(CURLINFO_PRETRANSFER_TIME_T) > 0,
            isFromProxy: isFromProxy(code))
    }

    private func isFromProxy(_ code: Int32) -> Bool {
        if number(CURLINFO_PROXY_SSL_VERIFYRESULT) != 0 { return true }
        switch request.connection.proxy {
        case .direct: return false
        // Every connection goes to the proxy; later failures may be the destination's.
        case .url: return code == 7 || code == 28 && size(CURLINFO_CONNECT_TIME_T) == 0
        case .environment: return request.hasFailedAtProxy(String(cString: errorMessage))
        }
    }

    /// Returns libcurl's message, or its general text for the code if the message might quote a URL with a secret.
    private func said(_ code: Int32) -> String {
        let own = String(cString: errorMessage)
        return own.isEmpty || own.contains("://") || own.contains("@")
            ? String(cString: ccurl_easy_strerror(code)) : own
    }
}
