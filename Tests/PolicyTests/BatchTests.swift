import Testing

@testable import Policy

struct BatchTests {
    private let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    private func operation(
        _ id: String, _ body: String, change: (inout OperationHeader) -> Void = { _ in }
    ) -> Operation {
        var header = OperationHeader(
            id: OperationID(id)!, createdAt: Timestamp(microseconds: 0), contentType: "application/json")
        change(&header)
        return Operation(header: header, body: Array(body.utf8))
    }

    private func request(_ route: Route, _ members: [Operation]) throws -> OutgoingRequest {
        try RequestForm(route).batchRequest(for: members, attempt: 3, version: "1", available: Transport.allCases)
    }

    private func text(_ request: OutgoingRequest) -> String { String(decoding: request.body ?? [], as: UTF8.self) }

    private func key(_ request: OutgoingRequest) -> String? {
        request.headers.first { $0.name == "Idempotency-Key" }?.value
    }

    @Test(arguments: [
        (Batch.Format.json, "[{\"n\":\n1.10},2]", "application/json"),
        (.ndjson, "{\"n\": 1.10}\n2\n", "application/x-ndjson"),
    ])
    func `a batch joins payloads and keeps their numbers`(format: Batch.Format, body: String, type: String) throws {
        let route = Route(url: "https://a", batch: Batch(max: 10, format: format))
        let made = try request(route, [operation("a", " {\"n\":\n1.10} "), operation("b", "2")])
        #expect(text(made) == body)
        #expect(made.headers.contains(HeaderField(name: "Content-Type", value: type)))
        #expect(made.headers.contains(HeaderField(name: "Drainq-Attempt", value: "3")))
    }

