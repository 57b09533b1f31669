import Policy

/// A cause in words: what the server said first. Quotation marks are the server's alone.
enum CauseWords {
    /// Returns the status or the error in plain words: `the login is refused (401)`.
    static func plain(_ cause: Cause) -> String {
        if let status = cause.status { return "\(meaning(ofStatus: status)) (\(status))" }
        return cause.error.map { meaning(ofError: $0) } ?? cause.words ?? "not known"
    }

    static func meaning(ofStatus status: Int) -> String {
        switch status {
        case 401: "the login is refused"
        case 403: "access is refused"
        case 404: "the address is unknown"
        case 405: "the method is not allowed"
        case 407: "the proxy refuses the login"
        case 408: "the server waited too long"
        case 409: "the server sees a conflict"
        case 410: "the address is gone"
        case 413: "the content is too large"
        case 415, 422: "the content is refused"
        case 429: "the server asks for time"
        case 500: "the server fails"
        case 502, 504: "the server behind the gateway is not there"
        case 503: "the server is not available"
        case 200..<300: "the server answers, and takes nothing"
        case 300..<400: "the address has moved"
        case 400..<500: "the server refuses"
        default: "the server fails"
        }
    }

    static func meaning(ofError error: String) -> String {
        switch NetworkError(rawValue: error) {
        case .dns: "its name is not found"
        case .refused: "nothing listens there"
        case .unreachable: "no way leads there"
        case .connectTimeout, .timeout: "no answer in time"
        case .deadline: "no whole answer in time"
        case .reset: "the connection broke off"
        case .emptyAnswer: "the connection ended without an answer"
        case .truncated: "the answer is not whole"
        case .malformedAnswer: "the answer is no HTTP, or belongs to another request"
        case .tls: "its certificate or ours is refused"
        default: error
        }
    }

    /// Returns what a destination that takes nothing needs, and the same of several.
    static func need(_ cause: Cause?) -> (one: String, many: String) {
        switch cause?.status {
        case 401, 407: ("a valid token", "a valid token")
        case 403: ("its rights", "their rights")
        case nil where cause?.code == .request: ("its credentials", "their credentials")
        default: ("its server", "their server")
        }
    }

    /// Returns what mends it, as words before a command; `nil` if only its server can.
    static func remedy(_ cause: Cause) -> String? {
        switch cause.status {
        case 401, 407: return "put a valid token in place"
        case 403: return "give this account its rights"
        case .some(300..<400): return "set the url of the route in drainq.json to the target"
        case .some(404), .some(410): return "correct the url of the route in drainq.json"
        default: break
        }
        if cause.code == .request, let words = cause.words { return remedy(ofRequest: words) }
        // OpenSSL's words for an answer without TLS.
        if cause.words?.contains("wrong version number") == true {
            return "nothing there speaks TLS: write http://, or the port that does"
        }
        if cause.error == NetworkError.tls.rawValue { return "see caFile and clientCertificate in drainq-config(5)" }
        return cause.code == .noURL ? "set routes.default.url in drainq.json" : nil
    }

    /// The same if no request could be made. The words are `RequestError`'s: `the secret 'api' comes from '/api.token',
    /// which cannot be read: …`.
    private static func remedy(ofRequest words: String) -> String? {
        if words.contains(" comes from the command '") || words.hasPrefix("the route's headersCommand ") {
            return "mend the command"
        }
        guard let place = words.firstRange(of: " comes from '"),
            let end = words[place.upperBound...].firstRange(of: "', which ")
        else { return nil }
        let file = words[place.upperBound..<end.lowerBound]
        return "give '\(file)' its secret and mode 0600: the next run notices it"
    }
}
