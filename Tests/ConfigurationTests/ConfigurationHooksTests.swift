import Policy
import Testing

@testable import Configuration

/// The keys of hooks and metrics.
struct ConfigurationHooksTests {
    private func read(_ text: String) throws -> Configuration {
        try ConfigurationFile.read(Array(text.utf8), name: "drainq.json", directory: "/etc/drainq")
    }

    @Test func `hooks are argument vectors by event`() throws {
        let configuration = try read(
            """
            { hooks: { held: ["notify", "-x", ""], failed: ["bin/page"], released: null, atMostEvery: "10m" } }
            """)
        #expect(configuration.hooks.commands == [.held: ["notify", "-x", ""], .failed: ["/etc/drainq/bin/page"]])
        #expect(configuration.hooks.atMostEvery == .seconds(600))
    }

    @Test func `every event has its key`() throws {
        for event in Hooks.Event.allCases {
            #expect(try read("{ hooks: { \(event.rawValue): [\"x\"] } }").hooks.commands == [event: ["x"]])
        }
    }

    @Test(arguments: [
        #"{ hooks: { held: "notify" } }"#, "{ hooks: { held: [] } }", "{ hooks: { hold: [\"x\"] } }",
        #"{ hooks: { atMostEvery: "soon" } }"#, "{ metrics: { textfile: \"\" } }", "{ metrics: { textfile: 1 } }",
    ])
    func `an invalid command, event, duration or path is refused`(text: String) {
        #expect(throws: ConfigurationErrors.self) { try read(text) }
    }

    @Test func `the path of the metrics file is relative to the directory of the configuration`() throws {
        #expect(try read("{ metrics: { textfile: \"a.prom\" } }").metricsTextfile == "/etc/drainq/a.prom")
        #expect(try read("{}").metricsTextfile == nil)
    }
}