    @Test func `header values in different normal forms make different requests`() throws {
        let route = Route(
            url: "https://a", headers: [HeaderField(name: "X", value: "{payload.t}")], batch: Batch(max: 9))
        var draft = try #require(
            BatchDraft(operation("a", "{\"t\":\"caf\u{E9}\"}"), form: RequestForm(route)))
        let isOther = draft.admit(operation("b", "{\"t\":\"cafe\u{301}\"}"))
        let isSame = draft.admit(operation("c", #"{"t":"caf\u00e9"}"#))
        #expect(!isOther && isSame)
    }

    @Test func `operations with different files of secrets are in different batches`() throws {
        let route = Route(
            url: "https://a", headers: [HeaderField(name: "Authorization", value: "Bearer ${secret:t}")],
            batch: Batch(max: 9))
        let form = RequestForm(route, sources: ["t": .operationFile("{payload.user}.token")])
        var draft = try #require(BatchDraft(operation("a", "{\"user\":\"caf\u{E9}\"}"), form: form))
        let isOther = draft.admit(operation("b", "{\"user\":\"cafe\u{301}\"}"))
        let isSame = draft.admit(operation("c", #"{"user":"caf\u00e9"}"#))
        #expect(!isOther && isSame)
    }

    @Test func `each payload has its own envelope`() throws {
        let route = Route(
            url: "https://a", body: #"{"i":"{id}","p":{payload}}"#, batch: Batch(max: 10))
        let made = try request(route, [operation("a", "1"), operation("b", "2")])
        #expect(text(made) == #"[{"i":"a","p":1},{"i":"b","p":2}]"#)
    }

    @Test func `a batch's key depends on its operations, and a single operation keeps its own key`() throws {
        let route = Route(url: "https://a", batch: Batch(max: 10))
        let (a, b) = (operation("a", "1"), operation("b", "2"))
        let both = try #require(key(request(route, [a, b])))
        #expect(both == "\"batch-7e18f737311b2dc3b2f269dd\"")
        #expect(try key(request(route, [a, b])) == both)
        #expect(try key(request(route, [b, a])) != both)
        #expect(try key(request(route, [a])) == "\"a\"")
        #expect(try RequestForm(route).request(for: a, attempt: 3, version: "1") == request(route, [a]))
        #expect(throws: RequestError.badIdempotencyKey) {
            try request(route, [a, operation("c", "1") { $0.idempotencyKey = "é" }])
        }
    }

    @Test func `operations with the same request share a batch`() throws {
        let route = Route(url: "https://a/{type}", batch: Batch(max: 3))
        var draft = try #require(BatchDraft(operation("a", "1"), form: RequestForm(route)))
        let table: [(String, Bool, Operation)] = [
            ("another url", false, operation("b", "1") { $0.url = "https://a/x" }),
            ("another type in the url", false, operation("b", "1") { $0.type = TypeName("t")! }),
            ("another method", false, operation("b", "1") { $0.method = "PUT" }),
            ("another header", false, operation("b", "1") { $0.headers = [HeaderField(name: "X", value: "1")] }),
            ("a key that cannot be sent", false, operation("b", "1") { $0.idempotencyKey = "é" }),
            ("no JSON", false, operation("b", "x")),
            (
                "a file", false,
                operation("b", "") { $0.bodyFile = BodyFile(path: "/f", length: 0, modified: 0, inode: 0) }
            ),
            ("the same url of its own", true, operation("b", "1") { $0.url = "https://a/default" }),
            ("another content type", true, operation("c", "1") { $0.contentType = "text/json" }),
            ("one too many", false, operation("d", "1")),
        ]
        for (what, fits, operation) in table {
            let admitted = draft.admit(operation)
            #expect(admitted == fits, "\(what)")
        }
        #expect(draft.isFull)
        #expect(draft.members.map(\.header.id.description) == ["a", "b", "c"])
        #expect(BatchDraft(operation("a", "1"), form: RequestForm(Route(url: "https://a"))) == nil)
        #expect(BatchDraft(operation("a", "x"), form: RequestForm(route)) == nil)
    }

    @Test(arguments: 0..<50 as Range<UInt64>, Batch.Format.allCases)
    func `a batch stays within its limits of bytes and operations`(seed: UInt64, format: Batch.Format) throws {
        var generator = SeededGenerator(seed: seed)
        let batch = Batch(
            max: Int.random(in: 1...8, using: &generator), maxBytes: Int.random(in: 1...60, using: &generator),
            format: format)
        let route = Route(url: "https://a", batch: batch)
        var waiting = (0..<30).map { number in
            operation(
                "\(number)", "\"" + String(repeating: "x", count: Int.random(in: 0...20, using: &generator)) + "\"")
        }
        var sent: [Operation] = []
        while let first = waiting.first {
            waiting.removeFirst()
            var draft = try #require(BatchDraft(first, form: RequestForm(route)))
            while let next = waiting.first, draft.admit(next) { waiting.removeFirst() }
            let made = try request(route, draft.members)
            #expect(draft.members.count <= batch.max)
            #expect(text(made).utf8.count <= batch.maxBytes || draft.members.count == 1)
            sent += draft.members
        }
        #expect(sent.map(\.header.id.description) == (0..<30).map { "\($0)" })
    }

    // MARK: - Answers

    private func verdicts(
        _ body: String, members: Int = 2, status: Int = 200, _ results: Batch.Results?,
        classify: [AnswerRule] = []
    ) -> [String]? {
        let report = SealedReport(
            result: .answer(
                .init(
                    status: status, headers: [HeaderField(name: "Retry-After", value: "7")], body: Array(body.utf8))),
            duration: .zero)
        let batch = Batch(max: 10, results: results)
        let found = batch.verdicts(
            on: report, members: operations(members), route: Route(classify: classify, batch: batch), now: now)
        return found?.map { verdict in
            #expect(verdict.retryAfter == .seconds(7))
            return "\(verdict.outcome.verb) \(verdict.status ?? 0) \(verdict.rule)"
        }
    }

    /// Returns the ids op-0, op-1 and so on.
    private func operations(_ count: Int) -> [OperationID] { (0..<count).map { OperationID("op-\($0)")! } }

    private let byStatus = Batch.Results(
        pointer: JSONPointer(tokens: ["r"]), status: JSONPointer(tokens: ["s"]), error: JSONPointer(tokens: ["e"]))
    private let byError = Batch.Results(pointer: JSONPointer(tokens: []), error: JSONPointer(tokens: ["e"]))

    @Test func `each operation gets the outcome of its element`() {
        #expect(
            verdicts(#"{"r":[{"s":201},{"s":"422"},{"s":429.0},{"s":503,"e":"x"}]}"#, members: 4, byStatus) == [
                "deliver 201 batch results: status 201: default 200-299 delivers",
                "fail 422 batch results: status 422: default 400-499 fails",
                "defer 429 batch results: status 429: default 429 defers",
                "defer 503 batch results: status 503: default 500-599 defers",
            ])
        #expect(
            verdicts(#"{"r":[{"s":200,"e":{"a":"\u001b"}},{"e":true},{"s":7},{}]}"#, members: 4, byStatus) == [
                #"fail 200 batch results: error {"a":"\u001b"}: fails"#, "fail 200 batch results: error true: fails",
                "defer 200 batch results: no status at '/s': defers",
                "defer 200 batch results: no status at '/s': defers",
            ])
        #expect(
            verdicts(#"[{"e":null},{"e":false},{},0,{"e":"no"}]"#, members: 5, byError) == [
                "deliver 200 batch results: no error: delivers", "deliver 200 batch results: no error: delivers",
                "deliver 200 batch results: no error: delivers", "deliver 200 batch results: no error: delivers",
                #"fail 200 batch results: error "no": fails"#,
            ])
        let override = AnswerRule.classify(.statuses(422...422), outcome: .deferred)
        #expect(
            verdicts(#"{"r":[{"s":422}]}"#, members: 1, byStatus, classify: [override])
                == ["defer 422 batch results: classify \"422\": defer"])
    }

