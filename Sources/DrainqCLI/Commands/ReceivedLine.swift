import LoopbackReceiver
import Policy

/// How `drainq receive` writes a request on one line, whatever the request has in it.
struct ReceivedLine {
    var json: Bool
    var bodies: Bool
    /// The start from which `seconds` count.
    var start: ContinuousClock.Instant

    func opening(url: String) -> String? {
        if json { return "{\"event\":\"listening\",\"url\":\(Self.string(url))\(Self.version)}" }
        return bodies ? nil : url
    }

    func text(of request: ReceivedRequest) -> String {
        if json { return event(of: request) }
        return bodies ? Self.value(of: request.body) : columns(of: request)
    }

    func closing(_ summary: ReceiveCommand.Summary) -> String? {
        json
            ? "{\"event\":\"end\",\"by\":\"\(summary.ending.rawValue)\",\"requests\":\(summary.requests)\(Self.version)}"
            : nil
    }

    private static let version = ",\"schema\":\(OutputObject.schema)"

    private func columns(of request: ReceivedRequest) -> String {
        let key = Self.key(of: request) ?? "-"
        return "\(request.method) \(request.target) \(request.bodyLength) \(key)".unicodeScalars
            .map { Self.isControl($0) ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
    }

    private func event(of request: ReceivedRequest) -> String {
        let elapsed = (request.arrival - start).boundedComponents
        let milliseconds = elapsed.seconds * 1000 + elapsed.attoseconds / 1_000_000_000_000_000
        var members = [
            "\"event\":\"request\"", "\"number\":\(request.number)", "\"connection\":\(request.connection)",
            "\"milliseconds\":\(milliseconds)", "\"method\":\(Self.string(request.method))",
            "\"target\":\(Self.string(request.target))",
        ]
        if let key = Self.key(of: request) { members.append("\"idempotencyKey\":\(Self.string(key))") }
        let headers = request.headers.map { "[\(Self.string($0.name)),\(Self.string($0.value))]" }
        members.append("\"headers\":[\(headers.joined(separator: ","))]")
        members.append("\"bytes\":\(request.bodyLength)")
        if bodies, !request.body.isEmpty { members.append("\"body\":\(Self.value(of: request.body))") }
        return "{\(members.joined(separator: ","))\(Self.version)}"
    }

    /// The Idempotency-Key without the quotation marks of a structured field (RFC 8941 §3.3.3).
    private static func key(of request: ReceivedRequest) -> String? {
        guard let value = request.header("Idempotency-Key") else { return nil }
        return value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            ? String(value.dropFirst().dropLast()) : value
    }

    /// A body as one line of JSON: as it came where it is JSON, else as a string, else in base64.
    static func value(of body: [UInt8]) -> String {
        if let json = jsonOnOneLine(body) { return json }
        if let text = String(validating: body, as: UTF8.self) { return string(text) }
        return "{\"base64\":\"\(base64(body))\"}"
    }

    /// The same JSON without line breaks, which stand only between its tokens, and with control characters, which stand
    /// only in its strings, escaped. `nil` if the bytes are not one JSON value.
    private static func jsonOnOneLine(_ body: [UInt8]) -> String? {
        var scanner = JSONScanner(body)
        do throws(JSONSyntaxError) {
            guard let value = try scanner.next(), try scanner.next() == nil else { return nil }
            let text = String(decoding: body[value], as: UTF8.self)
            return text.unicodeScalars.map { scalar in
                switch scalar {
                case "\n", "\r", "\t": " "
                default: isControl(scalar) ? unicodeEscape(scalar) : String(scalar)
                }
            }.joined()
        } catch {
            return nil
        }
    }

    static func string(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\n": json += "\\n"
            case "\r": json += "\\r"
            case "\t": json += "\\t"
            default:
                json += isControl(scalar) ? unicodeEscape(scalar) : String(scalar)
            }
        }
        return json + "\""
    }

    private static func unicodeEscape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// C0, C1, and what turns the direction of writing or breaks a line.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = 0
            for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? Int(group[start + offset]) : 0) }
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
