import Policy
import Testing

@testable import Configuration

/// The values kept from answers, and the routes that send them.
struct `The configuration of a chain` {
    private func routes(_ create: String, _ update: String = "url: 'http://h/{kept.id}'") -> String {
        "{ routes: {\n default: { url: 'http://h/' },\n create: { \(create) },\n update: { \(update) },\n} }"
    }

    @Test func `a route keeps values from the body, values from header fields, and whole answers`() throws {
        let configuration = try configured(routes("keep: { id: '/data/id', tag: 'ETag' }, keepAnswer: true"))
        let route = configuration.route(of: TypeName("create")!)
        #expect(route.keep == ["id": .pointer(JSONPointer("/data/id")!), "tag": .header("ETag")])
        #expect(route.keepsAnswer && configuration.keepsAnswers)
        #expect(configuration.sendsKeptValues && configuration.route(of: TypeName("update")!).keptNames == ["id"])
        #expect(configuration.keepsDeliveredFor == .seconds(86_400))
        let plain = try configured("{ retention: { kept: '30d' } }")
        #expect(
            plain.defaultRoute.keep.isEmpty && plain.routes.isEmpty && !plain.sendsKeptValues
                && plain.keepsDeliveredFor == .zero)
        #expect(plain.retention.kept == .seconds(30 * 86_400))
    }

    @Test func `an empty keep clears the inherited values`() throws {
        let configuration = try configured(
            "{ routes: { default: { url: 'http://h/', keep: { id: '/id' } }, a: {}, b: { keep: {} } } }")
        #expect(configuration.route(of: TypeName("a")!).keep.count == 1)
        #expect(configuration.route(of: TypeName("b")!).keep.isEmpty)
    }

    @Test(arguments: [
        (
            "keep: { note: '/id' }",
            "4:17: routes.update.url: no route keeps a value 'id'; add to the route whose answer contains it: keep: { id: \"/id\" }"
        ),
        ("keep: { ids: '/id' }", "4:17: routes.update.url: no route keeps a value 'id'; did you mean 'ids'?"),
        (
            "keep: { 'a.b': '/id', id: '/id' }",
            "3:20: routes.create.keep.'a.b': 'a.b' is not a name; a name is 1 to 64 of A-Z a-z 0-9 _ and -"
        ),
        (
            "keep: { id: 7 }",
            "3:24: routes.create.keep.id: 7 is neither the name of a header field nor a JSON Pointer"
        ),
        ("keep: ['/id']", "3:18: routes.create.keep: "),
        ("keep: { id: '/id' }, batch: { max: 2 }", "routes.create.keep: the answer to a batch"),
        (
            "keep: { id: '/id' }, method: 'HEAD'",
            "routes.create.method: the route reads the answer's body, and the answer to a HEAD has none"
        ),
        ("keep: { id: '/id' }, answerLimit: 0", "routes.create.answerLimit: the route reads the answer's body"),
    ])
    func `an impossible chain is reported with its position`(create: String, expected: String) {
        let errors = configurationErrors(routes(create))
        #expect(errors.contains { $0.contains(expected) }, "\(errors)")
    }
}
