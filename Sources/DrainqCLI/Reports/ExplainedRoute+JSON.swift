import Policy

extension ExplainedRoute: JSONObject {
    static let fields: [JSONField<ExplainedRoute>] = [
        .field("type", .text, "its type", \.type.description),
        .field("method", .text, "its method", \.route.method),
        .maybe("url", .text, "its URL, a template", \.route.url),
        .maybe("compress", .word([Compression.gzip.rawValue]), "the compression of its bodies", \.compression),
        .field("destination", .text, "the destination of the route", \.destination.name),
        .maybe("held", .text, "why the destination is held now; not with --config", \.hold),
        .maybe(
            "transport", .word(Transport.allCases.map(\.rawValue)), "the transport of its requests, if there is one",
            \.transport.name),
        .field("transportReason", .text, "the reason for that transport, or for none", \.transport.reason),
        .maybe("sendsKept", .list(.text), "the names of the kept values that it sends, and waits for", \.sendsKept),
        .maybe("lacksKept", .list(.text), "those that are missing for the key; only with --key", \.lacksKept),
    ]

    private var compression: String? { route.compress == .none ? nil : route.compress.rawValue }

    /// The transport of its requests, and the reason for it; `name` is `nil` if there is no transport.
    var transport: (name: String?, reason: String) {
        do throws(RequestError) {
            let choice = try route.transportChoice(settings: settings, available: available)
            let version = needsHTTP1 ? "; over HTTP/1.1 now, because an HTTP/2 stream lost an answer" : ""
            return (choice.transport.rawValue, choice.reason + version)
        } catch {
            return (nil, "\(error)")
        }
    }

    private var sendsKept: [String]? { route.keptNames.isEmpty ? nil : route.keptNames.sorted() }

    private var lacksKept: [String]? { kept.flatMap { kept in sendsKept?.filter { !kept.contains($0) } } }

    /// The request: `POST https://api.example.com/v1/{type}`.
    var request: String {
        "\(route.method) \(route.url ?? "to the operation's own url: the route has none")"
            + (compression.map { " (\($0))" } ?? "")
    }

    /// That the destination is held, and why; `nil` if it is not.
    var heldText: String? { hold.map { "it is held now: \($0)" } }

    /// The kept values that the route sends, `{kept.note}, {kept.version}, from earlier answers for its key; missing:
    /// {kept.version}`; `nil` if it sends none.
    var keptText: String? {
        func list(_ names: [String]) -> String { names.map { "{kept.\($0)}" }.joined(separator: ", ") }
        guard let sendsKept else { return nil }
        let text = "\(list(sendsKept)), from earlier answers for its key"
        guard let lacksKept else { return text + ": --key KEY looks them up" }
        return text + (lacksKept.isEmpty ? "; all exist" : "; missing: \(list(lacksKept))")
    }
    var transportText: String { "\(transport.name ?? "none"): \(transport.reason)" }
}
