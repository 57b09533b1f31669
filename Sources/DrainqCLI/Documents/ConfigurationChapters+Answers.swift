import Policy

/// What answers and errors mean; the tables are made from what decides.
extension ConfigurationChapters {
    static let answersIntro = #"""
        A rule says which answers it matches, and what they mean.
        An answer matches if all conditions of the rule hold.
        A run asks the rules of a route in their order, and the first that matches
        decides.
        The short forms follow; they are rules as well:
        .Bl -enum -compact
        .It
        .Ic classify ,
        by status or error alone, the narrowest line first;
        .It
        .Ic protocol : Li \(dqcallable\(dq ,
        by the word of a callable function;
        .It
        .Ic accept ,
        for 2xx that do not look as they must;
        .It
        what
        .Xr drainq 1
        says of every answer.
        .El
        .Pp
        In a batch with
        .Ic results
        the rules see the whole answer first.
        If that is a delivery, they see each element as the answer to one
        operation: its status, the header of the whole, and the element as body.
        .Pp
        After a 401 a run looks the secrets up anew once, whatever a rule makes of
        the 401; and so it does where a rule holds by the body of an answer.
        .Nm drainq Cm explain
        shows the rules with their lines, and
        .Nm drainq Cm explain Fl -answer Ar FILE
        which one decides about an answer that
        .Nm curl Fl i
        has recorded.
        The record of each attempt has the rule.
        An answer that is longer than
        .Ic answerLimit
        matches no rule about its body, and the record says so.
        A rule behind others that match all that it matches is an error.

        """#

    static let answersExamples = #"""
        .Pp
        Slack says 200 and means no; where it is busy it says so in the body:
        .Bd -literal -offset indent
        {
          routes: {
            default: {
              url: \(dqhttps://slack.example.com/api/chat.postMessage\(dq,
              headers: { Authorization: \(dqBearer ${secret:api}\(dq },
              answers: [
                {
                  status: 200,
                  json: { pointer: \(dq/error\(dq, equals: \(dqratelimited\(dq },
                  is: \(dqdefer\(dq,
                  until: \(dqretry-after\(dq,
                },
                {
                  status: 200,
                  json: { pointer: \(dq/error\(dq, equals: \(dqinvalid_auth\(dq },
                  is: \(dqhold\(dq,
                },
                { status: 200, json: { pointer: \(dq/ok\(dq, equals: false }, is: \(dqfail\(dq },
              ],
            },
          },
          secrets: { api: { file: \(dq/etc/drainq/api.token\(dq } },
        }
        .Ed
        .Pp
        GitHub limits rates with 403, and says when that is over: at a second since
        1970, or with Retry-After where it was too much at once.
        Any other 403 is about the token, as ever:
        .Bd -literal -offset indent
        {
          routes: {
            default: {
              url: \(dqhttps://github.example.com/repos/me/app/issues\(dq,
              answers: [
                {
                  status: [403, 429],
                  header: { \(dqx-ratelimit-remaining\(dq: \(dq0\(dq },
                  is: \(dqdefer\(dq,
                  until: \(dqx-ratelimit-reset\(dq,
                },
                {
                  status: 403,
                  header: { \(dqretry-after\(dq: true },
                  is: \(dqdefer\(dq,
                  until: \(dqretry-after\(dq,
                },
                {
                  status: 403,
                  json: { pointer: \(dq/message\(dq, contains: \(dqsecondary rate\(dq },
                  is: \(dqdefer\(dq,
                },
              ],
            },
          },
        }
        .Ed
        .Pp
        PostgREST answers 409 to an insert whose answer was lost the first time: the
        row is there.
        A row that refers to one which is not there yet is another 409, and waits:
        .Bd -literal -offset indent
        {
          routes: {
            insert: {
              url: \(dqhttps://notes.example.com/rest/v1/notes\(dq,
              answers: [
                {
                  status: 409,
                  json: { pointer: \(dq/code\(dq, equals: \(dq23505\(dq },
                  is: \(dqdeliver\(dq,
                },
                {
                  status: 409,
                  json: { pointer: \(dq/code\(dq, equals: \(dq23503\(dq },
                  is: \(dqdefer\(dq,
                },
              ],
            },
          },
        }
        .Ed

        """#

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
        This is a rule behind those of
        .Ic answers
        and
        .Ic classify :
        what neither of them judges, and has 2xx, is
        .Ic otherwise
        where it does not agree.
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

    private static func outcome(of answer: AnswerPattern, on route: Route) -> String {
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
        AnswerPattern.errorNames(on: Route()).compactMap(NetworkError.init(rawValue:)).map(item)
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
