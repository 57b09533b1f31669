import Testing

@testable import Policy

struct RequestCredentialsTests {
    private static let bearer = [HeaderField(name: "Authorization", value: "Bearer ${secret:api}")]

    private func credentials(
        _ route: Route = Route(url: "https://a.example/x", headers: Self.bearer),
        secrets: [String: String] = ["api": "s"],
        sources: [String: SecretSource] = [:], body: String = "",
        own: (inout OperationHeader) -> Void = { _ in }
    ) -> RequestCredentials {
        var header = OperationHeader(
            id: OperationID("a")!, type: .default, createdAt: Timestamp(microseconds: 0), contentType: nil)
        own(&header)
        return RequestForm(route).credentials(
            of: [Operation(header: header, body: Array(body.utf8))], secrets: SecretValues(values: secrets),
            sources: sources)
    }

    @Test func `equal values are equal credentials, whatever their names and the url are`() {
        #expect(credentials() == credentials())
        let other = Route(
            url: "https://a.example/y?page=2",
            headers: [HeaderField(name: "Authorization", value: "Bearer ${secret:b}")])
        #expect(credentials(other, secrets: ["b": "s"]) == credentials())
        #expect(!credentials().areOwn)
    }

    static let differences: [(String, @Sendable (inout Route) -> Void)] = [
        ("a literal token", { $0.headers = [HeaderField(name: "Authorization", value: "Bearer x")] }),
        ("a literal key", { $0.headers.append(HeaderField(name: "X-Api-Key", value: "x")) }),
        ("a key in the url", { $0.url = "https://a.example/x?api_key=x" }),
        ("the user of auth.basic", { $0.basicUser = "x" }),
        ("headersCommand", { $0.headersCommand = ["sign"] }),
        (
            "the key of sign",
            { $0.awsSigning = AWSSigning(service: "s3", region: "x", accessKey: "x", secretKey: "${secret:api}") }
        ),
    ]

    @Test(arguments: differences.indices)
    func `credentials that a route writes out count`(index: Int) {
        var route = Route(url: "https://a.example/x", headers: Self.bearer)
        Self.differences[index].1(&route)
        let difference = Self.differences[index].0
        #expect(credentials(route) != credentials() && !credentials(route).areOwn, "\(difference)")
    }

    @Test func `another value of a secret counts, and another token of a command does not`() {
        #expect(credentials(secrets: ["api": "t"]) != credentials())
        let command: [String: SecretSource] = ["api": .command(["token"], ttl: nil)]
        #expect(
            credentials(secrets: ["api": "t"], sources: command) == credentials(secrets: ["api": "u"], sources: command)
        )
        #expect(credentials(sources: command) != credentials(sources: ["api": .command(["other"], ttl: nil)]))
    }

    @Test func `the text beside a secret counts, with the secret's value in its place`() {
        func account(_ name: String, _ secret: String = "api") -> Route {
            Route(
                url: "https://a.example/x",
                headers: [HeaderField(name: "Authorization", value: "Account \(name):${secret:\(secret)}")])
        }
        #expect(credentials(account("one")) != credentials(account("two")))
        #expect(credentials(account("one")) == credentials(account("one", "b"), secrets: ["b": "s"]))
        #expect(credentials(account("cafe\u{301}")) != credentials(account("caf\u{E9}")))
        let command: [String: SecretSource] = ["api": .command(["token"], ttl: nil)]
        #expect(
            credentials(account("one"), secrets: ["api": "t"], sources: command)
                == credentials(account("one"), secrets: ["api": "u"], sources: command))
        #expect(
            credentials(account("one"), sources: command) != credentials(account("two"), sources: command))
        let names = ["one", "two"].map { RequestForm(account($0)).credentialNames(settings: DestinationSettings()) }
        #expect(names[0] != names[1])
        let basic = ["one", "two"].map { user in
            Route(url: "https://a.example/x", basicUser: user, basicPassword: "${secret:api}")
        }
        #expect(credentials(basic[0]) != credentials(basic[1]))
    }

    @Test func `a field that takes credentials from the operation has its value, and is its own`() {
        let route = Route(
            url: "https://a.example/x", headers: [HeaderField(name: "Authorization", value: "Bearer {payload.t}")])
        let one = credentials(route, body: #"{"t":"one"}"#)
        #expect(one.areOwn && one == credentials(route, body: #"{"n":1,"t":"one"}"#))
        #expect(one != credentials(route, body: #"{"t":"two"}"#))
        let typed = Route(
            url: "https://a.example/x", headers: [HeaderField(name: "Authorization", value: "{type}:${secret:api}")])
        #expect(!credentials(typed).areOwn)
        #expect(credentials(typed) != credentials(typed) { $0.type = TypeName("t")! })
        // Named like a credential, and not one by which clients log in.
        let keyed = Route(url: "https://a.example/x", headers: [HeaderField(name: "X-Partition-Key", value: "{id}")])
        #expect(!credentials(keyed).areOwn && credentials(keyed) == credentials(keyed) { $0.id = OperationID("b")! })
    }

    @Test(arguments: ["Authorization", "cookie", "Proxy-Authorization", "X-API-Key"])
    func `credentials of an operation are its own`(name: String) {
        let one = credentials { $0.headers = [HeaderField(name: name, value: "x")] }
        #expect(one.areOwn && one != credentials())
        #expect(one != credentials { $0.headers = [HeaderField(name: name, value: "y")] })
    }

    @Test func `a key in the url of an operation is its own, and other fields are none`() {
        #expect(credentials { $0.url = "https://a.example/x?page=2&token=x" }.areOwn)
        #expect(credentials { $0.url = "https://a.example/x?page=2" } == credentials())
        #expect(credentials { $0.headers = [HeaderField(name: "X-Trace-Key", value: "1")] } == credentials())
    }

    @Test func `a mark is 16 digits, and differs under another key`() {
        let mark = credentials().mark(key: "key")
        #expect(mark.utf8.count == 16 && mark.allSatisfy(\.isHexDigit))
        #expect(mark != credentials().mark(key: "other") && mark == credentials().mark(key: "key"))
    }
}
