import Drain
import Policy

/// A request that would be sent now, in `show --request --json` and `run --dry-run --request --json`.
struct RequestView: JSONObject {
    var request: ShownRequest
    var planned: PlannedRequest

    static let fields: [JSONField<RequestView>] =
        [
            .field("ids", .list(.text), "the ids of the operations that it carries") {
                $0.planned.ids.map(\.description)
            },
            .field("destination", .text, "its destination", \.planned.destination),
            .field("method", .text, "its method", \.request.method),
            .field("url", .text, "its url", \.request.url.text),
            .field("headers", .list(.list(.text)), "name and value of each of its fields") {
                $0.request.headers.map { [$0.name, $0.value.text] }
            },
        ] + JSONField.bytes("body", "its body", \.request.body?.bytes) + [
            .maybe("bodyFile", .text, "the path of the file that is its body", \.request.bodyFile?.path),
            .maybe(
                "headersCommand", .text, "the program whose header fields are missing here",
                \.request.headersCommand?.first),
        ]
}

extension NamedText {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Prints requests that would be sent, in one of three forms: as they go out, as JSON, or as curl commands.
struct RequestPrinter {
    let options: RequestOptions
    let asJSON: Bool
    /// Escapes control characters at a terminal only: a program gets the bytes.
    let terminal: Terminal
    var isFirst = true
    /// Whether a request could not be made.
    var hasFailed = false

    mutating func print(_ planned: PlannedRequest) {
        let request: ShownRequest
        do throws(RequestError) {
            request = try planned.request.get()
        } catch {
            hasFailed = true
            let ids = planned.ids.map { "'\($0)'" }.joined(separator: ", ")
            return Messages.error("cannot make the request of \(ids): \(error)")
        }
        if asJSON { return JSONLine.write(RequestView(request: request, planned: planned)) }
        if !isFirst { standardOutput.line("") }
        isFirst = false
        if options.isCurl { return standardOutput.write(bytes: CurlCommand(request).bytes) }
        write("\(request.method) \(request.url.text)")
        for field in request.headers { write("\(field.name): \(field.value.text)") }
        if let file = request.bodyFile {
            write("")
            write("<\(file.path)")
        } else if let body = request.body?.bytes, !body.isEmpty {
            write("")
            guard terminal.columns != nil else {
                return standardOutput.write(bytes: body.last == 0x0A ? body : body + [0x0A])
            }
            for line in body.split(separator: 0x0A) { write(String(decoding: line, as: UTF8.self)) }
        }
    }

    private func write(_ line: String) {
        standardOutput.line(terminal.columns == nil ? line : escapedForDisplay(line))
    }
}
