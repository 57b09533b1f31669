import Delivery
import LoopbackReceiver
import Testing

@testable import Policy

/// The check of `TemplateDifferentialTests` on arriving requests instead of made requests, over both transports.
@Suite(.waiting) struct TemplateTransportTests {
    /// SplitMix64.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
            return mixed ^ mixed >> 31
        }
    }

    private static let nasty: [Unicode.Scalar] = Array(
        "\u{301}\u{200D}\u{FE0F}\u{1F3FD}\u{600}\u{E33}e\u{E9}\t\u{85}\u{2028}\"\\/{}$%&=+?#.<>,;: aA0~-_\u{10FFFF}\u{FFFD}\u{FEFF}\u{1F600}"
            .unicodeScalars)

    private static func text(using chance: inout Chance) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 1...8, using: &chance) {
            text.unicodeScalars.append(nasty.randomElement(using: &chance)!)
        }
        return text
    }

    private static let types = [
        nil, "application/json", "application/x-ndjson", "application/x-www-form-urlencoded",
        "text/plain;\tcharset=\"é\"",
    ]

    @Test(arguments: Transport.allCases, [UInt64](0..<4))
    func `a request made from templates arrives byte for byte`(transport: Transport, seed: UInt64) throws {
        var chance = Chance(state: seed)
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        for round in 0..<25 {
            let type = Self.types.randomElement(using: &chance)!
            let isBatch = Bool.random(using: &chance)
            let route = Route(
                url: receiver.url + "/\u{301}/{payload.v}?\u{301}={payload.v}",
                headers: [HeaderField(name: "X-Value", value: "a{payload.v}b")]
                    + (type.map { [HeaderField(name: "Content-Type", value: $0)] } ?? []),
                body: Bool.random(using: &chance) ? "[{payload.v},\"{payload.v}\"]" : nil,
                idempotencyKey: "{id}\"\\",
                batch: isBatch ? Batch(max: 9, format: type == "application/x-ndjson" ? .ndjson : .json) : nil)
            let operations = (0..<3).map { number in
                let value = JSONText.quoted(Self.text(using: &chance))
                return Operation(
                    header: OperationHeader(
                        id: OperationID("op-\(round)-\(number)")!, createdAt: Timestamp(microseconds: 0),
                        contentType: "application/json"),
                    body: Array("{\"v\":\(value)}".utf8))
            }
            let form = RequestForm(route)
            let made =
                isBatch
                ? try? form.batchRequest(for: operations, attempt: 1, version: "1", available: [transport])
                : try? form.request(for: operations[0], attempt: 1, version: "1", available: [transport])
            guard let made else { continue }
            let report = try sink.deliver(made)
            #expect(report.result.answer?.status == 204, "\(report.result)")
            let received = try #require(receiver.takeRequests().first)
            #expect(Array((receiver.url + received.target).utf8) == Array(made.url.utf8))
            for field in made.headers {
                #expect(received.header(field.name).map { Array($0.utf8) } == Array(field.value.utf8), "\(field)")
            }
            #expect(received.body == made.body ?? [])
        }
    }
}
