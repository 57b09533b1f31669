/// Why no request can be made of an operation; found before anything is sent.
package enum RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither the operation nor its type's route has a url.
    case noURL(TypeName)
    /// Not an absolute http or https URL that can be requested.
    case badURL(String, ownedBy: Owner)
    /// `{…}` in a route's url that stands for nothing.
    case unknownPlaceholder(String)
    /// A placeholder whose value this operation does not have.
    case missingValue(placeholder: String)
    /// A placeholder whose value cannot stand in a URL: an object, an array or null; in a path also nothing, `.` or `..`.
    case unusableValue(placeholder: String, reason: String)
    case badMethod(String, ownedBy: Owner)
    case badHeader(name: String, reason: HeaderField.Defect, ownedBy: Owner)
    /// A key that cannot be sent as a string of RFC 8941.
    case badIdempotencyKey

    /// Who has to mend it.
    package enum Owner: String, Hashable, Sendable {
        case operation
        case route
    }

    /// What is wrong with the route waits for a person and is no fault of the operation: held. The rest fails.
    package var outcome: Outcome {
        switch self {
        case .noURL, .unknownPlaceholder: .held
        case .badURL(_, let owner), .badMethod(_, let owner), .badHeader(_, _, let owner):
            switch owner {
            case .operation: .failed
            case .route: .held
            }
        case .missingValue, .unusableValue, .badIdempotencyKey: .failed
        }
    }

    package var description: String {
        switch self {
        case .noURL(let type): "no url is configured for type '\(type)'"
        case .badURL(let url, let owner): "the \(owner)'s url '\(escapedForDisplay(url))' cannot be requested"
        case .unknownPlaceholder(let name): "the route's url has an unknown placeholder '{\(escapedForDisplay(name))}'"
        case .missingValue(let name): "the operation has no value for '{\(escapedForDisplay(name))}' in the url"
        case .unusableValue(let name, let reason): "the value for '{\(escapedForDisplay(name))}' in the url \(reason)"
        case .badMethod(let method, let owner): "the \(owner)'s method '\(escapedForDisplay(method))' cannot be used"
        case .badHeader(let name, let defect, let owner):
            "the \(owner)'s header '\(escapedForDisplay(name))' \(defect)"
        case .badIdempotencyKey: "the idempotency key is empty or has characters other than printable ASCII"
        }
    }
}
