import Foundation
import Testing

/// `check` tries each route before an operation meets it.
struct CheckedRouteTests {
    /// A configuration in which one of two types has a url.
    private static let half =
        "{ routes: { default: {}, good: { url: 'http://127.0.0.1:1/' }, other: { method: 'PUT' } } }"

    private func checked(_ configuration: String, adding type: String? = nil) throws -> Finished {
        let queue = try Drainq(configuration)
        if let type { try queue.run("add", "--type", type, input: numbered(1)) }
        return try queue.run("check")
    }

    @Test func `operations that wait on a route without a url are an error, before a run meets them`() throws {
        let check = try checked(Self.half, adding: "other")
        #expect(check.status == 78)
        #expect(check.error.contains("operations of type 'other' wait, and their route has no url"), "\(check)")
        #expect(check.error.contains("hint: set routes.default.url in drainq.json"), "\(check)")
        #expect(!check.output.contains("ok: routes"))
        let other = try checked(Self.half, adding: "good")
        #expect(other.status == 0 && other.output.contains("ok: routes"), "\(other)")
    }

    @Test func `what an operation of a route needs is a note`() throws {
        let route = "url: 'http://127.0.0.1:1/{payload.user.id}', headers: { 'X-For': '{key}' }"
        let check = try checked("{ routes: { crm: { \(route) } } }")
        #expect(check.status == 0 && check.output.contains("note: an operation of type 'crm' needs "), "\(check)")
    }

    @Test func `a secret that is too short to be hidden is a note, and not printed`() throws {
        let queue = try Drainq(
            """
            { routes: { default: { url: 'http://127.0.0.1:1/' } },
              secrets: { short: { file: 'short' }, long: { file: 'long' } } }
            """)
        try "zqx\n".write(to: queue.queue.appending(path: "short"), atomically: true, encoding: .utf8)
        try "zqxw\n".write(to: queue.queue.appending(path: "long"), atomically: true, encoding: .utf8)
        try #require(try queue.shell("chmod 600 queue/short queue/long").status == 0)
        let check = try queue.run("check")
        #expect(check.status == 0, "\(check)")
        let notes = check.lines.filter { $0.hasPrefix("note: ") }
        #expect(
            notes == [
                "note: the secret 'short' has less than 4 bytes: drainq does not hide it where an answer repeats it"
            ])
        #expect(!(check.output + check.error).contains("zqx"))
    }
}
