import Drain
import Policy

/// A request that would be sent now, in `show --request --json` and `run --dry-run --request --json`.
struct RequestView: JSONObject {
    var ids: [String]
    var destination: String
    var method: String
    var url: String
    var headers: [[String]]
    var body: String?
    var bodyBase64: String?
    var bodyFile: String?
    var headersCommand: String?

    static let fields: [JSONField<RequestView>] = [
        .field("ids", .list(.text), "the ids of the operations that it carries", \.ids),
        .field("destination", .text, "its destination", \.destination),
        .field("method", .text, "its method", \.method),
        .field("url", .text, "its url", \.url),
        .field("headers", .list(.list(.text)), "name and value of each of its fields", \.headers),
        .maybe("body", .text, "its body, if it is UTF-8", \.body),
        .maybe("bodyBase64", .text, "its body, if it is not UTF-8", \.bodyBase64),
        .maybe("bodyFile", .text, "the path of the file that is its body", \.bodyFile),
        .maybe("headersCommand", .text, "the program whose header fields are missing here", \.headersCommand),
    ]

    init(_ request: ShownRequest, of planned: PlannedRequest) {
        ids = planned.ids.map(\.description)
        destination = planned.destination
        method = request.method
        url = request.url.text
        headers = request.headers.map { [$0.name, $0.value.text] }
        body = request.body.flatMap { String(validating: $0.bytes, as: UTF8.self) }
        bodyBase64 = body == nil ? request.body.map { Base64.encode($0.bytes) } : nil
        bodyFile = request.bodyFile?.path
        headersCommand = request.headersCommand?.first
    }
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
    private var isFirst = true
    /// Whether a request could not be made.
    private(set) var hasFailed = false

    init(_ options: RequestOptions, asJSON: Bool, _ terminal: Terminal) {
        self.options = options
        self.asJSON = asJSON
        self.terminal = terminal
    }

    mutating func print(_ planned: PlannedRequest) {
        let request: ShownRequest
        do throws(RequestError) {
            request = try planned.request.get()
        } catch {
            hasFailed = true
            let ids = planned.ids.map { "'\($0)'" }.joined(separator: ", ")
            return Messages.error("cannot make the request of \(ids): \(error)")
        }
        if asJSON { return JSONLine.write(RequestView(request, of: planned)) }
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
