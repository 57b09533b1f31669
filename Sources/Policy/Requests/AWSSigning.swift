/// The signing of a route's requests for AWS, or for a compatible service: AWS Signature Version 4.
package struct AWSSigning: Hashable, Sendable {
    /// The service's name in signatures: `sqs`, `s3`, `events`.
    package var service: String
    /// `eu-central-1`.
    package var region: String
    /// A template of secrets, like the next two.
    package var accessKey: String
    package var secretKey: String
    /// The session token of temporary credentials.
    package var sessionToken: String?

    package init(service: String, region: String, accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.service = service
        self.region = region
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// The header fields of a signature, in lower case. `sign` replaces those that a request already has.
    static let fieldNames: Set<String> = [
        "authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token",
    ]

    /// The templates, by their key below `sign.aws`.
    private var templates: [(key: String, text: String)] {
        [("accessKey", accessKey), ("secretKey", secretKey)] + (sessionToken.map { [("sessionToken", $0)] } ?? [])
    }

    var secretNames: [String] {
        templates.flatMap { (try? Template($0.text, for: .setting))?.secretNames ?? [] }
    }

    /// Whether the signing key is a secret, and not part of the configuration.
    package var hasSecretKey: Bool { (try? Template(secretKey, for: .setting))?.secretNames.isEmpty == false }

    fileprivate func filledIn(with secrets: SecretValues) throws(RequestError) -> [String: String] {
        var texts: [String: String] = [:]
        for (key, text) in templates {
            let template = try Template(text, for: .setting, of: "sign.aws.\(key)")
            texts[key] = try template.text(TemplateValues(nil, secrets: secrets))
        }
        return texts
    }

    /// Whether this is S3, which takes the path as sent. Others encode it again, and take several slashes for one.
    fileprivate var isS3: Bool { service == "s3" || service.begins(with: "s3-") }

    /// Returns why a request with a body file cannot be signed; `nil` if it can. Only S3 takes a body that the
    /// signature leaves out, and then only TLS protects it.
    func refusalOfFile(goingTo url: String) -> String? {
        guard isS3 else { return "cannot be signed for '\(service)': only S3 takes files" }
        return url.begins(with: "https:") ? nil : "cannot be signed for http: its content is not in the signature"
    }
}

extension OutgoingRequest {
    /// Signs the request: afterwards only fields that are not signed may change. Signs the method, the address, the
    /// body (but not a file), Content-Type and every `x-amz-` field. Returns the fields that must not be shown.
    ///
    /// AWS accepts a signature within five minutes of `now`, so each attempt is signed anew.
    package mutating func sign(
        by signing: AWSSigning, with secrets: SecretValues, at now: Timestamp
    ) throws(RequestError) -> [HeaderField] {
        let keys = try signing.filledIn(with: secrets)
        guard let parts = URLParts(url) else { throw .badURL(url, ownedBy: .route) }
        let target = AWSSignature.wireTarget(parts.rest, slashesAreKept: signing.isS3)
        url = parts.origin.description + target
        let time = now.compactMicroseconds.prefix(15) + "Z"
        let hash = bodyFile == nil ? SHA256.hexadecimal(SHA256.hash(body ?? [])) : "UNSIGNED-PAYLOAD"
        headers.removeAll { AWSSigning.fieldNames.contains($0.name.lowercased()) }
        headers.append(HeaderField(name: "X-Amz-Date", value: String(time)))
        headers.append(HeaderField(name: "X-Amz-Content-Sha256", value: hash))
        if let token = keys["sessionToken"] {
            headers.append(HeaderField(name: "X-Amz-Security-Token", value: token))
        }
        let host = parts.origin.description.pieces(at: "/")[2]
        let signed = headers.filter { field in
            let name = field.name.lowercased()
            return name == "content-type" || name.begins(with: "x-amz-")
        }
        let signature = AWSSignature(service: signing.service, region: signing.region, time: String(time))
        let authorization = HeaderField(
            name: "Authorization",
            value: signature.authorization(
                method: method, target: target, fields: signed + [HeaderField(name: "host", value: String(host))],
                payloadHash: hash, accessKey: keys["accessKey"] ?? "", secretKey: keys["secretKey"] ?? "",
                keepsPath: signing.isS3))
        guard HeaderField.canSend(value: authorization.value) else {
            throw .badHeader(name: "Authorization", reason: .value, ownedBy: .route)
        }
        headers.append(authorization)
        return [authorization]
    }
}
