import Foundation
import Testing

/// `check` tries each route before the first attempt.
struct CheckedRouteTests {
    /// A configuration with a url for the type `good` only.
    private static let half =
        "{ routes: { default: {}, good: { url: 'http://127.0.0.1:1/' }, other: { method: 'PUT' } } }"

    private func checked(_ configuration: String, adding type: String? = nil) throws -> Finished {
        let queue = try Drainq(configuration)
        if let type { try queue.run("add", "--type", type, input: numbered(1)) }
        return try queue.run("check")
    }

    @Test func `check reports waiting operations of a route without a url as an error`() throws {
        let check = try checked(Self.half, adding: "other")
        #expect(check.status == 78)
        #expect(check.error.contains("operations of type 'other' wait, and their route has no url"), "\(check)")
        #expect(check.error.contains("hint: set routes.default.url in drainq.json"), "\(check)")
        #expect(!check.output.contains("ok: routes"))
        let other = try checked(Self.half, adding: "good")
        #expect(other.status == 0 && other.output.contains("ok: routes"), "\(other)")
    }

    @Test func `check notes the data that an operation of a route needs`() throws {
        let route = "url: 'http://127.0.0.1:1/{payload.user.id}', headers: { 'X-For': '{key}' }"
        let check = try checked("{ routes: { crm: { \(route) } } }")
        #expect(check.status == 0 && check.output.contains("note: an operation of type 'crm' needs "), "\(check)")
    }

    @Test func `check names the first of the operations that an edited route cannot send, and their number`() throws {
        let queue = try Drainq("{ routes: { crm: { url: 'http://127.0.0.1:1/' } } }")
        try queue.run("add", "--type", "crm", input: numbered(3))
        try queue.write("{ routes: { crm: { url: 'http://127.0.0.1:1/{payload.user.id}' } } }", as: "queue/drainq.json")
        let notes = try queue.run("check").lines.filter { $0.contains("cannot be sent by their route") }
        #expect(notes.count == 1 && notes[0].contains("' and 2 others cannot be sent by their route: "), "\(notes)")
    }

    @Test func `a host with a port names no destination if several are there`() throws {
        let queue = try Drainq("{ routes: { a: { url: 'http://x.example:80/' }, b: { url: 'https://y.example:8/' } } }")
        #expect(try queue.run("hold", "--destination", "y.example:8").lines == ["https://y.example:8"])
        try queue.write(
            "{ routes: { a: { url: 'http://y.example:8/' }, b: { url: 'https://y.example:8/' } } }",
            as: "queue/drainq.json")
        let finished = try queue.run("hold", "--destination", "y.example:8")
        #expect(finished.status == 64 && finished.error.contains("several destinations are at 'y.example:8'"))
        #expect(finished.error.contains("such as 'http://y.example:8'"))
    }

    @Test func `check notes a debounce without coalescing, also of the default route`() throws {
        let note = try checked("{ routes: { default: { url: 'http://a.example/', debounce: '1s' } } }")
        #expect(note.output.contains("'default' has 'debounce' and does not coalesce"))
    }

    @Test func `check notes a secret too short to hide, and does not print the secret`() throws {
        let queue = try Drainq(
            """
            { routes: { default: { url: 'http://127.0.0.1:1/', headers: { a: '${secret:short} ${secret:long}' } } },
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
