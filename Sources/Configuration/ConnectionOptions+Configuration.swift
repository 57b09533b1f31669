import Policy

extension ConfigurationValue<ConnectionOptions.ClientCertificate> {
    static let clientCertificate = object(
        "certificate", of: ConfigurationKeys.clientCertificate,
        from: ConnectionOptions.ClientCertificate(certificateFile: "")
    ) { certificate, _, _ in certificate }
}

extension ConfigurationValue<ConnectionOptions.Proxy> {
    static let proxy = ConfigurationValue("proxy", .text()) { value, findings in
        switch value.string {
        case "environment": return .environment
        case "direct": return .direct
        case .some(let url) where url.contains("://"):
            if let problem = proxyProblem(in: url) {
                return findings.refuse(
                    "\(quote(withoutUserInformation(url))) \(problem.reason)", at: value.position, hint: problem.hint)
            }
            return findings.check(url, as: .proxy, at: value.position) ? .url(url) : nil
        case .some, nil:
            return findings.refuse(
                value, "is not a proxy",
                hint: "write environment, direct, or a URL such as http://proxy.example.com:3128")
        }
    }

    private static let schemes = ["http", "https", "socks5", "socks5h"]

    /// Returns why the text cannot be a proxy's URL; `nil` if it can.
    private static func proxyProblem(in url: String) -> URLTemplateSyntax.Problem? {
        let scheme = url.upTo(":")
        if !schemes.contains(String(scheme)) {
            return .init(reason: "has an unknown proxy scheme", hint: "one of \(schemes.joined(separator: ", "))")
        }
        var authority = Substring(url.utf8.dropFirst(scheme.utf8.count + "://".utf8.count))
        if let end = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            let user = authority[..<end]
            if user.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) || user.utf8.contains(UInt8(ascii: "/")) {
                return .init(reason: "has invalid user information", hint: "percent-encode it, or use ${secret:NAME}")
            }
            authority = authority[end...].afterFirstByte
        }
        if authority.ends(with: "/") { authority = Substring(authority.utf8.dropLast()) }
        if authority.contains("${") {
            return .init(
                reason: "has a secret outside its user information", hint: "as in http://${secret:proxy}@host:3128")
        }
        if authority.utf8.contains(where: { "/?#".utf8.contains($0) }) {
            return .init(reason: "has a path", hint: "a proxy is a host and a port")
        }
        if let problem = URLTemplateSyntax.problem(inAuthority: authority) { return problem }
        guard let origin = Origin(url: "http://\(authority)") else { return .init(reason: "has an invalid host") }
        if !authority.ends(with: ":\(origin.port)") {
            return .init(reason: "has no port", hint: "write it, as in http://proxy.example.com:3128")
        }
        return nil
    }
}

extension ConfigurationValue<Rate> {
    static let rate = ConfigurationValue("rate", .text(), hint: "rates are written 20/s 90/m 1000/h") { value in
        value.string.flatMap { Rate(quantity: $0) }
    }
}

extension ConfigurationValue<Conditions.Power> {
    static let power = ConfigurationValue("any, ac or duration", .text()) { value, findings in
        switch value.string {
        case "any": return .any
        case "ac": return .mains
        case .some(let text):
            if let delay = Duration(quantity: text), delay > .zero { return .delayOnBattery(delay) }
            fallthrough
        case nil:
            return findings.refuse(
                value, "is neither any nor ac nor a duration",
                hint: "on battery a run waits once for a duration such as \"5s\", before it sends")
        }
    }
}
