import Testing

@testable import Policy

struct RedirectTests {
    private func target(_ location: String?, status: Int = 307, from url: String = "http://a/b/c/d;p?q") -> String? {
        let headers = location.map { [HeaderField(name: "location", value: $0)] } ?? []
        return Redirect.target(of: .init(status: status, headers: headers), from: url)
    }

    /// RFC 3986 §5.4, normal and abnormal examples; `nil` if the target has a different origin.
    @Test(
        arguments: [
            ("g:h", nil), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", nil), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
            ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
            ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
            ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/../x", "http://a/b/c/g"), ("http:g", nil),
        ] as [(String, String?)])
    func `a location is resolved according to the RFC`(location: String, expected: String?) {
        #expect(target(location) == expected)
    }

    @Test(
        arguments: [
            ("http://a/x", "http://a/x"), ("HTTP://A:80/x", "http://a/x"), ("//a:80/x", "http://a/x"),
            ("http://a", "http://a/"),
            ("http://a?k", "http://a/?k"), ("/é x%20%z", "http://a/%C3%A9%20x%20%25z"), (" /x\t", "http://a/x"),
            ("g/a:b", "http://a/b/c/g/a:b"), ("./a:b", "http://a/b/c/a:b"), ("/..//evil/x", "http://a//evil/x"),
            ("\\\\evil\\x", "http://a/b/c/%5C%5Cevil%5Cx"),
            ("https://a/x", nil), ("http://a:81/x", nil), ("http://b/x", nil), ("//b/x", nil), ("http://u@a/x", nil),
            ("http://a.evil/x", nil), ("http://a\\@evil/x", nil), ("http:///x", nil), ("javascript:x", nil),
            ("/x\ny", nil), ("/sp\u{FFFD}", nil),
        ] as [(String, String?)])
    func `a redirect is followed only to the same scheme, host and port`(location: String, expected: String?) {
        #expect(target(location) == expected)
    }

    @Test func `only the statuses 301, 302, 307 and 308 with a location are followed`() {
        for status in 100...599 {
            #expect((target("/x", status: status) != nil) == [301, 302, 307, 308].contains(status), "\(status)")
        }
        #expect(target(nil) == nil)
        #expect(target("/x", from: "nonsense") == nil)
        #expect(target("x", from: "https://a") == "https://a/x")
        #expect(target("x", from: "https://a?q=/y") == "https://a/x")
        #expect(target("x", from: "https://[::1]:8443/y/z?q") == "https://[::1]:8443/y/x")
    }
}
