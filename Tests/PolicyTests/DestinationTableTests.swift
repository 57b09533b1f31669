import Testing

@testable import Policy

struct DestinationTableTests {
    static let crm = TypeName("crm")!
    static let erp = TypeName("erp")!
    static let own = TypeName("own")!

    static let configuration = Configuration(
        defaultRoute: Route(url: "https://API.example.com:443/v1/{type}"),
        routes: [
            crm: Route(url: "https://crm.example/a", destination: "office"),
            erp: Route(url: "http://erp.example:8080/b", destination: "office"),
            own: Route(),
        ],
        destinations: [
            "https://api.EXAMPLE.com": DestinationSettings(concurrency: 1),
            "office": DestinationSettings(concurrency: 2),
            "https://else.example": DestinationSettings(concurrency: 3),
        ])

    private func name(_ type: TypeName, url: String? = nil) -> EntryName {
        EntryName(
            createdAt: Timestamp(microseconds: 1), id: OperationID("a")!, type: type,
            originDigest: url.flatMap { Origin(url: $0)?.digest })
    }

    private let table = DestinationTable(Self.configuration)

    @Test func `a route leads to its named destination, else to its origin`() {
        #expect(table.destination(of: name(.default)).name == "https://api.example.com")
        #expect(table.destination(of: name(TypeName("unknown")!)).name == "https://api.example.com")
        #expect(table.destination(of: name(Self.crm)) == Destination(named: "office"))
        #expect(table.destination(of: name(Self.erp)) == Destination(named: "office"))
        #expect(table.destination(of: name(Self.own)).name == "no url")
    }

    @Test func `an operation's url leads to its origin, unless the route has the same origin`() {
        #expect(table.destination(of: name(Self.crm, url: "https://crm.example/other")).name == "office")
        #expect(table.destination(of: name(Self.crm, url: "https://else.example/")).name == "https://else.example")
        #expect(table.destination(of: name(Self.own, url: "https://crm.example/")).name == "https://crm.example")
        #expect(
            table.destination(of: name(.default, url: "https://api.example.com/x")).name == "https://api.example.com")
        let foreign = table.destination(of: name(.default, url: "https://unheard.example/"))
        #expect(foreign.digest == Digest(of: "https://unheard.example"))
        #expect(foreign.name == "origin \(foreign.digest)")
        let knowing = DestinationTable(Self.configuration, knowing: ["https://unheard.example"])
        #expect(knowing.destination(of: foreign.digest).name == "https://unheard.example")
    }

    @Test func `settings are found by name, and by origin in any spelling`() {
        #expect(table.settings(of: table.destination(of: name(.default))).concurrency == 1)
        #expect(table.settings(of: table.destination(of: name(Self.erp))).concurrency == 2)
        #expect(table.settings(of: Destination(named: "https://else.example")).concurrency == 3)
        #expect(table.settings(of: Destination(named: "https://crm.example")) == DestinationSettings())
    }

    @Test func `an operator may name a known destination or any origin`() {
        #expect(table.destination(named: "office") == Destination(named: "office"))
        #expect(
            table.destination(named: "HTTPS://Api.example.com:443/v1") == Destination(named: "https://api.example.com"))
        #expect(table.destination(named: "https://unheard.example") == Destination(named: "https://unheard.example"))
        #expect(table.destination(named: "offices") == nil)
        #expect(table.destination(named: "") == nil)
    }

    @Test func `the table lists the routes to a destination`() {
        #expect(table.routes(of: Digest(of: "office")).map(\.type) == [Self.crm, Self.erp])
        #expect(table.routes(of: Digest(of: "https://api.example.com")).map(\.type) == [nil])
        #expect(
            table.routes(of: Digest(of: "https://api.example.com")).map(\.route) == [Self.configuration.defaultRoute])
        // No route has this origin. The table lists the routes with operations that may bring a url.
        #expect(
            table.routes(of: Digest(of: "https://else.example")).map(\.type) == [nil, Self.crm, Self.erp, Self.own])
        var strict = Self.configuration
        strict.defaultRoute.overrides = [.method]
        #expect(DestinationTable(strict).routes(of: Digest(of: "https://else.example")).first?.type == Self.crm)
    }
}
