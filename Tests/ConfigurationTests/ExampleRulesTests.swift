import Foundation
import Policy
import Testing

@testable import Configuration

/// The example rules that deliver or fail operations: a rule that matches too much loses operations.
struct `The rules of the examples` {
    struct Reply: Sendable {
        var status: Int
        var body = ""
        var headers: [String: String] = [:]

        init(_ status: Int, _ body: String = "", _ headers: [String: String] = [:]) {
            (self.status, self.body, self.headers) = (status, body, headers)
        }
    }

    /// An answer for a rule, and the nearest answers that the rule must not match, with their outcomes.
    struct Case: Sendable, CustomTestStringConvertible {
        var example: String
        var type: String
        var reply: Reply
        var outcome: Outcome
        var near: [(Reply, Outcome)]
        /// The outcome of the same answer to a first request; `nil` for a rule that judges each request.
        var first: Outcome?

        init(
            _ example: String, _ type: String, _ reply: Reply, _ outcome: Outcome, first: Outcome? = nil,
            near: [(Reply, Outcome)]
        ) {
            (self.example, self.type, self.reply, self.outcome, self.near) = (example, type, reply, outcome, near)
            self.first = first
        }

        var testDescription: String { "\(example) \(type) \(reply.status) \(reply.body)" }
    }

    private static func rest(_ code: String, _ message: String) -> String {
        #"{"code":"\#(code)","details":null,"hint":null,"message":"\#(message)"}"#
    }