    @Test(arguments: [
        "", "{}", "<html>", #"{"r":[{"s":200}]}"#, #"{"r":[{"s":200},{"s":200},{"s":200}]}"#, #"{"r":{}}"#,
    ])
    func `an answer without a result for each operation defers all`(body: String) {
        let rule = "defer 200 batch results: no array of 2 at '/r': defers"
        #expect(verdicts(body, byStatus) == [rule, rule])
    }

    @Test func `results with operation ids may have any order`() {
        let results = Batch.Results(
            pointer: JSONPointer("/r")!, match: JSONPointer("/id"), status: JSONPointer("/s"))
        #expect(
            verdicts(#"{"r":[{"id":"op-2","s":503},{"id":"op-0","s":201}]}"#, members: 3, results) == [
                "deliver 201 batch results: status 201: default 200-299 delivers",
                "defer 200 batch results: not in the list at '/r': defers",
                "defer 503 batch results: status 503: default 500-599 defers",
            ])
        // By position in the batch.
        #expect(
            verdicts(#"{"r":[{"id":1,"s":200},{"id":0,"s":422}]}"#, results) == [
                "fail 422 batch results: status 422: default 400-499 fails",
                "deliver 200 batch results: status 200: default 200-299 delivers",
            ])
    }

    @Test func `an operation absent from a list of failures is delivered`() {
        let results = Batch.Results(
            pointer: JSONPointer("/Failed")!, listsFailures: true, match: JSONPointer("/Id"),
            error: JSONPointer("/Code"))
        let delivered = "deliver 200 batch results: not in the list at '/Failed': delivers"
        for body in ["{}", #"{"Failed":[]}"#, #"{"Failed":null,"Successful":[]}"#] {
            #expect(verdicts(body, results) == [delivered, delivered])
        }
        #expect(
            verdicts(#"{"Failed":[{"Id":"op-1","Code":"Denied"},{"Id":"op-2"}]}"#, members: 3, results) == [
                delivered, #"fail 200 batch results: error "Denied": fails"#,
                "fail 200 batch results: listed as failed: fails",
            ])
        // A rule defers a failure of the server's own fault.
        let route = Route(
            answers: [
                AnswerRule(
                    .answers(0), .statuses(nil),
                    content: AnswerContent(json: [
                        JSONCondition(pointer: JSONPointer("/SenderFault")!, test: .equals(.bool(false)))
                    ]),
                    .deferred)
            ])
        let body = #"{"Failed":[{"Id":"op-0","SenderFault":false},{"Id":"op-1","SenderFault":true}]}"#
        let report = SealedReport(
            result: .answer(AttemptReport.Answer(status: 200, body: Array(body.utf8))), duration: .zero)
        let batch = Batch(max: 10, results: results)
        let found = batch.verdicts(on: report, members: operations(2), route: route, now: now)
        #expect(found?.map(\.outcome) == [.deferred, .failed])
    }

    @Test(arguments: [
        #"{"Failed":[{"Id":"stranger"}]}"#, #"{"Failed":[{"Id":"op-0"},{"Id":"op-0"}]}"#, #"{"Failed":[{}]}"#,
        #"{"Failed":{}}"#, "[]", "", #"{"Failed":[{"Id":2}]}"#, #"{"Failed":[{"Id":-1}]}"#,
        #"{"Failed":[{"Id":9223372036854775807}]}"#, #"{"Failed":[{"Id":1e999}]}"#, #"{"Failed":[{"Id":[]}]}"#,
        #"{"Failed":[{"Id":"op-0\u200d"}]}"#, #"{"Failed":[{"Id":""}]}"#,
    ])
    func `a list of failures without valid operation ids defers every operation`(body: String) {
        let results = Batch.Results(pointer: JSONPointer("/Failed")!, listsFailures: true, match: JSONPointer("/Id"))
        let rule = "defer 200 batch results: no array at '/Failed' that names the operations at '/Id': defers"
        #expect(verdicts(body, results) == [rule, rule])
    }

    @Test func `an answer to an unknown batch yields its possible operations`() {
        func members(_ body: String, _ results: Batch.Results) -> [String] {
            results.members(in: AttemptReport.Answer(status: 200, body: Array(body.utf8)), most: 10).map(\.description)
        }
        let byId = Batch.Results(pointer: JSONPointer("/r")!, listsFailures: true, match: JSONPointer("/id"))
        #expect(members(#"{"r":[{"id":"a"},{"id":"b"},{"id":"not an id"}]}"#, byId) == ["a", "b"])
        #expect(members(#"{"r":[{"id":2}]}"#, byId) == ["0", "1", "2"])
        #expect(members(#"{"r":[{"id":9223372036854775807}]}"#, byId) == ["0"])
        #expect(members("{}", byId) == ["0"] && members("no", byStatus) == ["0"])
        #expect(members(#"{"r":[1,2,3]}"#, byStatus) == ["0", "1", "2"])
    }

    @Test func `an answer names at most as many operations as a batch has`() {
        let byId = Batch.Results(pointer: JSONPointer("/r")!, listsFailures: true, match: JSONPointer("/id"))
        let list = (0..<1000).map { #"{"id":"op-\#($0)"}"# }.joined(separator: ",")
        for (body, results) in [(#"{"r":[\#(list)]}"#, byId), (#"{"r":[\#(list),{"id":9}]}"#, byId)] {
            let answer = AttemptReport.Answer(status: 200, body: Array(body.utf8))
            #expect(results.members(in: answer, most: 10).count == 10)
        }
        // A list longer than the batch does not match the batch.
        let two = operations(2)
        let report = SealedReport(
            result: .answer(AttemptReport.Answer(status: 200, body: Array(#"{"r":[\#(list)]}"#.utf8))), duration: .zero)
        for results in [byId, byStatus] {
            let found = Batch(max: 2, results: results).verdicts(on: report, members: two, route: Route(), now: now)
            #expect(found?.map(\.rule) == [.misaligned(results, members: 2), .misaligned(results, members: 2)])
        }
    }

    @Test func `a cut answer is reported as cut, and a byte order mark hides no result`() {
        let two = operations(2)
        func rules(_ body: [UInt8], isCut: Bool) -> [Rule]? {
            let answer = AttemptReport.Answer(status: 200, body: body, isCut: isCut)
            return Batch(max: 2, results: byStatus).verdicts(
                on: SealedReport(result: .answer(answer), duration: .zero), members: two, route: Route(), now: now
            )?.map(\.rule)
        }
        let body = Array(#"{"r":[{"s":200},{"s":422}]}"#.utf8)
        let cut = Rule.misaligned(byStatus, members: 2, isCut: true)
        #expect(rules(body, isCut: true) == [cut, cut])
        #expect("\(cut)".contains("longer than answerLimit"))
        #expect(rules(body, isCut: false)?.count == 2)
        #expect(rules([0xEF, 0xBB, 0xBF] + body, isCut: false) == rules(body, isCut: false))
    }

    @Test func `an id is compared by its bytes, not by canonical equivalence`() {
        // U+212A, the sign of the unit kelvin, is canonically equivalent to K.
        let results = Batch.Results(pointer: JSONPointer("/r")!, listsFailures: true, match: JSONPointer("/id"))
        let answer = AttemptReport.Answer(status: 200, body: Array("{\"r\":[{\"id\":\"\u{212A}\"}]}".utf8))
        let found = Batch(max: 1, results: results).verdicts(
            on: SealedReport(result: .answer(answer), duration: .zero), members: [OperationID("K")!], route: Route(),
            now: now)
        #expect(found?.map(\.rule) == [.misaligned(results, members: 1)])
    }

    @Test(arguments: [
        ("200", "deliver 200"), ("200.0", "deliver 200"), ("2e2", "deliver 200"), (#""200""#, "deliver 200"),
        ("422.000", "fail 422"), ("599", "defer 599"), ("2000e-1", "deliver 200"),
    ])
    func `a status is a number in any notation or a text of three digits`(text: String, start: String) {
        #expect(verdicts(#"{"r":[{"s":\#(text)}]}"#, members: 1, byStatus)?.first?.hasPrefix(start) == true)
    }

    @Test(arguments: [
        "99", "600", "200.5", "-200", "1e999", #""+20""#, #""0200""#, #""200.0""#, #"" 200""#, "true", "null", "[200]",
    ])
    func `an invalid number, text or value is no status`(text: String) {
        let none = verdicts(#"{"r":[{"s":7}]}"#, members: 1, byStatus)
        #expect(verdicts(#"{"r":[{"s":\#(text)}]}"#, members: 1, byStatus) == none)
    }

    @Test func `a batch without a successful answer and configured results is settled as a whole`() {
        #expect(verdicts(#"{"r":[{"s":200},{"s":422}]}"#, nil) == nil)
        for status in [302, 400, 401, 429, 503] {
            #expect(verdicts(#"{"r":[{"s":200},{"s":422}]}"#, status: status, byStatus) == nil)
        }
        let lost = SealedReport(result: .failure(.reset, detail: ""), duration: .zero)
        #expect(
            Batch(max: 2, results: byStatus).verdicts(on: lost, members: operations(2), route: Route(), now: now) == nil
        )
    }

    @Test func `a permanently refused batch is split until an operation is alone`() {
        for status in [200, 401, 400, 413, 422, 503] {
            let verdict = Classification.verdict(onStatus: status, route: Route())
            #expect(Batch.isToBeSplit(verdict, members: 2) == [400, 413, 422].contains(status))
            #expect(!Batch.isToBeSplit(verdict, members: 1))
        }
    }
}
