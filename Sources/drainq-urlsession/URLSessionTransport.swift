import CFoundationCurl
import Delivery
@preconcurrency import Dispatch
import Foundation
import Policy
import Synchronization

#if os(Linux)
    import FoundationNetworking
#endif

/// Makes attempts by Foundation's URLSession. No other Swift file uses URLSession.
///
/// Reports every started attempt once: with its answer, with its failure, or as cancelled. On Linux, `FoundationCurl.c`
/// stands between Foundation and libcurl: each request has an HTTP/1.1 connection and a connect time-out of its own,
/// and answers and errors arrive here as libcurl read them. These differences from libcurl remain on Linux:
/// - A timer here keeps `timeouts.request`, to the millisecond, from the last byte that moved. A request without a body
///   shows no sign of a connection, so its time begins with `timeouts.connect` added.
/// - A GET with a body, IPv6 addresses as hosts, body files, and connection options are refused.
/// - No body and an empty body are the same: GET sends neither body nor Content-Length, other methods Content-Length 0.
/// - A POST with a body and no Content-Type gets `application/x-www-form-urlencoded`.
/// - Header fields of one name in a request become one field, joined by commas; names are sent capitalised.
final class URLSessionTransport: AgentTransport, Sendable {
    private let session: URLSession
    private let delegate: Delegate

    /// Why no attempt can be made; `nil` if attempts can be made. On Linux URLSession needs the machine's libcurl.
    static var defect: String? {
        #if os(Linux)
            foundation_thread_defect().map { "URLSession cannot be used: \(String(cString: $0))" }
                ?? foundation_curl_defect().map {
                    "URLSession cannot be used without libcurl: \(String(cString: $0))"
                }
        #else
            nil
        #endif
    }

    init(concurrency: Int, report: @escaping TransportReport) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // An attempt is reported before its connection closes, so a few more connections than attempts.
        configuration.httpMaximumConnectionsPerHost = max(1, concurrency) + 4
        delegate = Delegate(report: report)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        delegate.attend(session)
    }

    /// Starts an attempt. Its report comes on another thread, or on this one if the request cannot be made.
    func start(_ request: OutgoingRequest, ticket: Int) {
        guard let url = URL(string: request.normalizedURL), url.host != nil else {
            let detail = "'\(request.url)' is not a URL"
            let report = AttemptReport(result: .failure(.badURL, detail: detail), duration: .zero)
            return delegate.report([(ticket, report)])
        }
        let body: [UInt8]?
        do throws(UnsendableBody) {
            body = try request.bodyInMemory()
        } catch {
            return delegate.report([(ticket, AttemptReport(result: error.result, duration: .zero))])
        }
        var outgoing = URLRequest(url: url)
        outgoing.httpMethod = request.method
        outgoing.httpShouldHandleCookies = false
        // The timer here keeps the time. URLSession's own does not see interim answers and header lines.
        outgoing.timeoutInterval = 1_000_000
        for header in request.headers {
            if outgoing.value(forHTTPHeaderField: header.name) == nil {
                outgoing.setValue(header.value, forHTTPHeaderField: header.name)
            } else {
                outgoing.addValue(header.value, forHTTPHeaderField: header.name)
            }
        }
        #if os(Linux)
            outgoing.setValue(
                FoundationOutcome.limits(of: request, ticket: ticket), forHTTPHeaderField: FoundationOutcome.limitsField
            )
        #endif
        if Gzip.defect == nil { outgoing.setValue("gzip", forHTTPHeaderField: "Accept-Encoding") }
        if let body { outgoing.httpBody = Data(body) }
        let task = session.dataTask(with: outgoing)
        delegate.watch(Exchange(request, ticket: ticket, task: task))
        task.resume()
    }

    func cancel(ticket: Int) {
        delegate.cancel(ticket: ticket)
    }

    /// Returns at once: URLSession has threads of its own.
    func proceed(until descriptor: Int32) {}
}

/// One attempt in flight.
private struct Exchange {
    let ticket: Int
    /// The request without its body.
    let request: OutgoingRequest
    let task: URLSessionDataTask
    let started = ContinuousClock.now
    let answerLimit: Int
    let idleLimit: Duration
    /// The time by which a byte must have moved.
    var patience: ContinuousClock.Instant
    /// Whether its patience is over, unless URLSession still has an event for it.
    var isDoubted = false
    /// Whether its redirect was refused: URLSession completes the task, and traps if the task is cancelled.
    var isCompleting = false
    /// The length of the body in bytes, and the number of bytes that URLSession has taken.
    let length: Int64
    var sent: Int64 = 0
    var answer: AttemptReport.Answer?

    init(_ request: OutgoingRequest, ticket: Int, task: URLSessionDataTask) {
        self.ticket = ticket
        self.task = task
        answerLimit = max(0, request.answerLimit)
        idleLimit = request.timeouts.request
        length = Int64(request.bodyLength ?? 0)
        var request = request
        (request.body, request.bodyPart) = (nil, nil)
        self.request = request
        patience = started + request.timeouts.connect + idleLimit
    }

