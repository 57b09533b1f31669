import Testing

@testable import Policy

/// Chains: the values kept from an answer, and their placeholders.
struct KeptValueTests {
    private func operation(_ kept: [String: String]?, key: String? = "7") -> Operation {
        var operation = Operation(
            header: OperationHeader(
                id: OperationID("a")!, createdAt: Timestamp(microseconds: 0), contentType: "application/json", key: key),
            body: Array("{}".utf8))
        operation.kept = kept?.mapValues { KeptValue(json: $0.utf8)! }
        return operation
    }

    private func request(_ route: Route, _ operation: Operation) throws(RequestError) -> OutgoingRequest {
        #expect(route.problems.isEmpty)
        return try RequestForm(route).request(for: operation, attempt: 1, version: "1")
    }

    @Test(arguments: [
        (#""n/7 é""#, "/n%2F7%20%C3%A9", #"{"v":"n/7 é","t":"n/7 é"}"#), ("17", "/17", #"{"v":17,"t":"17"}"#),
        ("1.10", "/1.10", #"{"v":1.10,"t":"1.10"}"#), ("true", "/true", #"{"v":true,"t":"true"}"#),
        (#""a\"b{id}""#, "/a%22b%7Bid%7D", #"{"v":"a\"b{id}","t":"a\"b{id}"}"#),
    ])
    func `a kept value is escaped for its place`(json: String, path: String, body: String) throws {
        let route = Route(url: "https://a/{kept.v}", body: #"{"v":{kept.v},"t":"{kept.v}"}"#)
        let made = try request(route, operation(["v": json]))
        #expect(made.url == "https://a" + path)
        #expect(String(decoding: made.body ?? [], as: UTF8.self) == body)
        #expect(route.keptNames == ["v"])
    }

    @Test(arguments: [UInt64](0..<20))
    func `a kept value of any text stays in its place and is read back`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let letters = Array("{}\"\\$:a/\n\u{0}\u{1F}é\u{2028}😀 ,[]%&=?#.".unicodeScalars)
        for _ in 0..<50 {
            var text = ""
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                text.unicodeScalars.append(letters.randomElement(using: &generator)!)
            }
            let hasControl = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            guard let value = KeptValue(json: JSONText.quoted(text).utf8) else {
                #expect(text.isEmpty || hasControl)
                continue
            }
            #expect(!hasControl && KeptValue(json: value.json.utf8) == value)
            let route = Route(
                url: "https://a/x/{kept.v}/y?q={kept.v}", headers: [HeaderField(name: "X", value: "{kept.v}")],
                body: #"{"v":{kept.v},"t":"{kept.v}"}"#)
            guard let made = try? request(route, operation(["v": value.json])) else {
                #expect(text == "." || text == "..")
                continue
            }
            #expect(made.url.split(separator: "/").count == 5 && !made.url.contains("#"))
            #expect(made.headers.first?.value == text)
            let document = try JSONDocument(made.body ?? [])
            for pointer in ["/v", "/t"] {
                guard case .string(let back)? = document.value(at: JSONPointer(pointer)!) else {
                    throw RequestError.badIdempotencyKey
                }
                #expect(back.unicodeScalars.elementsEqual(text.unicodeScalars))
            }
        }
    }

    @Test func `an operation without a key is refused, but not an operation without a kept value`() throws {
        let route = Route(url: "https://a/{kept.v}", body: #"{"v":{kept.v}}"#)
        let reason = "is remembered by key, and the operation has no key"
        #expect(
            route.defect(of: operation(nil, key: nil)) == .unusableValue(placeholder: "kept.v", reason: reason))
        #expect(route.defect(of: operation(nil)) == nil)
    }

    @Test(arguments: ["{kept}", "{kept.}", "{kept.a.b}", "{kept.a b}", "{Kept.a}"])
    func `an invalid name of a kept value is a configuration error`(text: String) {
        #expect(Route(url: "https://a/\(text)").problems.map(\.key) == ["url"])
    }

    @Test func `kept values are refused in key, idempotencyKey and batches`() {
        #expect(Route(key: "{kept.v}").problems.map(\.reason) == ["'{kept.v}' means nothing here"])
        #expect(Route(idempotencyKey: "{kept.v}").problems.map(\.reason) == ["'{kept.v}' means nothing here"])
        #expect(Route(keep: ["v": .pointer(JSONPointer("/id")!)], batch: Batch(max: 2)).problems.map(\.key) == ["keep"])
    }

    // MARK: - Answers

    private func settlement(
        _ answer: AttemptReport.Answer, _ route: Route, secrets: [String: String] = [:]
    ) -> Settlement {
        let report = SealedReport(
            AttemptReport(result: .answer(answer), duration: .zero), Redaction(SecretValues(values: secrets)))
        let now = Timestamp(microseconds: 0)
        var generator = SeededGenerator(seed: 1)
        let operation = operation(nil)
        return Settlement.decide(
            on: report, verdict: Classification.verdict(on: report, route: route, now: now), of: operation,
            name: EntryName(createdAt: now, id: operation.header.id), route: route, inBatch: false,
            keepsDelivered: false, start: now, now: now, using: &generator)
    }

    private func answer(_ body: String, status: Int = 201, _ headers: [HeaderField] = []) -> AttemptReport.Answer {
        AttemptReport.Answer(status: status, headers: headers, body: Array(body.utf8))
    }

    @Test func `a delivery keeps the configured values of body and header`() {
        let route = Route(keep: ["id": .pointer(JSONPointer("/data/id")!), "tag": .header("etag")])
        let left = settlement(answer(#"{"data":{"id":1.50}}"#, [HeaderField(name: "ETag", value: #""x""#)]), route)
        #expect(left.kept.values.mapValues(\.json) == ["id": "1.50", "tag": #""\"x\"""#])
        #expect(left.kept.unkept.isEmpty)
        #expect(settlement(answer(#"{"data":{"id":1}}"#, status: 422), route).kept.isEmpty)
    }

    @Test(arguments: [
        ("", KeepError.notJSON), ("{}", .missing), (#"{"id":null}"#, .noScalar), (#"{"id":[1]}"#, .noScalar),
        (#"{"id":"a\ud800"}"#, .noText),
        (#"{"id":""}"#, .empty), (#"{"id":"a\nb"}"#, .control),
        (#"{"id":"\#(String(repeating: "x", count: 1025))"}"#, .tooLong), (#"{"id":"a-s3cr3t-b"}"#, .secret),
    ])
    func `an answer without a usable value reports the reason`(body: String, reason: KeepError) {
        let route = Route(keep: ["id": .pointer(JSONPointer("/id")!)])
        let left = settlement(answer(body), route, secrets: ["k": "s3cr3t"])
        #expect(left.disposition == .delivered(keep: false) && left.kept.values.isEmpty)
        #expect(left.kept.unkept == ["id": reason])
    }

    @Test func `a number ending like the beginning of a secret is kept`() {
        let route = Route(keep: ["id": .pointer(JSONPointer("/id")!)])
        let left = settlement(answer(#"{"id":991234}"#), route, secrets: ["k": "12345678"])
        #expect(left.kept.values.mapValues(\.json) == ["id": "991234"])
    }

    @Test func `a whole answer is kept without the secrets of its request`() {
        var route = Route(keepsAnswer: true)
        let left = settlement(
            answer("it is s3cr3t", [HeaderField(name: "content-type", value: "text/plain")]), route,
            secrets: ["k": "s3cr3t"])
        #expect(left.disposition == .delivered(keep: true))
        #expect(left.record.answer == KeptAnswer(contentType: "text/plain", body: Array("it is [secret]".utf8)))
        route.keepsAnswer = false
        #expect(settlement(answer("x"), route).record.answer == nil)
    }

    @Test func `an operation waits for a kept value until its schedule or its lifetime ends`() {
        let day = Duration.seconds(86_400)
        var operation = operation(nil)
        operation.header.createdAt = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
        let created = operation.header.createdAt
        func settlement(_ route: Route, after age: Duration) -> Settlement? {
            Settlement.decide(onAgeOf: operation, lacking: "v", route: route, now: created + age)
        }
        #expect(settlement(Route(), after: day * 3 - .microseconds(1)) == nil)
        #expect(
            settlement(Route(), after: day * 3)?.record.rule
                == "age used up (3d); last no answer has left '{kept.v}' for its key")
        #expect(settlement(Route(expiresAfter: day), after: day)?.disposition == .failed(countsAttempt: false))
    }
}
