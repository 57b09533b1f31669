import Testing

@testable import Policy

/// Templates against a renderer of bytes: place × word × value × batch × media type.
struct TemplateDifferentialTests {
    typealias Value = TemplateOracle.Value
    typealias Place = TemplateOracle.Place

    private static let nasty: [Unicode.Scalar] = Array(
        "\u{301}\u{200D}\u{FE0F}\u{1F3FD}\u{600}\u{20E3}\u{E33}\u{1100}\u{200C}\u{93E}eéé\u{0}\u{7}\n\r\t\u{7F}\u{85}\u{2028}\"\\/{}$%&=+?#.<>,; aA0~-_:\u{10FFE9}\u{10FFFF}\u{FFFD}\u{FEFF}😀"
            .unicodeScalars)

    /// Returns a text with random JSON escapes and an occasional lone surrogate.
    private static func text(using generator: inout SeededGenerator) -> Value {
        var value = Value(kind: .text, written: [34])
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            if Int.random(in: 0..<25, using: &generator) == 0 {
                let half = UInt16.random(in: 0xD800...0xDFFF, using: &generator)
                value.units.append(half)
                value.written += Array("\\u\(String(half, radix: 16))".utf8)
                continue
            }
            let scalar = nasty.randomElement(using: &generator)!
            let units = Array(String(scalar).utf16)
            value.units += units
            let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            if scalar == "/" && Bool.random(using: &generator) {
                value.written += Array("\\/".utf8)
            } else if mustEscape || Int.random(in: 0..<3, using: &generator) == 0 {
                for unit in units {
                    let digits = String(unit, radix: 16, uppercase: Bool.random(using: &generator))
                    value.written += Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
                }
            } else {
                value.written += Array(String(scalar).utf8)
            }
        }
        value.written.append(34)
        return value
    }

    private static func value(using generator: inout SeededGenerator) -> Value {
        let plain = ["1.10", "-0", "1e400", "123456789012345678901234567890", "true", "false"]
        let containers = ["[]", "{}", "[1,\r\n \"a\\u0062\\/\"]", "{\n\"k\": [\"\u{301}\"]\n}", "[\"{id}\", \"\\n\"]"]
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return Value(kind: .plain, written: Array(plain.randomElement(using: &generator)!.utf8))
        case 1: return Value(kind: .container, written: Array(containers.randomElement(using: &generator)!.utf8))
        case 2: return Value(kind: .null, written: Array("null".utf8))
        default: return text(using: &generator)
        }
    }

    private enum Word: CaseIterable {
        case id, type, key, createdAt, attempt, payload, member, deep, element, missing, kept, secret

        var text: String {
            switch self {
            case .member: "payload.v"
            case .deep: "payload.a.b"
            case .element: "payload.list.1"
            case .missing: "payload.none"
            case .kept: "kept.k"
            default: "\(self)"
            }
        }
    }

    /// An operation, with the values of its words.
    private struct Sample {
        var operation: Operation
        var payload: Value
        var secret: String
        var kept: Value

        init(_ number: Int, using generator: inout SeededGenerator) {
            payload = TemplateDifferentialTests.value(using: &generator)
            let key = text(using: &generator).content.map { String(decoding: $0, as: UTF8.self) } ?? ""
            secret = "s\u{301}\"\\&{id} \(number)"
            kept = .text("\u{301}k{id}\"\(number)")
            var body = payload.written
            if Bool.random(using: &generator) {
                let written = payload.written
                let whole =
                    Array(#"{"v":"#.utf8) + written + Array(#" ,"a":{"b":"#.utf8) + written
                    + Array(#"},"list":[0,"#.utf8) + written + Array("]}".utf8)
                body = whole
            }
            operation = Operation(
                header: OperationHeader(
                    id: OperationID("op-\(number)")!, type: TypeName("t.y-\(number)")!,
                    createdAt: Timestamp(microseconds: 1_764_047_700_000_000), contentType: "application/json",
                    key: key.isEmpty ? nil : key),
                body: body)
            operation.kept = ["k": KeptValue(json: kept.written)!]
        }

        /// Returns the value of a word; `nil` if the operation has none.
        func value(of word: Word) -> Value? {
            let isWhole = operation.body == payload.written
            switch word {
            case .id: return .text(operation.header.id.description)
            case .type: return .text(operation.header.type.description)
            case .key: return operation.header.key.map { .text($0) }
            case .createdAt: return .text("2025-11-25T05:15:00Z")
            case .attempt: return Value(kind: .plain, written: Array("3".utf8))
            case .payload: return isWhole ? payload : Value(kind: .container, written: operation.body)
            case .member, .deep, .element: return isWhole ? nil : payload
            case .missing: return nil
            case .kept: return operation.header.key == nil ? nil : kept
            case .secret: return .text(secret)
            }
        }
    }

    /// The media types of a template's text, with the place of the word.
    private static let media: [(type: String?, place: Place, text: @Sendable (String) -> String)] = [
        (nil, .json, { "{\"\u{301}x\":\($0)}" }),
        ("application/json; charset=utf-8", .quotes, { "[\"\u{301}\($0)\u{301}\"]" }),
        ("application/vnd.a+json", .json, { "[\($0)\r\n]" }),
        ("Application/X-NDJSON", .json, { "{\"c\":{}}\n{\"v\":\($0)}" }),
        ("application/x-ndjson", .quotes, { "\"\u{301}{{id}\($0)\"" }),
        ("application/x-www-form-urlencoded", .form, { "a=\($0)&b=c" }),
        ("text/plain", .text, { "m,r=\($0)\u{301} v" }),
    ]

    @Test(arguments: [UInt64](0..<20))
    func `a template sends the bytes described in the manual, or nothing`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<15 {
            let word = Word.allCases.randomElement(using: &generator)!
            let isBase64 = word != .secret && Int.random(in: 0..<4, using: &generator) == 0
            let written = word == .secret ? "${secret:s}" : "{\(word.text)\(isBase64 ? ":base64" : "")}"
            let samples = (0..<3).map { Sample(3 * round + $0, using: &generator) }
            func expected(_ sample: Sample, _ place: Place, isLined: Bool = false) -> [UInt8]? {
                // "The payload's bytes in Base64."
                let base64 =
                    word == .payload ? Value.base64(of: sample.operation.body) : sample.value(of: word)?.inBase64
                // "As a JSON value null stays null."
                if isBase64, word != .payload, place == .json, sample.value(of: word)?.kind == .null {
                    return Array("null".utf8)
                }
                guard let value = isBase64 ? base64 : sample.value(of: word) else { return nil }
                return TemplateOracle.rendered(value, in: place, isLined: isLined)
            }
            for sample in samples {
                checkHead(written, sample) { expected(sample, $0) }
                if ![.id, .key, .attempt, .createdAt, .kept, .secret].contains(word) {
                    checkKey(written, sample) { expected(sample, $0) }
                }
            }
            for (type, place, text) in Self.media {
                for batch in [
                    nil, Batch(max: 9), Batch(max: 9, format: .ndjson),
                    Batch(max: 9, body: "{\"r\":[{items}],\"n\":\"{{id}\"}"),
                ] {
                    let headers = type.map { [HeaderField(name: "Content-Type", value: $0)] } ?? []
                    let route = Route(url: "https://a/", headers: headers, body: text(written), batch: batch)
                    let isLined = batch?.format == .ndjson || type?.lowercased() == "application/x-ndjson"
                    try checkBody(route, place, samples) { sample in
                        let mark = "\u{1}\u{2}"
                        guard let value = expected(sample, place, isLined: isLined) else { return nil }
                        let around = Array(text(mark).replacing("{{", with: "{").utf8)
                        let cut = around.firstRange(of: Array(mark.utf8))!
                        return Array(around[..<cut.lowerBound]) + value + Array(around[cut.upperBound...])
                    }
                }
            }
        }
    }

    private func secrets(of sample: Sample) -> SecretValues { SecretValues(values: ["s": sample.secret]) }

    private func checkHead(_ word: String, _ sample: Sample, _ expected: (Place) -> [UInt8]?) {
        for place in [Place.path, .query, .header, .idempotencyKey] {
            // "A text that is the same at each attempt", without secrets and kept values.
            if place == .idempotencyKey, (try? Template(word, for: .idempotencyKey)) == nil { continue }
            var route = Route(url: "https://a/")
            switch place {
            case .path: route.url = "https://a/\(word)/y"
            case .query: route.url = "https://a/x?q=\(word)"
            case .idempotencyKey: route.idempotencyKey = word
            default: route.headers = [HeaderField(name: "X", value: "a\(word)b")]
            }
            let made = try? RequestForm(route).request(
                for: sample.operation, attempt: 3, version: "1", secrets: secrets(of: sample))
            let bytes = expected(place).map { value in
                switch place {
                case .path: Array("https://a/".utf8) + value + Array("/y".utf8)
                case .query: Array("https://a/x?q=".utf8) + value
                case .idempotencyKey: value
                default: Array("a".utf8) + value + Array("b".utf8)
                }
            }
            if place != .idempotencyKey {
                checkShown(RequestForm(route), sample, made, place == .header ? .path : place)
            }
            let sent = made.map { made in
                switch place {
                case .header: made.headers[0].value
                case .idempotencyKey: made.headers.first { $0.name == "Idempotency-Key" }?.value ?? ""
                default: made.url
                }
            }.map { Array($0.utf8) }
            #expect(sent == bytes, "\(word) in \(place) of \(String(decoding: sample.operation.body, as: UTF8.self))")
        }
    }

    private func checkKey(_ word: String, _ sample: Sample, _ expected: (Place) -> [UInt8]?) {
        var operation = sample.operation
        operation.header.key = nil
        let key = try? RequestForm(Route(url: "https://a/", key: word)).key(of: operation)
        let bytes = expected(.key).flatMap { $0.isEmpty ? nil : $0 }
        #expect(key.map { Array($0.utf8) } == bytes)
    }

    /// Checks single requests, and a batch of all valid operations: the batch has the lines of each operation.
    private func checkBody(
        _ route: Route, _ place: Place, _ samples: [Sample], _ expected: (Sample) -> [UInt8]?
    ) throws {
        let form = RequestForm(route)
        var sent: [Operation] = []
        var items: [[UInt8]] = []
        for sample in samples {
            let item = expected(sample)
            let about = "\(route.body!) with \(String(decoding: sample.operation.body, as: UTF8.self))"
            #expect((form.defect(of: sample.operation) == nil) == (item != nil), "\(about)")
            let made = try? form.request(for: sample.operation, attempt: 3, version: "1", secrets: secrets(of: sample))
            #expect((made == nil) == (item == nil), "\(about)")
            checkShown(form, sample, made, place == .json ? .quotes : place)
            if let item {
                sent.append(sample.operation)
                items.append(item)
                #expect(compared(made?.body) == compared(joined([item], route.batch)), "\(about)")
            }
        }
        guard let batch = route.batch, !sent.isEmpty, !route.body!.contains("${") else { return }
        let made = try form.batchRequest(for: sent, attempt: 3, version: "1")
        #expect(compared(made.body) == compared(joined(items, batch)))
        if batch.format == .ndjson {
            let lines = (made.body ?? []).count { $0 == 0x0A }
            let linesOfBody = route.body!.utf8.count { $0 == 0x0A } + 1
            #expect(
                lines == sent.count * linesOfBody && !(made.body ?? []).dropLast().contains(0x0D)
                    || route.body!.utf8.contains(0x0D))
        }
    }

    /// Checks that the displayed request equals the sent request, with the secret filled in and escaped for its place.
    /// `place` is the place of a secret in the url or in the body.
    private func checkShown(_ form: RequestForm, _ sample: Sample, _ made: OutgoingRequest?, _ place: Place) {
        var generator = SeededGenerator(seed: 7)
        let marks = SecretMarks(using: &generator)
        let marked = try? form.request(for: sample.operation, attempt: 3, version: "1", secrets: marks.values(["s"]))
        #expect((marked == nil) == (made == nil))
        guard let made, let marked else { return }
        let shown = ShownRequest(marked, of: form.route, marks)
        func filled(_ text: NamedText, _ place: Place) -> [UInt8] {
            text.parts.flatMap { part -> [UInt8] in
                switch part {
                case .bytes(let bytes): bytes
                case .secret(let name):
                    name == "s"
                        ? TemplateOracle.rendered(.text(sample.secret), in: place, isLined: false)! : []
                case .base64, .signature: []
                }
            }
        }
        #expect(shown.method == made.method)
        #expect(filled(shown.url, place) == Array(made.url.utf8))
        #expect(
            shown.headers.map { "\($0.name): \(String(decoding: filled($0.value, .header), as: UTF8.self))" }
                == made.headers.map { "\($0.name): \($0.value)" })
        #expect(shown.body.map { compared(filled($0, place)) } == compared(made.body))
    }

    private func compared(_ body: [UInt8]?) -> [UInt8]? { body.map(TemplateOracle.inUnits) }

    /// "json: one array of the payloads. ndjson: one payload on each line." "The text around the operations."
    private func joined(_ items: [[UInt8]], _ batch: Batch?) -> [UInt8] {
        guard let batch else { return items[0] }
        if batch.format == .ndjson { return items.flatMap { $0 + [0x0A] } }
        let list = Array(items.joined(separator: [UInt8(ascii: ",")]))
        if batch.body == nil { return [UInt8(ascii: "[")] + list + [UInt8(ascii: "]")] }
        return Array("{\"r\":[".utf8) + list + Array("],\"n\":\"{id}\"}".utf8)
    }
}
