import Policy

/// What answers and errors mean; the tables are made from what decides.
extension ConfigurationChapters {
    static let accept = #"""
        .Sh ACCEPT RULES
        A captive portal answers every request with 200 and a page; some servers say
        200 and mean no.
        With
        .Ic accept
        an answer is a delivery only if its content type is
        .Ic contentType
        and its JSON meets all conditions of
        .Ic json :
        .Bd -literal -offset indent
        {
          routes: {
            default: {
              url: \(dqhttps://api.example.com/v1/{type}\(dq,
              accept: {
                contentType: \(dqapplication/json\(dq,
                json: [
                  { pointer: \(dq/result/success\(dq, equals: true },
                  { pointer: \(dq/result/id\(dq, exists: true },
                ],
                otherwise: \(dqdefer\(dq,
              },
            },
          },
        }
        .Ed
        .Pp
        Only answers with 2xx are looked into, and only those that
        .Ic classify
        lets be deliveries.
        Of an answer that is longer than
        .Ic answerLimit
        only the beginning is there, which is no JSON.
        .Pp
        Another content type, or no JSON, says that somebody else has answered.
        With the outcome
        .Li defer
        it counts as a failure to reach the destination, and several in a row
        open its circuit breaker.
        JSON that does not meet a condition comes from the server itself and does
        not.

        """#

    static let callable = """
        .Sh CALLABLE FUNCTIONS
        With
        .Ic protocol : Li \\(dqcallable\\(dq
        the payload is sent as
        .Li {\\(dqdata\\(dq: payload} .
        An answer with 2xx and
        .Li result
        without
        .Li error
        is a delivery that
        .Ic accept
        may still refuse.
        The name in
        .Li error.status
        decides, whatever the HTTP status is:
        .Bl -column "FAILED_PRECONDITION" "outcome" -offset indent
        \(canonicalRows.joined(separator: "\n"))
        .El
        .Pp
        .Ic classify
        takes these names as it takes statuses.
        A name goes before the HTTP status, unless
        .Ic classify
        has that status and not the name.
        .Li RESOURCE_EXHAUSTED
        asks for time as 429 does.
        An answer that is neither is somebody else's: its HTTP status decides, and
        with 2xx it is deferred.
        .Bd -literal -offset indent
        {
          routes: {
            addMemory: {
              url: \\(dqhttps://us-central1-example.cloudfunctions.net/addMemory\\(dq,
              protocol: \\(dqcallable\\(dq,
              accept: { json: { pointer: \\(dq/result/success\\(dq, equals: true } },
              classify: { ALREADY_EXISTS: \\(dqdeliver\\(dq },
            },
          },
        }
        .Ed

        """

    private static var canonicalRows: [String] {
        CanonicalStatus.allCases.map { status in
            ".It Li \(status.rawValue) Ta \(outcome(of: .canonical(status), on: Route(protocol: .callable)))"
        }
    }

    private static func outcome(of answer: ClassificationOverride.Match, on route: Route) -> String {
        let configuration = Configuration(defaultRoute: route)
        let explained = ExplainedRoute(of: .default, in: configuration, available: Transport.allCases)
        return explained.verdict(on: answer).outcome.rawValue
    }

    static let errorNames = """
        .Sh NAMES OF ERRORS
        Where no usable answer came,
        .Ic classify
        knows the reason by one of these names.
        On a callable route it knows the names of
        .Sx CALLABLE FUNCTIONS
        besides.
        .Bl -tag -width "malformed-answer"
        \(namedErrors.joined(separator: "\n"))
        .El

        """

    private static var namedErrors: [String] {
        ClassificationOverride.Match.errorNames(on: Route()).compactMap(NetworkError.init(rawValue:)).map(item)
    }

    private static func item(_ error: NetworkError) -> String {
        let outcome = outcome(of: .error(error), on: Route())
        return ".It Li \(error.rawValue) : \(outcome)\n\(meaning(of: error))"
    }

    private static func meaning(of error: NetworkError) -> String {
        switch error {
        case .dns: "The name of the host is not known."
        case .refused: "Nobody listens at that port."
        case .unreachable: "There is no way to the host."
        case .connectTimeout: "No connection within\n.Ic timeouts.connect ."
        case .timeout: "Nothing sent or received for\n.Ic timeouts.request ."
        case .deadline: "The attempt was not over within\n.Ic timeouts.total ."
        case .reset:
            "The connection or its stream ended after the request had begun to leave.\nWhether the request arrived is not known.\nA request is never sent twice within an attempt."
        case .emptyAnswer: "The connection was closed without an answer."
        case .truncated: "The answer ended before its length, or a 2xx came before the whole request\nhad left."
        case .malformedAnswer:
            "The answer is not HTTP, does not end, or may belong to another request.\nThe next attempt has a connection of its own."
        case .tls: "The certificate or the handshake cannot be trusted."
        case .proxy: "The proxy failed; neither operation nor destination is charged."
        case .badURL: "The URL cannot be requested; nothing was sent."
        case .offline:
            "This machine has no network; nobody is charged.\nEvery network error that comes of that means this."
        case .bodyFileChanged: "The file that is the body is not what it was."
        case .agentDied: "The process that made the attempt died.\nWhether the request arrived is not known."
        case .cancelled: "The run ended first."
        case .other: "Anything else; the record of the attempt has the words of the transport."
        }
    }
}
