import Testing

@testable import Policy

struct RequestContentTests {
    private let file = BodyFile(path: "/data/x", length: 3, modified: 0, inode: 1)

    private func operation(
        _ body: String, change: (inout OperationHeader) -> Void = { _ in }
    ) -> Operation {
        var header = OperationHeader(
            id: OperationID("id-1")!, type: TypeName("t")!, createdAt: Timestamp(rfc3339: "2026-11-21T09:15:00Z")!,
            contentType: "text/plain")
        change(&header)
        return Operation(header: header, body: Array(body.utf8))
    }

    private func error(_ route: Route, _ operation: Operation) -> RequestError? {
        do {
            _ = try RequestForm(route).request(for: operation, attempt: 1, version: "1", available: Transport.allCases)
            return nil
        } catch {
            return error
        }
    }

    private func sent(_ route: Route, _ operation: Operation) throws -> (body: String, type: String?) {
        let request = try RequestForm(route).request(for: operation, attempt: 1, version: "1")
        return (
            String(decoding: request.body ?? [], as: UTF8.self),
            request.headers.first { $0.name == "Content-Type" }?.value
        )
    }

    @Test func `a callable function gets the payload as its data, byte for byte`() throws {
        let route = Route(url: "https://a", protocol: .callable)
        let made = try sent(route, operation(" {\"a\": 1.10,\n \"a\":12345678901234567890} "))
        #expect(made.body == "{\"data\":{\"a\": 1.10,\n \"a\":12345678901234567890}}")
        #expect(made.type == "application/json")
    }

