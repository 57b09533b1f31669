import LoopbackReceiver
import Policy

/// The lines that `drainq receive` prints: one for each request, whatever bytes the request contains.
struct ReceivedLine {
    var json: Bool
    var bodies: Bool
    /// The start from which `milliseconds` count.
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

    private static let version = ",\"schema\":\(JSONLine.schema)"

    private func columns(of request: ReceivedRequest) -> String {
        let key = Self.key(of: request) ?? "-"
        return escapedForDisplay("\(request.method) \(request.target) \(request.bodyLength) \(key)")
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

    private static func key(of request: ReceivedRequest) -> String? { request.header("Idempotency-Key")?.unquoted }

    /// Returns a body as one line of JSON: as received if it is JSON, else as a string if it is text, else in base64.
    static func value(of body: [UInt8]) -> String {
        if let json = jsonOnOneLine(body) { return json }
        if let text = String(validating: body, as: UTF8.self) { return string(text) }
        return "{\"base64\":\"\(Base64.encode(body))\"}"
    }

    /// Returns the JSON with blanks for line breaks, which stand only between tokens. `nil` if it is no single value.
    private static func jsonOnOneLine(_ body: [UInt8]) -> String? {
        guard let document = try? JSONDocument(body) else { return nil }
        let blanks = Set("\n\r\t".utf8)
        let line = body[document.range].map { blanks.contains($0) ? UInt8(ascii: " ") : $0 }
        return JSONText.escapedJSONForDisplay(String(decoding: line, as: UTF8.self))
    }

    static func string(_ text: String) -> String { JSONText.escapedJSONForDisplay(JSONText.quoted(text)) }
}
