import Testing

@testable import Policy

struct OriginTests {
    @Test(arguments: [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/v1/{type}?k={key}", "https://api.example.com"),
        ("HTTPS://API.Example.COM:443/", "https://api.example.com"),
        ("http://api.example.com:80?x", "http://api.example.com"),
        ("http://api.example.com:443#x", "http://api.example.com:443"),
        ("http://a:/", "http://a"),
        ("http://127.0.0.1:8080/a:b@c", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://[::]", "http://[::]"),
        ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
        ("https://[1:2:3:4:5:6:7:8]", "https://[1:2:3:4:5:6:7:8]"),
        ("https://[1::]", "https://[1::]"),
        ("https://[::ffff:192.0.2.1]/x", "https://[::ffff:192.0.2.1]"),
        ("https://münchen.example/", "https://münchen.example"),
        ("http://my_host", "http://my_host"),
    ])
    func `an origin is scheme, host and port in a canonical spelling`(url: String, text: String) {
        #expect(Origin(url: url)?.description == text)
        #expect(Origin(url: text)?.description == text)
    }

    @Test(arguments: [
        "", "api.example.com", "//api.example.com", "ftp://a", "file:///etc/passwd", "http:/a", "http:a", "http://",
        "http:///x", "http://:80", "http://user@host/", "http://user:pw@host/", "http://good@evil/", "http://a b/",
        "http://a:0", "http://a:65536", "http://a:8x", "http://a:-1", "http://a:+1", "http://a%41/",
        "http://{id}.example/",
        "http://example.com{path}", "http://a\\@b/", "http://a\\b", "http://a\r\nb", "http://a\u{0}", "http://[::1",
        "http://::1/", "http://[]", "http://[1]", "http://[1:2:3:4:5:6:7]", "http://[1::2::3]", "http://[:::]",
        "http://[1:2:3:4:5:6:7:8:9]", "http://[:1:2:3:4:5:6:7]", "http://[1:2:3:4:5:6:7:]", "http://[12345::]",
        "http://[g::]", "http://[::1.2.3]", "http://[::1.2.3.256]", "http://[fe80::1%25eth0]", "http://[::1]x",
        "http://a\u{202E}b/", " http://a", "http://1:2:3",
    ])
    func `a url without a valid origin is refused`(url: String) {
        #expect(Origin(url: url) == nil)
    }

    @Test func `an entry's destination follows its own url, else its type's current route`() throws {
        let own = try #require(Origin(url: "http://own"))
        let crm = try #require(TypeName("crm"))
        let mute = try #require(TypeName("mute"))
        var configuration = Configuration(
            defaultRoute: Route(url: "http://usual/{id}"), routes: [crm: Route(url: "http://crm"), mute: Route()])
        func key(_ type: TypeName, _ origin: Origin? = nil) -> Digest {
            let name = EntryName(
                createdAt: Timestamp(microseconds: 0), id: OperationID("a")!, type: type, originDigest: origin?.digest)
            return DestinationTable(configuration).destination(of: name).digest
        }
        #expect(key(.default) == Origin(url: "http://usual")?.digest)
        #expect(key(TypeName("other")!) == Origin(url: "http://usual")?.digest)
        #expect(key(crm) == Origin(url: "http://crm:80")?.digest)
        #expect(key(mute) == Digest(of: "no url"))
        #expect(key(mute, own) == own.digest)
        configuration.defaultRoute.url = "https://moved/{id}"
        #expect(key(.default) == Digest(of: "https://moved"))
    }

    @Test func `origins have an order`() throws {
        #expect(try #require(Origin(url: "http://b")) < #require(Origin(url: "https://a")))
    }
}