    private static func unique(_ constraint: String) -> Reply {
        Reply(409, rest("23505", #"duplicate key value violates unique constraint \"\#(constraint)\""#))
    }

    private static func stored(_ status: String, _ error: String, _ message: String) -> Reply {
        Reply(400, #"{"statusCode":"\#(status)","error":"\#(error)","message":"\#(message)"}"#)
    }

    private static let rowSecurity = Reply(403, rest("42501", "new row violates row-level security policy"))

    private static func bulk(_ status: Int, _ error: String) -> Reply {
        Reply(200, #"{"items":[{"create":{"status":\#(status),"error":{"type":"\#(error)"}}}]}"#)
    }

    private static func clickhouse(_ code: Int, _ status: Int = 500) -> Reply {
        Reply(status, "Code: \(code). DB::Exception: as ClickHouse says. (NAME) (version 24.3.1.1)")
    }

    /// The error text of versions before 20.8.
    private static func oldClickhouse(_ code: Int, _ status: Int = 500) -> Reply {
        Reply(status, "Code: \(code), e.displayText() = DB::Exception: as ClickHouse says., e.what() = DB::Exception")
    }

    private static func partial(_ rejected: String) -> Reply {
        Reply(200, #"{"partialSuccess":{"rejectedLogRecords":\#(rejected),"errorMessage":"m"}}"#)
    }

    private static func failed(_ members: String) -> Reply {
        Reply(200, #"{"Successful":[],"Failed":[{"Id":"x"\#(members)}]}"#)
    }

    private static func graphql(_ type: String) -> Reply {
        Reply(200, #"{"data":{"addComment":null},"errors":[{"type":"\#(type)","message":"m"}]}"#)
    }

    private static let comment = #"{"data":{"addComment":{"commentEdge":{"node":{"id":"IC_1"}}}}}"#

    static let cases: [Case] = [
        Case(
            "chat", "message", Reply(401, #"{"error":"Permission denied"}"#), .failed,
            near: [
                (Reply(401, #"{"error":"Auth token is expired"}"#), .held), (Reply(401), .held),
                (Reply(401, #"{"error":"Permission denied."}"#), .held),
                (Reply(503, #"{"error":"Permission denied"}"#), .deferred),
            ]),
        Case("clickhouse", "default", clickhouse(27), .failed, near: [(clickhouse(279), .deferred)]),
        Case("clickhouse", "default", clickhouse(38), .failed, near: [(clickhouse(384), .deferred)]),
        Case("clickhouse", "default", clickhouse(41), .failed, near: [(clickhouse(415), .deferred)]),
        Case("clickhouse", "default", oldClickhouse(27), .failed, near: [(oldClickhouse(279), .deferred)]),
        Case("clickhouse", "default", oldClickhouse(38), .failed, near: [(oldClickhouse(384), .deferred)]),
        Case("clickhouse", "default", oldClickhouse(41), .failed, near: [(oldClickhouse(415), .deferred)]),
        Case(
            "clickhouse", "default", oldClickhouse(53), .failed,
            near: [(oldClickhouse(531), .deferred), (oldClickhouse(60, 404), .held), (oldClickhouse(117), .held)]),
        Case(
            "clickhouse", "default", clickhouse(53), .failed,
            near: [
                (clickhouse(531), .deferred), (clickhouse(53, 503), .deferred), (clickhouse(252), .deferred),
                (clickhouse(117), .held), (clickhouse(60, 404), .held),
            ]),
        Case(
            "elasticsearch", "default", bulk(409, "version_conflict_engine_exception"), .delivered,
            first: .failed,
            near: [
                (bulk(409, "other_exception"), .deferred), (bulk(404, "index_not_found_exception"), .held),
                (bulk(400, "version_conflict_engine_exception"), .failed),
                (bulk(429, "es_rejected_execution_exception"), .deferred),
                (Reply(409, #"{"error":{"type":"version_conflict_engine_exception"}}"#), .deferred),
            ]),
        Case(
            "githubgraphql", "default", graphql("NOT_FOUND"), .failed,
            near: [
                (graphql("FORBIDDEN"), .held), (graphql("NOT_FOUND."), .held), (graphql("RATE_LIMITED"), .deferred),
                (Reply(404, #"{"errors":[{"type":"NOT_FOUND"}]}"#), .failed), (Reply(200, "<html>"), .deferred),
            ]),
        Case(
            "githubgraphql", "default", graphql("UNPROCESSABLE"), .failed,
            near: [
                (graphql("INSUFFICIENT_SCOPES"), .held),
                (Reply(200, #"{"errors":[{"message":"Parse error"}]}"#), .held),
                (
                    Reply(200, #"{"errors":[{"message":"Something went wrong while executing your query."}]}"#),
                    .deferred
                ),
            ]),
        Case(
            "githubgraphql", "default", Reply(200, comment, ["x-ratelimit-remaining": "0"]), .delivered,
            near: [
                (Reply(200, comment, ["x-ratelimit-remaining": "1"]), .delivered),
                (Reply(200, #"{"data":{"addComment":null}}"#, ["x-ratelimit-remaining": "0"]), .deferred),
                (Reply(403, comment, ["x-ratelimit-remaining": "0"]), .deferred),
            ]),
        Case(
            "healthchecks", "default", Reply(200, "OK (not found)"), .failed,
            near: [
                (Reply(200, "OK"), .delivered), (Reply(200, "OK (rate limited)"), .deferred),
                (Reply(503, "(not found)"), .deferred),
            ]),
        Case(
            "healthchecks", "default", Reply(200, "OK"), .delivered,
            near: [
                (Reply(200, "<html>Sign in</html>"), .deferred), (Reply(200, "OK (rate limited)"), .deferred),
                (Reply(500, "OK"), .deferred),
            ]),
        Case(
            "kafka3", "default", Reply(200, #"{"error_code":200,"offset":7}"#), .delivered,
            near: [
                (Reply(200, #"{"error_code":"200"}"#), .failed), (Reply(200, #"{"offset":7}"#), .deferred),
                (Reply(200, "<html>"), .deferred), (Reply(429, #"{"error_code":200}"#), .deferred),
            ]),
        Case(
            "kafka3", "default", Reply(200, #"{"error_code":400,"message":"m"}"#), .failed,
            near: [
                (Reply(200, #"{"error_code":429}"#), .deferred), (Reply(200, #"{"error_code":500}"#), .deferred),
                (Reply(200, #"{"error_code":503}"#), .deferred), (Reply(200, #"{"error_code":50003}"#), .deferred),
                (Reply(200, #"{"error_code":40403}"#), .held), (Reply(200, ""), .deferred),
            ]),
        Case(
            "notes", "insert", rowSecurity, .failed,
            near: [(Reply(403, rest("42P01", "m")), .held), (Reply(403), .held)]),
        Case(
            "notes", "update", rowSecurity, .failed,
            near: [(Reply(401, rest("42501", "m")), .held), (Reply(200, "[]"), .deferred)]),
        Case(
            "notes", "insert", unique("notes_pkey"), .delivered, first: .failed,
            near: [
                (unique("notes_title_key"), .failed), (unique("old_notes_pkey"), .failed),
                (unique("notes_pkey1"), .failed),
                (Reply(409, rest("23503", #"violates foreign key constraint \"notes_pkey\""#)), .deferred),
                (Reply(409), .deferred), (Reply(400, rest("23505", #"\"notes_pkey\""#)), .failed),
            ]),
        Case(
            "notes", "insert", unique("notes_title_key"), .failed, first: .failed,
            near: [
                (unique("notes_pkey"), .delivered), (Reply(409, rest("23503", "m")), .deferred),
                (Reply(409), .deferred),
            ]),
        Case(
            "notes", "upload", stored("409", "Duplicate", "The resource already exists"), .delivered, first: .failed,
            near: [
                (stored("409", "TransactionError", "could not serialize access"), .deferred),
                (stored("409", "FeatureNotEnabled", "The feature x is not enabled for this resource"), .deferred),
                (stored("409", "ResourceNotEmpty", "The bucket you tried to delete is not empty"), .deferred),
                (stored("423", "ResourceLocked", "The resource is locked"), .deferred),
                (stored("503", "DatabaseConnectionLimit", "try again later"), .deferred),
                (stored("429", "SlowDown", "Too many requests"), .deferred),
                (stored("400", "InvalidJWT", "jwt expired"), .held),
                (stored("403", "Unauthorized", "jwt expired"), .held),
                (stored("404", "Bucket not found", "Bucket not found"), .failed),
                (Reply(409, #"{"message":"The resource already exists"}"#), .deferred),
            ]),
        Case(
            "notes", "upload", stored("403", "Unauthorized", "new row violates row-level security policy"), .failed,
            near: [
                (stored("403", "Unauthorized", "jwt expired"), .held),
                (stored("503", "Unauthorized", "new row violates row-level security policy"), .deferred),
            ]),
        Case("otlp", "default", partial(#""0""#), .delivered, near: [(partial(#""1""#), .failed)]),
        Case("otlp", "default", partial("0"), .delivered, near: [(partial("1"), .failed), (partial("-0.5"), .failed)]),
        Case(
            "otlp", "default", partial("3"), .failed,
            near: [(Reply(200, #"{"partialSuccess":{}}"#), .delivered), (Reply(200, "{}"), .delivered)]),
        Case(
            "otlp", "default", Reply(500), .failed,
            near: [(Reply(502), .deferred), (Reply(503), .deferred), (Reply(504), .deferred), (Reply(429), .deferred)]),
        Case(
            "sqs", "default", failed(#","SenderFault":true"#), .failed,
            near: [
                (failed(#","SenderFault":false"#), .deferred),
                (Reply(200, #"{"Successful":[{"Id":"x"}]}"#), .delivered),
                (Reply(400, #"{"__type":"com.amazonaws.sqs#ThrottlingException"}"#), .deferred),
            ]),
        Case(
            "shopify", "default",
            Reply(200, #"{"data":{"productUpdate":{"product":{"id":"p"},"userErrors":[]}}}"#), .delivered,
            near: [
                (Reply(200, #"{"data":{"productUpdate":null}}"#), .deferred), (Reply(200, "<html>"), .deferred),
                (
                    Reply(200, #"{"data":{"productUpdate":{"product":{"id":"p"}}},"errors":[{"message":"x"}]}"#), .held
                ),
            ]),
        Case(
            "shopify", "default",
            Reply(200, #"{"data":{"productUpdate":{"product":null,"userErrors":[{"field":["id"]}]}}}"#), .failed,
            near: [
                (Reply(200, #"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#), .deferred),
                (Reply(200, #"{"data":{"productUpdate":{"product":null,"userErrors":[]}}}"#), .deferred),
            ]),
        Case(
            "stripe", "default", Reply(500, "", ["Idempotent-Replayed": "true"]), .failed,
            near: [
                (Reply(500, "", ["Idempotent-Replayed": "false"]), .deferred), (Reply(500), .deferred),
                (Reply(429, "", ["Idempotent-Replayed": "true"]), .deferred),
            ]),
        Case(
            "stripe", "default", Reply(503, "", ["Stripe-Should-Retry": "false"]), .failed,
            near: [
                (Reply(503, "", ["Stripe-Should-Retry": "true"]), .deferred),
                (Reply(409, "", ["Stripe-Should-Retry": "false"]), .deferred), (Reply(503), .deferred),
            ]),
        Case(
            "telegram", "default", Reply(403, #"{"ok":false,"description":"Forbidden: bot was blocked by the user"}"#),
            .failed,
            near: [
                (Reply(403, "<html>"), .held), (Reply(401, #"{"ok":false}"#), .held), (Reply(404), .held),
                (Reply(429, #"{"ok":false}"#), .deferred),
            ]),
        Case(
            "webdav", "folder", Reply(405), .delivered,
            near: [(Reply(403), .held), (Reply(423), .deferred), (Reply(507), .deferred)]),
        Case("webdav", "folder", Reply(409), .failed, near: [(Reply(405), .delivered), (Reply(423), .deferred)]),
        Case(
            "webdis", "default", Reply(200, #"{"HSETNX":1}"#), .delivered,
            near: [
                (Reply(200, #"{"HSETNX":[false,"WRONGTYPE m"]}"#), .held), (Reply(200, #"{"HSETNX":"1"}"#), .held),
                (Reply(200, "<html>"), .held),
            ]),
        Case(
            "webdis", "default", Reply(200, #"{"HSETNX":0}"#), .delivered, first: .failed,
            near: [
                (Reply(200, #"{"HSETNX":[false,"OOM command not allowed"]}"#), .deferred),
                (Reply(200, #"{"HSETNX":null}"#), .held),
            ]),
    ]

    @Test(arguments: cases)
    func `a rule matches its answer and not the nearest different answers`(of one: Case) throws {
        let route = try Self.configuration(one.example).route(of: try #require(TypeName(one.type)))
        let hit = Self.verdict(on: one.reply, route, isRepeated: one.first != nil)
        #expect(hit.outcome == one.outcome, "\(hit.rule)")
        #expect(Self.verdict(on: one.reply, route).outcome == one.first ?? one.outcome)
        let rule = try #require(hit.rule.match?.rule)
        #expect(rule.origin != .standard)
        for (reply, outcome) in one.near {
            let verdict = Self.verdict(on: reply, route, isRepeated: one.first != nil)
            #expect(verdict.outcome == outcome, "\(reply): \(verdict.rule)")
            #expect(verdict.rule.match?.rule != rule, "\(reply)")
        }
    }

    @Test func `every example rule that delivers or fails has a case`() throws {
        var seen: [String: Set<AnswerRule>] = [:]
        for one in Self.cases {
            let route = try Self.configuration(one.example).route(of: try #require(TypeName(one.type)))
            for isRepeated in [false, true] {
                if let rule = Self.verdict(on: one.reply, route, isRepeated: isRepeated).rule.match?.rule {
                    seen[one.example, default: []].insert(rule)
                }
            }
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: Self.directory) where file.hasSuffix(".json5") {
            let example = String(file.dropLast(".json5".count))
            let configuration = try Self.configuration(example)
            for route in configuration.routes.values + [configuration.defaultRoute] {
                let own = (route.url == nil ? [] : route.answers + route.classify + [route.accept].compactMap(\.self))
                for rule in own where rule.outcome == .delivered || rule.outcome == .failed {
                    #expect(seen[example]?.contains(rule) == true, "\(example): \(rule)")
                }
            }
        }
    }

    @Test func `the example memory repeats a search within seconds after an outage of any length`() throws {
        let settings = try #require(try Self.configuration("memory").destinations["memory-search"])
        for failures in 0..<100 {
            #expect(DestinationState.coolDown(after: failures, settings) <= .seconds(5))
        }
        #expect(try #require(settings.holdProbe) <= .seconds(5))
    }

    @Test(arguments: [
        ("memory", "https://us-central1-example.cloudfunctions.net"), ("profile", "https://api.example.com"),
        ("notes", "https://notes.example.com"),
    ])
    func `an exact schedule has no jitter and the default circuit breaker`(
        example: String, destination: String
    ) throws {
        let configuration = try Self.configuration(example)
        let settings = configuration.destinations[destination] ?? DestinationSettings()
        #expect(settings.circuitBreaker == DestinationSettings().circuitBreaker)
        #expect(settings.coolDown == DestinationSettings().coolDown)
        #expect(configuration.defaultRoute.retry.jitter == 0)
    }

    // MARK: - Parts

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "etc/drainq/examples").path

    private static func configuration(_ example: String) throws -> Configuration {
        let bytes = try Data(contentsOf: URL(filePath: directory).appending(path: "\(example).json5"))
        return try ConfigurationFile.read(Array(bytes), name: example, directory: "/etc/drainq")
    }

    /// Returns the verdict on the only operation of the request, whose id is `x`. `isRepeated`: whether an earlier
    /// request of the operation may have arrived.
    private static func verdict(on reply: Reply, _ route: Route, isRepeated: Bool = false) -> Verdict {
        let headers = reply.headers.map { HeaderField(name: $0.key, value: $0.value) }
        let answer = AttemptReport.Answer(status: reply.status, headers: headers, body: Array(reply.body.utf8))
        let report = SealedReport(AttemptReport(result: .answer(answer), duration: .zero), .none)
        let now = Timestamp(microseconds: 0)
        let id = OperationID("x")!
        let each = route.batch?.verdicts(
            on: report, members: [id], repeated: isRepeated ? [id] : [], route: route, now: now)
        return each?.first
            ?? Classification.verdict(on: report, route: route, mayHaveArrived: isRepeated, now: now)
    }
}