    @Test func `an envelope wraps the payload`() throws {
        let template = #"{"e": {payload}, "w": "{createdAt} {id}/{type}/{key}", "n": "{payload.n.x}", "{{x}": {}}"#
        #expect(Route(body: template).problems.isEmpty)
        let made = try sent(
            Route(url: "https://a", body: template),
            operation(#"{"n": {"x":"q\"\n\u00e9"}, "m":1.0}"#) { $0.key = #"k"\"# })
        #expect(
            made.body
                == #"{"e": {"n": {"x":"q\"\n\u00e9"}, "m":1.0}, "w": "2026-11-21T09:15:00Z id-1/t/k\"\\", "n": "q\"\n\u00e9", "{x}": {}}"#
        )
        #expect(made.type == "application/json")
        let callable = Route(url: "https://a", protocol: .callable, body: #"{"p":{payload}}"#)
        #expect(try sent(callable, operation("[1]")).body == #"{"data":{"p":[1]}}"#)
    }

    @Test(arguments: [
        (#"{{payload}: 1}"#), (#"{ {payload}: 1}"#), (#"{"a": "\{id}"}"#), (#"{"a": "\u00{id}"}"#),
        "{payload} {payload}", #"{"a": tru{id}}"#, #"{"a": 1{id}}"#, "a={payload}",
    ])
    func `a body template that may yield invalid JSON is a configuration error`(text: String) throws {
        let problem = try #require(Route(body: text).problems.first)
        #expect(problem.key == "body")
        #expect(problem.reason.hasPrefix("the template is not JSON with its placeholders filled in: "))
    }

    @Test func `an empty envelope sends no payload`() throws {
        for (method, body) in [("GET", nil), ("DELETE", nil), ("POST", [])] as [(String, [UInt8]?)] {
            let route = Route(url: "https://a/{payload.id}", method: method, body: "")
            let request = try RequestForm(route).request(for: operation(#"{"id":7}"#), attempt: 1, version: "1")
            #expect(request.url == "https://a/7")
            #expect(request.body == body)
            #expect(!request.headers.contains { $0.name == "Content-Type" })
        }
        #expect(Route(body: "").problems.isEmpty)
        #expect(Route(protocol: .callable, body: "").problems.map(\.key) == ["body"])
    }

    @Test func `a route that needs JSON refuses a payload without JSON`() {
        let routes = [
            Route(url: "https://a", protocol: .callable),
            Route(url: "https://a", body: "[{payload}]"),
            Route(url: "https://a", require: [JSONCondition(pointer: JSONPointer(tokens: []), test: .exists(true))]),
            Route(url: "https://a", batch: Batch(max: 2)),
        ]
        for route in routes {
            let table = [
                ("", "is empty, and the route needs JSON"),
                ("{", "is not JSON, which the route needs: expected a name in quotes, found the end at byte 1"),
                ("1 2", "is not JSON, which the route needs: there is more than one value at byte 2"),
            ]
            for (body, reason) in table {
                #expect(error(route, operation(body)) == .notJSON(reason: reason))
                #expect(route.defect(of: operation(body)) == .notJSON(reason: reason))
            }
        }
        let named = Route(url: "https://a", body: #"["{payload.x}","{key}"]"#)
        #expect(error(named, operation("{}")) == .missingValue(placeholder: "payload.x"))
        #expect(error(named, operation(#"{"x":1}"#)) == .missingValue(placeholder: "key"))
    }

    @Test func `a payload that does not meet the route's requirements fails unsent`() throws {
        let content = JSONCondition(pointer: try #require(JSONPointer("/content")), test: .notEmpty)
        let route = Route(url: "https://a", require: [content])
        #expect(error(route, operation(#"{"content":"x"}"#)) == nil)
        for body in ["{}", #"{"content":" \n"}"#, #"{"content":null}"#, "[]"] {
            let refusal = try #require(error(route, operation(body)))
            #expect(refusal == .requirementNotMet(content))
            #expect(refusal == route.defect(of: operation(body)))
            #expect(refusal.outcome == .failed)
            #expect(refusal.description == "the payload does not meet the route's 'require': /content is empty")
        }
    }

    @Test(arguments: OverridableField.allCases)
    func `an operation overrides only the fields the route allows`(field: OverridableField) {
        let brings = operation("1") {
            switch field {
            case .method: $0.method = "PUT"
            case .url: $0.url = "https://a/"
            case .headers: $0.headers = [HeaderField(name: "X", value: "1")]
            }
        }
        #expect(error(Route(url: "https://a"), brings) == nil)
        let strict = Route(url: "https://a", overrides: Set(OverridableField.allCases).subtracting([field]))
        #expect(error(strict, brings) == .notOverridable(field))
        #expect(strict.defect(of: brings) == .notOverridable(field))
        #expect(error(Route(url: "https://a", overrides: []), operation("1")) == nil)
    }

    @Test func `a body file is streamed unchanged or refused`() throws {
        let upload = operation("") {
            $0.bodyFile = file
            $0.contentType = nil
        }
        let made = try RequestForm(Route(url: "https://a")).request(
            for: upload, attempt: 1, version: "1", available: Transport.allCases)
        #expect(made.bodyFile == file)
        #expect(made.body == nil)
        #expect(made.transport == .libcurl)
        #expect(made.headers.first == HeaderField(name: "Content-Type", value: "application/octet-stream"))
        let table: [(Route, String)] = [
            (Route(url: "https://a", protocol: .callable), "cannot be put into the envelope of the route"),
            (Route(url: "https://a", body: "1"), "cannot be put into the envelope of the route"),
            (
                Route(url: "https://a", require: [JSONCondition(pointer: JSONPointer(tokens: []), test: .notEmpty)]),
                "is not looked into, and the route has requirements"
            ),
        ]
        for (route, reason) in table {
            #expect(error(route, upload) == .badBodyFile(path: "/data/x", reason: reason))
            #expect(route.defect(of: upload) == .badBodyFile(path: "/data/x", reason: reason))
        }
    }

    @Test func `a batching route sends a body file alone and unchanged`() throws {
        let upload = operation("") { $0.bodyFile = file }
        let form = RequestForm(Route(url: "https://a", batch: Batch(max: 2)))
        #expect(form.defect(of: upload) == nil)
        #expect(BatchDraft(upload, form: form) == nil)
        var draft = try #require(BatchDraft(operation("1"), form: form))
        let isAdmitted = draft.admit(upload)
        #expect(!isAdmitted)
        let made = try form.request(for: upload, attempt: 1, version: "1", available: Transport.allCases)
        #expect(made.bodyFile == file && made.body == nil)
    }

    @Test func `adding an operation reports only defects of the operation, not of the route`() {
        #expect(Route().defect(of: operation("1")) == nil)
        #expect(Route(url: "ftp://x").defect(of: operation("1")) == nil)
        #expect(Route(url: "https://a/{nope}").defect(of: operation("1")) == nil)
        let route = Route(url: "https://a/{key}")
        #expect(route.defect(of: operation("1")) == .missingValue(placeholder: "key"))
        #expect(Route(url: "https://a").defect(of: operation("1") { $0.idempotencyKey = "é" }) == .badIdempotencyKey)
    }

    @Test func `contradicting settings are configuration errors`() throws {
        let pointer = JSONPointer(tokens: ["x"])
        let accept = AnswerRule.accept(json: [JSONCondition(pointer: pointer, test: .exists(true))])
        let table: [(Route, [String])] = [
            (Route(), []), (Route(protocol: .callable, batch: Batch(max: 2)), ["batch"]),
            (Route(batch: Batch(max: 2, results: .init(pointer: pointer))), ["batch.results"]),
            (Route(batch: Batch(max: 2, results: .init(pointer: pointer, error: pointer))), []),
            (Route(method: "HEAD", accept: accept), ["method"]),
            (Route(method: "HEAD", answers: [AnswerRule(.answers(0), .statuses(nil), .failed)]), []),
            (
                Route(
                    method: "HEAD",
                    answers: [AnswerRule(.answers(0), .statuses(nil), content: AnswerContent(text: "x"), .failed)]),
                ["method"]
            ),
            (Route(method: "HEAD", accept: AnswerRule.accept(contentType: "a/b")), []),
            (Route(accept: accept, answerLimit: 0), ["answerLimit"]),
            (Route(protocol: .callable, answerLimit: 0), ["answerLimit"]), (Route(answerLimit: 0), []),
        ]
        for (route, keys) in table { #expect(route.problems.map(\.key) == keys) }
    }
}