    mutating func noteMove(_ age: Duration = .zero) {
        isDoubted = false
        patience = ContinuousClock.now + idleLimit - age
    }

    /// Extends the patience by the bytes that libcurl has seen to move and URLSession does not show: of interim answers
    /// and of a head.
    mutating func noteProgress() {
        #if os(Linux)
            let age = foundation_curl_age(ticket)
            if age >= 0, .nanoseconds(age) < idleLimit { noteMove(.nanoseconds(age)) }
        #endif
    }

    mutating func take(_ response: URLResponse?) {
        guard let response = response as? HTTPURLResponse, response.statusCode >= 200 else { return }
        if let head = response.value(forHTTPHeaderField: FoundationOutcome.headField) {
            answer = FoundationOutcome.answer(fromHead: head)
            return
        }
        let headers = response.allHeaderFields.compactMap { field -> HeaderField? in
            guard let name = field.key as? String, let value = field.value as? String else { return nil }
            return HeaderField(name: name, value: value)
        }
        answer = AttemptReport.Answer(
            status: response.statusCode, headers: headers.sorted { $0.name < $1.name }, body: answer?.body ?? [])
    }

    /// Keeps the bytes that fit. Returns `false` if there were more.
    mutating func take(_ data: Data) -> Bool {
        let room = answerLimit -| (answer?.body.count ?? 0)
        answer?.body += data.prefix(max(0, room))
        if data.count <= room { return true }
        answer?.isCut = true
        return false
    }

    /// Returns the result of an attempt that ended with an error.
    fileprivate func result(of error: any Error) -> AttemptReport.Result {
        let (code, message) = ((error as NSError).code, error.localizedDescription)
        if let result = FoundationOutcome.result(ofError: message, answer: answer, request: request) { return result }
        let name = NetworkError(urlErrorCode: code, message: message, hasStatus: answer != nil)
        return .failure(name, detail: String(message.prefix(500)))
    }

    /// The result of an attempt that is ended from outside, because it was idle or took too long, by its answer; `nil`
    /// if it has no usable answer. A status of 300 or more decides without the rest of its body. A 2xx counts only as a
    /// whole.
    fileprivate var resultSoFar: AttemptReport.Result? {
        answer.flatMap { $0.status >= 300 ? .answer($0) : answersPart }
    }

    /// The failure of an attempt whose 2xx came before URLSession had taken the whole body; `nil` for every other
    /// answer.
    fileprivate var answersPart: AttemptReport.Result? {
        guard let answer, answer.status < 300, sent < length else { return nil }
        return .failure(
            .truncated, detail: "the answer came when \(sent) of \(length) bytes of the body had been sent")
    }
}

