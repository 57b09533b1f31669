/// A request for people and programs that do not send it: with names in place of secrets.
package struct ShownRequest: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: NamedText
    }

    package var method: String
    package var url: NamedText
    package var headers: [Field]
    /// `nil` without a body, or if it is a file. If it has secrets, the body before its compression.
    package var body: NamedText?
    package var bodyFile: BodyFile?
    /// The url of the proxy that the configuration names.
    package var proxy: NamedText?
    package var passphrase: NamedText?
    package var connection: ConnectionOptions
    package var timeouts: Timeouts
    /// The command whose header fields are missing here, because it is not run only to show a request.
    package var headersCommand: [String]?
    package var awsSigning: AWSSigning?
    /// The access key, the secret key and the session token, if the request is signed for AWS.
    package var signingKeys: [NamedText] = []
    /// The syntax of the body, which says how its secrets are escaped.
    package var bodySyntax: BodySyntax
    /// Whether `body` is still to be compressed with gzip.
    package var isToBeCompressed: Bool

    /// Names the secrets of a request of this route, made with marks. The request's transport does not matter.
    package init(_ request: OutgoingRequest, of route: Route, _ marks: SecretMarks) {
        method = request.method
        url = marks.named(request.url)
        headers = request.headers.map { Field(name: $0.name, value: marks.named($0.value)) }
        body = request.body.map { marks.named($0) }
        bodyFile = request.bodyFile
        if case .url(let url) = request.connection.proxy { proxy = marks.named(url) }
        passphrase = request.connection.clientCertificate?.passphrase.map { marks.named($0) }
        connection = request.connection
        timeouts = request.timeouts
        headersCommand = route.headersCommand
        awsSigning = route.awsSigning
        bodySyntax = route.bodySyntax
        isToBeCompressed = route.compress == .gzip && body.map { !$0.isPlain } == true
        guard let awsSigning else { return }
        let texts = [awsSigning.accessKey, awsSigning.secretKey] + [awsSigning.sessionToken].compactMap(\.self)
        signingKeys = texts.map { text in
            let template = try? Template(text, for: .setting)
            let values = TemplateValues(nil, secrets: marks.values(Set(template?.secretNames ?? [])))
            return marks.named((try? template?.text(values)) ?? text)
        }
        hideSignature()
    }

    /// Replaces what was computed from marks in place of secrets.
    private mutating func hideSignature() {
        let hasSecretBody = body.map { !$0.isPlain } ?? false
        for index in headers.indices {
            switch headers[index].name.lowercased() {
            case "authorization": headers[index].value.hideSignature()
            case "x-amz-content-sha256" where hasSecretBody: headers[index].value.parts = [.signature]
            default: break
            }
        }
    }
}

extension NamedText {
    /// Replaces the text after `Signature=`.
    fileprivate mutating func hideSignature() {
        guard case .bytes(let last)? = parts.last, let name = last.firstRange(of: Array("Signature=".utf8)) else {
            return
        }
        parts[parts.count - 1] = .bytes(Array(last[..<name.upperBound]))
        parts.append(.signature)
    }
}
