import Testing

@testable import Policy

/// A table of places, values and sent bytes.
struct TemplateTests {
    private static let payload =
        #"{"s":"a\"b/ é\n","n":1.10,"t":true,"z":null,"e":"","o":{"x": [1, 2]},"l":["p","q"],"twice":1,"twice":2}"#

    private func operation(
        _ body: String = payload, type: String = "application/json", key: String? = "k/1"
    ) -> Operation {
        let header = OperationHeader(
            id: OperationID("id-1")!, type: TypeName("note")!,
            createdAt: Timestamp(rfc3339: "2026-11-21T09:15:00.250Z")!,
            contentType: type, key: key)
        return Operation(header: header, body: Array(body.utf8))
    }

    private func request(
        _ route: Route, _ operation: Operation, attempt: Int = 3
    ) throws(RequestError) -> OutgoingRequest {
        try RequestForm(route).request(
            for: operation, attempt: attempt, version: "1",
            secrets: SecretValues(values: ["api": #"s"1"#]), available: Transport.allCases)
    }

    private func error(_ route: Route, _ operation: Operation) -> RequestError? {
        do {
            _ = try request(route, operation)
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Places

    @Test(arguments: [
        ("/{id}/{type}/{key}", "/id-1/note/k%2F1"), ("/{attempt}?a={attempt}", "/3?a=3"),
        ("/?t={createdAt}", "/?t=2026-11-21T09%3A15%3A00.250Z"),
        ("/{payload.s}", "/a%22b%2F%20%C3%A9%0A"), ("/{payload.n}/{payload.t}", "/1.10/true"),
        ("/?e={payload.e}", "/?e="), ("/{payload.l.1}", "/q"), ("/{payload.twice}", "/2"),
        ("/{payload.s:base64}", "/YSJiLyDDqQo%3D"), ("/{id:base64}", "/aWQtMQ%3D%3D"), ("/${secret:api}", "/s%221"),
        ("/{{id}", "/%7Bid%7D"), ("/?s=${secret:api:base64}", "/?s=cyIx"),
        ("/{createdAt}/{createdAt:rfc3339}", "/2026-11-21T09:15:00.250Z/2026-11-21T09:15:00Z"),
        ("/{createdAt:epoch}?m={createdAt:epochMillis}", "/1795252500?m=1795252500250"),
        (#"/{payload.no|"a:;b c@"}/{key|"k"}"#, "/a:%3Bb%20c@/k%2F1"),
        (#"/?z={payload.z|"none"}&n={payload.no|0}"#, "/?z=none&n=0"),
        ("/?a={payload.no?}&b={payload.n?}&c={payload.z?}", "/?b=1.10"), ("/?a={payload.no?}", "/?"),
    ])
    func `a url template yields the expected url`(template: String, expected: String) throws {
        let route = Route(url: "https://a" + template)
        #expect(route.problems.isEmpty)
        #expect(try request(route, operation()).url == "https://a" + expected)
    }

    @Test(arguments: [
        ("{id} {type} {key} {attempt}", "id-1 note k/1 3"), ("{payload.n}", "1.10"), ("v={payload.e};", "v=;"),
        (#"{"a":1} { {{id} $5"#, #"{"a":1} { {id} $5"#), ("Bearer ${secret:api}", #"Bearer s"1"#),
        ("{payload:base64}", "eyJz"),
    ])
    func `a header template yields the expected value`(template: String, expected: String) throws {
        let route = Route(url: "https://a", headers: [HeaderField(name: "X-A", value: template)])
        #expect(route.problems.isEmpty)
        let value = try #require(try request(route, operation()).headers.first).value
        #expect(value == expected || template.contains("base64") && value.hasPrefix(expected))
    }

    @Test(arguments: [
        (#"{"i":{id},"a":{attempt},"k":{key}}"#, #"{"i":"id-1","a":3,"k":"k/1"}"#),
        (#"{"i":"{id}","a":"{attempt}","c":"{createdAt}"}"#, #"{"i":"id-1","a":"3","c":"2026-11-21T09:15:00.250Z"}"#),
        (
            #"[{payload.s},{payload.n},{payload.t},{payload.z},{payload.o}]"#,
            #"["a\"b/ é\n",1.10,true,null,{"x": [1, 2]}]"#
        ),
        (
            #"["{payload.s}","{payload.n}","{payload.t}","{payload.o}"]"#,
            #"["a\"b/ é\n","1.10","true","{\"x\": [1, 2]}"]"#
        ),
        (#"{"p":{payload}}"#, #"{"p":\#(payload)}"#),
        (#"{"${secret:api}":${secret:api}}"#, #"{"s\"1":"s\"1"}"#),
        (#"{"a":{"b":{"c":"{{id}, \" {id}"}}}"#, #"{"a":{"b":{"c":"{id}, \" id-1"}}}"#),
        (#"["{payload.o:base64}",{payload.l.0:base64}]"#, #"["eyJ4IjogWzEsIDJdfQ==","cA=="]"#),
        (
            #"{"a":{payload.no|"x\"}\n"},"b":{payload.no|[1, 2]},"c":"-{payload.z|"?"}-","d":{payload.z|1}}"#,
            #"{"a":"x\"}\n","b":[1, 2],"c":"-?-","d":null}"#
        ),
        (
            #"{"t":{createdAt:epoch},"s":"{createdAt:epoch}","r":{createdAt:rfc3339},"k":{key:base64}}"#,
            #"{"t":1795252500,"s":"1795252500","r":"2026-11-21T09:15:00Z","k":"ay8x"}"#
        ),
    ])
    func `a JSON template yields the expected body`(template: String, expected: String) throws {
        let route = Route(url: "https://a", body: template)
        #expect(route.problems.isEmpty)
        let made = try request(route, operation())
        #expect(String(decoding: made.body ?? [], as: UTF8.self) == expected)
        #expect(made.headers.contains(HeaderField(name: "Content-Type", value: "application/json")))
        _ = try JSONDocument(made.body ?? [])
    }

    @Test(arguments: [
        (#""hello""#, "application/json", #"{"m":"hello"}"#),
        (#"{"a":"b"}"#, "application/json", #"{"m":"{\"a\":\"b\"}"}"#),
        ("1.50", "application/json", #"{"m":"1.50"}"#), ("a \"line\"\n", "text/plain", #"{"m":"a \"line\"\n"}"#),
        ("", "text/plain", #"{"m":""}"#),
    ])
    func `a payload between quotes is the inside of a string`(body: String, type: String, expected: String) throws {
        let made = try request(Route(url: "https://a", body: #"{"m":"{payload}"}"#), operation(body, type: type))
        #expect(String(decoding: made.body ?? [], as: UTF8.self) == expected)
    }

    /// Tests every combination of members and of elements that are required, optional and missing, or optional and
    /// present.
    @Test func `a missing optional value omits its member and a comma`() throws {
        let kinds = ["1", "{payload.no?}", "{payload.n?}"]
        for count in 1...4 {
            for number in 0..<Int(repeatElement(3, count: count).reduce(1, *)) {
                var (number, members, expected): (Int, [String], [String]) = (number, [], [])
                for index in 0..<count {
                    let kind = kinds[number % 3]
                    number /= 3
                    members.append(kind)
                    if kind != kinds[1] { expected.append("\(index):\(kind == "1" ? "1" : "1.10")") }
                }
                let names = members.enumerated().map { #"\#($0 % 2 == 0 ? " " : "")"\#($0)\#u{22} :\#($1)"# }
                let named = #"{"o":{\#(names.joined(separator: ",")) }}"#
                let listed = "[\(members.joined(separator: " , "))]"
                for (text, pattern) in [(named, true), (listed, false)] {
                    let route = Route(url: "https://a", body: text)
                    #expect(route.problems.isEmpty, "\(text)")
                    let body = try request(route, operation()).body ?? []
                    let all = String(decoding: body, as: UTF8.self)
                    _ = try JSONDocument(body)
                    let bare = all.filter { !" \"".contains($0) }
                    let wanted =
                        pattern
                        ? "{o:{\(expected.joined(separator: ","))}}"
                        : "[\(expected.map { $0.drop { $0 != ":" }.dropFirst() }.joined(separator: ","))]"
                    #expect(bare == wanted, "\(text) made \(all)")
                }
            }
        }
    }

    @Test func `a missing optional header or form field is omitted`() throws {
        let form = Route(
            url: "https://a",
            headers: [
                HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded"),
                HeaderField(name: "X-A", value: "a {payload.no?}"), HeaderField(name: "X-B", value: "b {payload.n?}"),
            ], body: "a={payload.no?}&b={payload.n?}&c={payload.z?}")
        #expect(form.problems.isEmpty)
        let made = try request(form, operation())
        #expect(made.body == Array("b=1.10".utf8))
        #expect(made.headers.filter { $0.name.hasPrefix("X-") } == [HeaderField(name: "X-B", value: "b 1.10")])
    }

    @Test(arguments: [
        ("/{payload.no?}", "is not the whole value"), ("/?a=b{payload.no?}", "is not the whole value"),
        ("/?a={payload.no?}c", "is not the whole value"), ("/{id|1}", "is never missing"),
        ("/{payload|1}", "is never missing"), ("/{payload.a|none}", "is not JSON"), ("/{payload.a|}", "is not JSON"),
        ("/{payload.a|\"x}", "is not JSON"), ("/{id:epoch}", "unknown placeholder"),
        ("/{createdAt:year}", "unknown placeholder"), ("/{kept.a?}", "is never missing"),
    ])
    func `an inadmissible default, time format or optional value is a configuration error`(path: String, reason: String)
    {
        let problems = Route(url: "https://a" + path).problems
        #expect(problems.contains { $0.reason.contains(reason) }, "\(problems)")
    }

    @Test(arguments: [#"{"a":"{payload.no?}"}"#, #"{"a":[{payload.no?}1]}"#, "{payload.no?}", #"{{payload.no?}:1}"#])
    func `only the whole value of a member can be optional`(body: String) {
        #expect(!Route(url: "https://a", body: body).problems.isEmpty)
    }

    @Test func `a form template and a text template yield the expected body`() throws {
        func route(_ type: String, _ body: String) -> Route {
            Route(url: "https://a", headers: [HeaderField(name: "content-type", value: type)], body: body)
        }
        let form = route("application/x-www-form-urlencoded; charset=utf-8", "a={payload.s}&b={payload.n}&c={key}")
        let text = route("text/plain", "{type},k={key} v={payload.n}\n{ {payload.s}")
        #expect(form.problems.isEmpty && text.problems.isEmpty)
        let whole = route("application/x-www-form-urlencoded", "Message={payload}&list={payload.list}")
        let object = operation("{\"list\": [1, \"a&b\"]}")
        #expect(
            try request(whole, object).body
                == Array("Message=%7B%22list%22%3A%20%5B1%2C%20%22a%26b%22%5D%7D&list=%5B1%2C%20%22a%26b%22%5D".utf8))
        #expect(try request(form, operation()).body == Array("a=a%22b%2F%20%C3%A9%0A&b=1.10&c=k%2F1".utf8))
        #expect(try request(text, operation()).body == Array("note,k=k/1 v=1.10\n{ a\"b/ é\n".utf8))
        #expect(try request(text, operation()).headers.filter { $0.name.lowercased() == "content-type" }.count == 1)
        let listed = route("text/xml", "<m>{payload}</m><l>{payload.list}</l>")
        #expect(
            try request(listed, object).body == Array("<m>{\"list\": [1, \"a&b\"]}</m><l>[1, \"a&b\"]</l>".utf8))
        let line = route("text/plain", "{payload}")
        #expect(try request(line, operation("m,h=1 v=2", type: "text/plain")).body == Array("m,h=1 v=2".utf8))
    }

    // MARK: - Values that do not fit

    @Test func `a value unusable in its place is a defect of the operation`() {
        let table: [(Route, RequestError)] = [
            (
                Route(url: "https://a/{payload.o}"),
                .unusableValue(placeholder: "payload.o", reason: "is neither text nor a number nor true or false")
            ),
            (Route(url: "https://a/{payload.z}"), .unusableValue(placeholder: "payload.z", reason: "is null")),
            (
                Route(url: "https://a", headers: [HeaderField(name: "X", value: "{payload.s}")]),
                .unusableValue(placeholder: "payload.s", reason: "has a control character, in a header")
            ),
            (
                Route(url: "https://a", body: #"["{payload.z}"]"#),
                .unusableValue(placeholder: "payload.z", reason: "is null")
            ),
            (Route(url: "https://a", body: "[{payload.nope}]"), .missingValue(placeholder: "payload.nope")),
        ]
        for (route, expected) in table {
            #expect(route.problems.isEmpty)
            #expect(error(route, operation()) == expected)
            #expect(route.defect(of: operation()) == expected)
        }
        let bytes = Operation(
            header: OperationHeader(
                id: OperationID("x")!, createdAt: Timestamp(microseconds: 0), contentType: "application/octet-stream"),
            body: [0xFF, 0x00])
        let quoted = Route(url: "https://a", body: #"["{payload}"]"#)
        #expect(
            error(quoted, bytes)
                == .unusableValue(placeholder: "payload", reason: "is not UTF-8: {payload:base64} sends any bytes"))
        #expect(throws: Never.self) {
            let made = try request(Route(url: "https://a", body: #"["{payload:base64}"]"#), bytes)
            #expect(made.body == Array(#"["/wA="]"#.utf8))
        }
    }

    @Test(arguments: [
        ("{Id}", "'{Id}' is an unknown placeholder", "did you mean {id}? "),
        ("{payloads.x}", "'{payloads.x}' is an unknown placeholder", ""),
        ("{items}", "'{items}' means nothing here", ""),
        ("{id:hex}", "'{id:hex}' is an unknown placeholder", "did you mean {id}? "),
        ("{id", "'{id' is no placeholder: it has no '}'", ""),
        ("${secrets:x}", "'${secrets:x}' is not a secret reference", ""),
    ])
    func `an unknown word is a configuration error and is never sent`(text: String, reason: String, hint: String)
        throws
    {
        for route in [
            Route(url: "https://a/\(text)"),
            Route(url: "https://a", headers: [HeaderField(name: "Nats-Msg-Id", value: text)]),
            Route(url: "https://a", body: #"{"x": "\#(text)"}"#), Route(url: "https://a", idempotencyKey: text),
        ] {
            let problem = try #require(route.problems.first)
            #expect(problem.reason == reason)
            #expect(problem.hint?.hasPrefix(hint) == true)
            #expect(error(route, operation())?.outcome == .held)
        }
    }

    // MARK: - Keys

    @Test func `a route derives keys and idempotency keys from templates`() throws {
        let route = Route(url: "https://a", key: "{payload.l.0}-{type}", idempotencyKey: "{type}:{payload.n}")
        let form = RequestForm(route)
        #expect(try form.key(of: operation(key: nil)) == "p-note")
        #expect(try form.key(of: operation(key: "own")) == "own")
        #expect(try RequestForm(Route(key: "{payload.e}")).key(of: operation(key: nil)) == nil)
        #expect(route.defect(of: operation("{}", key: nil)) == .missingValue(placeholder: "payload.n"))
        let made = try request(route, operation())
        #expect(made.headers.contains(HeaderField(name: "Idempotency-Key", value: #""note:1.10""#)))
        #expect(Route(key: "${secret:api}").problems.map(\.key) == ["key"])
        #expect(Route(key: "").problems.map(\.key) == ["key"])
        #expect(Route(idempotencyKey: "{attempt}").problems.map(\.reason) == ["'{attempt}' means nothing here"])
    }

    // MARK: - Batches

    private func batch(_ route: Route, _ bodies: [String]) throws -> String {
        let members = bodies.enumerated().map { index, body in
            Operation(
                header: OperationHeader(
                    id: OperationID("i\(index)")!, createdAt: Timestamp(microseconds: 0),
                    contentType: "application/json"),
                body: Array(body.utf8))
        }
        #expect(route.problems.isEmpty)
        var draft = try #require(BatchDraft(members[0], form: RequestForm(route)))
        for member in members.dropFirst() {
            let isIn = draft.admit(member)
            #expect(isIn)
        }
        let made = try RequestForm(route).batchRequest(for: draft.members, attempt: 1, version: "1")
        return String(decoding: made.body ?? [], as: UTF8.self)
    }

    @Test func `an envelope wraps a batch`() throws {
        let route = Route(
            url: "https://a", body: #"{"value":{payload}}"#, batch: Batch(max: 9, body: #"{"records":[{items}]}"#))
        #expect(try batch(route, ["1"]) == #"{"records":[{"value":1}]}"#)
        #expect(try batch(route, ["1", #"{"a":2}"#]) == #"{"records":[{"value":1},{"value":{"a":2}}]}"#)
    }

    @Test func `an operation may have several lines in a batch`() throws {
        let route = Route(
            url: "https://a", body: "{\"create\":{\"_id\":\"{id}\"}}\n{payload}", batch: Batch(max: 9, format: .ndjson))
        #expect(
            try batch(route, ["{\n\"a\": 1}", "2"])
                == "{\"create\":{\"_id\":\"i0\"}}\n{ \"a\": 1}\n{\"create\":{\"_id\":\"i1\"}}\n2\n")
    }

    @Test func `the size limit of a batch includes the envelope`() throws {
        let envelope = #"{"records":[{items}]}"#
        for limit in 15...40 {
            let route = Route(url: "https://a", batch: Batch(max: 99, maxBytes: limit, body: envelope))
            let one = Operation(
                header: OperationHeader(id: OperationID("x")!, createdAt: Timestamp(microseconds: 0)),
                body: Array("1".utf8))
            var draft = try #require(BatchDraft(one, form: RequestForm(route)))
            while draft.admit(one) {}
            let made = try RequestForm(route).batchRequest(for: draft.members, attempt: 1, version: "1")
            let count = made.body?.count ?? 0
            #expect(count <= limit || draft.members.count == 1)
            #expect(count + 2 > limit, "it is filled as far as it goes")
        }
    }

    @Test(arguments: ["{}", #"{"a": "{items}"}"#, "[{items},{items}]", #"{"a": {items}}"#, "[{id}]", "[{items}"])
    func `an envelope unsuitable for a batch is a configuration error`(text: String) {
        #expect(Route(url: "https://a", batch: Batch(max: 2, body: text)).problems.map(\.key) == ["batch.body"])
    }

    // MARK: - Any values

    @Test(arguments: [UInt64](0..<40))
    func `a JSON template makes JSON with the original values from any payload`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let letters = Array("{}\"\\$:a/\n\u{0}\u{1F}é\u{2028}😀 ,[]%&=".unicodeScalars)
        for _ in 0..<50 {
            var text = ""
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                text.unicodeScalars.append(letters.randomElement(using: &generator)!)
            }
            let payload = "{\"s\":\(JSONText.quoted(text))}"
            let route = Route(
                url: "https://a/?q={payload.s}",
                body: #"{"v":{payload.s},"t":"{payload.s}","p":{payload},"q":"{payload}"}"#)
            let made = try request(route, operation(payload))
            let document = try JSONDocument(made.body ?? [])
            let expected = JSONValue.string(text)
            for place in ["/v", "/t", "/p/s"] { #expect(document.value(at: JSONPointer(place)!) == expected) }
            #expect(document.value(at: JSONPointer("/q")!) == .string(payload))
            #expect(!made.url.contains { "\n \"{}\\".contains($0) })
        }
    }

    @Test(arguments: [UInt64](0..<40))
    func `any text is a template or is refused, and a template without words stands for itself`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "{", "}", "{{", "{id}", "{payload", ".x}", ":base64}", "${", "secret:", "$", "\"", "\\", "a", "\n", "é",
            "{items}",
        ]
        for _ in 0..<200 {
            let text = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                pieces.randomElement(using: &generator)!
            }.joined()
            for use in [TemplateUse.url, .header, .body(.json), .body(.text), .batch, .key, .setting] {
                guard let template = try? Template(text, for: use), template.isFixed else { continue }
                #expect(template.literals.joined() == (use == .setting ? text : text.replacing("{{", with: "{")))
            }
        }
    }
}