private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
        /// The attempts in flight, by task identifier.
        var exchanges: [Int: Exchange] = [:]
        /// The time at which the timer rings next, and the time at which it was set.
        var alarm: (rings: ContinuousClock.Instant, set: ContinuousClock.Instant)?
        weak var session: URLSession?
    }

    let report: TransportReport
    private let state = Mutex(State())
    private let timer: any DispatchSourceTimer

    init(report: @escaping TransportReport) {
        self.report = report
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "drainq.agent.timer"))
        super.init()
        timer.setEventHandler { @Sendable [weak self] in self?.ring() }
        timer.activate()
    }

    /// Sets the session of the tasks.
    func attend(_ session: URLSession) {
        state.withLock { $0.session = session }
    }

    func watch(_ exchange: Exchange) {
        state.withLock { state in
            state.exchanges[exchange.task.taskIdentifier] = exchange
            setAlarm(exchange.patience, in: &state)
        }
    }

    func cancel(ticket: Int) {
        let exchange = state.withLock { state in
            state.exchanges.first { $0.value.ticket == ticket }.flatMap { state.exchanges.removeValue(forKey: $0.key) }
        }
        if let exchange {
            end(exchange, exchange.resultSoFar ?? .failure(.cancelled, detail: ""), cancelling: true)
        }
    }

    // MARK: - Time

    private func setAlarm(_ alarm: ContinuousClock.Instant, in state: inout State) {
        if let earlier = state.alarm, earlier.rings <= alarm { return }
        let now = ContinuousClock.now
        state.alarm = (alarm, now)
        let distance = now.duration(to: alarm).wholeMicroseconds
        timer.schedule(
            deadline: .now() + .microseconds(Int(min(max(0, distance), 3_600_000_000))), leeway: .milliseconds(1))
    }

    /// Asks about attempts without progress. URLSession does all its work on one queue, where a server that floods
    /// delays the others: the question waits behind their events, so no server is blamed for another. Time in which
    /// this process stood still counts for no attempt.
    private func ring() {
        let (late, session) = state.withLock { state -> ([Int], URLSession?) in
            let now = ContinuousClock.now
            if let (rings, set) = state.alarm {
                let still = Standstill.duration(of: set.duration(to: now), planned: set.duration(to: rings))
                for identifier in state.exchanges.keys { state.exchanges[identifier]?.patience += still }
            }
            let late = state.exchanges.filter {
                $0.value.patience <= now && !$0.value.isCompleting && !$0.value.isDoubted
            }
            for identifier in late.keys { state.exchanges[identifier]?.isDoubted = true }
            state.alarm = nil
            if let next = state.exchanges.values.map(\.patience).filter({ $0 > now }).min() {
                setAlarm(next, in: &state)
            }
            return (Array(late.keys), state.session)
        }
        if late.isEmpty { return }
        session?.getAllTasks { [weak self] _ in self?.conclude(late) }
    }

    /// Ends the attempts that are still doubted. One that has moved since gets its time again.
    private func conclude(_ doubted: [Int]) {
        let late = state.withLock { state in
            doubted.compactMap { identifier -> Exchange? in
                state.exchanges[identifier]?.noteProgress()
                guard let exchange = state.exchanges[identifier], !exchange.isCompleting else { return nil }
                if exchange.isDoubted { return state.exchanges.removeValue(forKey: identifier) }
                setAlarm(exchange.patience, in: &state)
                return nil
            }
        }
        for exchange in late {
            let silence = "nothing was sent or received for \(exchange.idleLimit.inSeconds) s"
            end(
                exchange, exchange.resultSoFar ?? .failure(.timeout, detail: silence), cancelling: true)
        }
    }

    // MARK: - Ends

    /// Removes and returns the exchange of a task, so that it is reported once.
    private func remove(_ task: URLSessionTask) -> Exchange? {
        state.withLock { $0.exchanges.removeValue(forKey: task.taskIdentifier) }
    }

    private func end(_ exchange: Exchange, _ result: AttemptReport.Result, cancelling: Bool) {
        #if os(Linux)
            let result = result.decoded(upTo: exchange.answerLimit)
        #endif
        report([(exchange.ticket, AttemptReport(result: result, duration: exchange.started.duration(to: .now)))])
        if cancelling, !exchange.isCompleting { exchange.task.cancel() }
    }

    // MARK: - URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        state.withLock { state in
            state.exchanges[task.taskIdentifier]?.noteMove()
            state.exchanges[task.taskIdentifier]?.sent = totalBytesSent
            // The connection is established, so the time to connect no longer counts.
            if let patience = state.exchanges[task.taskIdentifier]?.patience { setAlarm(patience, in: &state) }
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        state.withLock { state in
            state.exchanges[dataTask.taskIdentifier]?.noteMove()
            state.exchanges[dataTask.taskIdentifier]?.take(response)
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let full = state.withLock { state -> Exchange? in
            state.exchanges[dataTask.taskIdentifier]?.noteMove()
            // Optional chaining keeps no second copy of the body, so the append is in place.
            guard state.exchanges[dataTask.taskIdentifier]?.take(data) == false else { return nil }
            #if os(Linux)
                // FoundationCurl.c has ended the transfer, and says whether the whole request had left.
                return nil
            #else
                return state.exchanges.removeValue(forKey: dataTask.taskIdentifier)
            #endif
        }
        guard let full, let answer = full.answer else { return }
        end(full, full.answersPart ?? .answer(answer), cancelling: true)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard var exchange = remove(task) else { return }
        if let error {
            return end(exchange, exchange.result(of: error), cancelling: false)
        }
        if exchange.answer == nil { exchange.take(task.response) }
        if let answer = exchange.answer {
            end(exchange, .answer(answer), cancelling: false)
        } else {
            end(exchange, .failure(.emptyAnswer, detail: "the answer has no final status"), cancelling: false)
        }
    }

    /// Refuses the redirect, which is the answer. A task that was cancelled meanwhile gets no reply, because URLSession
    /// would trap.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        let isWanted = state.withLock { state in
            state.exchanges[task.taskIdentifier]?.isCompleting = true
            return state.exchanges[task.taskIdentifier] != nil
        }
        if isWanted { completionHandler(nil) }
    }

    /// Treats a challenge as an answer, because credentials are the request's own header, if any. The answer has then
    /// arrived as a whole; without a reply the task would never complete.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if !os(Linux)
            if challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust {
                return completionHandler(.performDefaultHandling, nil)
            }
        #endif
        if var exchange = remove(task) {
            if exchange.answer == nil { exchange.take(challenge.failureResponse) }
            if let answer = exchange.answer {
                end(exchange, .answer(answer), cancelling: false)
            } else {
                end(exchange, .failure(.other, detail: "a challenge without an answer"), cancelling: false)
            }
        }
        completionHandler(.cancelAuthenticationChallenge, nil)
    }
}
