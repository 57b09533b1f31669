/// The reason why no request can be made of an operation, found before anything is sent.
package enum RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither the operation nor its type's route has a url.
    case noURL(TypeName)
    /// Not an absolute http or https URL that can be requested.
    case badURL(String, ownedBy: Owner)
    /// A template of the route that cannot be filled in.
    case badTemplate(key: String, reason: String)
    /// A placeholder whose value this operation does not have.
    case missingValue(placeholder: String)
    /// A placeholder whose value does not fit its place: an object, an array or null in a url, a header or a key; in a
    /// url's path also an empty text, `.` or `..`.
    case unusableValue(placeholder: String, reason: String)
    case badMethod(String, ownedBy: Owner)
    /// A HEAD request that would have a body, which transports do not send.
    case bodyOfHead
    case badHeader(name: String, reason: HeaderField.Defect, ownedBy: Owner)
    /// A key that cannot be sent as a string of RFC 8941.
    case badIdempotencyKey
    /// A missing secret of the route, with the reason.
    case missingSecret(String, reason: String)
    /// A missing secret of this operation alone, whose file no other user's operation needs.
    case missingOwnSecret(String, reason: String)
    /// A command or a token endpoint gives no credentials for now. It is not asked again before this time has passed.
    case noCredentials(reason: String, for: Duration)
    /// The network or this machine keeps the request from being made now: the error that an attempt would end with.
    case unavailable(NetworkError, reason: String)
    /// The operation's url has another origin than the route's, whose requests carry credentials or kept values.
    case credentialsElsewhere(origin: String)
    /// The payload does not meet a condition of the route's `require`.
    case requirementNotMet(JSONCondition)
    /// A template, `protocol` or `require` needs a JSON payload and has none.
    case notJSON(reason: String)
    /// The operation replaces a field that the route does not let it replace.
    case notOverridable(OverridableField)
    /// The file has changed since the operation was added, or cannot be used at all.
    case badBodyFile(path: String, reason: String)
    /// The route's command for headers failed.
    case headersCommand(reason: String)
    /// The route needs something that the transports of this machine cannot do.
    case noTransport(reason: String)
    /// The route compresses, and this machine cannot.
    case cannotCompress(reason: String)

    /// The owner of the defective text, who must fix it.
    package enum Owner: String, Hashable, Sendable {
        case operation
        case route
    }

    /// The outcome: held for an error of the route, which an operator must fix; deferred without credentials for now or
    /// of the operation's user; the outcome of the network error that an attempt would end with; else failed.
    package var outcome: Outcome {
        switch self {
        case .unavailable(let error, _): AnswerRule.standard(error).outcome
        case .noCredentials, .missingOwnSecret: .deferred
        case .noURL, .badTemplate, .missingSecret, .headersCommand, .noTransport, .cannotCompress: .held
        case .badURL(_, let owner), .badMethod(_, let owner), .badHeader(_, _, let owner):
            switch owner {
            case .operation: .failed
            case .route: .held
            }
        case .missingValue, .unusableValue, .bodyOfHead, .badIdempotencyKey, .credentialsElsewhere, .requirementNotMet,
            .notJSON,
            .notOverridable, .badBodyFile:
            .failed
        }
    }

    package var description: String {
        switch self {
        case .noURL(let type): "no url is configured for type '\(type)'"
        case .badURL(let url, let owner):
            "the \(owner)'s url '\(escapedForDisplay(withoutUserInformation(url)))' cannot be requested"
        case .badTemplate(let key, let reason): "the route's '\(key)' cannot be filled in: \(reason)"
        case .missingValue(let name):
            "the operation has no value for '{\(escapedForDisplay(name))}': add it\(name == "key" ? " with --key" : ""), "
                + "or write a default into the template: '{\(escapedForDisplay(name))|\"none\"}'"
        case .unusableValue(let name, let reason): "the value for '{\(escapedForDisplay(name))}' \(reason)"
        case .badMethod(let method, let owner): "the \(owner)'s method '\(escapedForDisplay(method))' cannot be used"
        case .bodyOfHead: "a HEAD request cannot carry the operation's payload or body"
        case .badHeader(let name, let defect, let owner):
            "the \(owner)'s header '\(escapedForDisplay(name))' \(defect)"
        case .missingSecret(let name, let reason), .missingOwnSecret(let name, let reason):
            "the secret '\(escapedForDisplay(name))' \(reason)"
        case .credentialsElsewhere(let origin):
            "the route's credentials and kept values go to the origin of the route's url, not to '\(escapedForDisplay(origin))'"
        case .requirementNotMet(let condition):
            "the payload does not meet the route's 'require': \(condition.opposite)"
        case .notJSON(let reason): "the payload \(reason)"
        case .notOverridable(let field): "the route lets no operation bring its own \(field.rawValue)"
        case .badBodyFile(let path, let reason): "the body file '\(escapedForDisplay(path))' \(reason)"
        case .headersCommand(let reason): "the route's headersCommand \(reason)"
        case .noTransport(let reason), .cannotCompress(let reason), .unavailable(_, let reason),
            .noCredentials(let reason, _):
            reason
        case .badIdempotencyKey: "the idempotency key is empty or has characters other than printable ASCII"
        }
    }
}
