/// AWS Signature Version 4: it proves to an AWS service who sends a request, and that the request is unchanged.
///
/// A pure function of the request, the key and the time. AWS's published vectors test it.
struct AWSSignature {
    var service: String
    var region: String
    /// In the form `20150830T123600Z`.
    var time: String

    /// The scope of the signature: `20150830/us-east-1/service/aws4_request`.
    var scope: String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

    /// Returns the value of the header Authorization.
    ///
    /// - Parameters:
    ///   - target: path and query as sent, see `wireTarget`.
    ///   - fields: the signed header fields, with `host` and `x-amz-date`.
    ///   - payloadHash: the body's SHA-256 in hexadecimal, or `UNSIGNED-PAYLOAD`.
    ///   - keepsPath: whether the path is signed as sent; if not, encoded once more, with several slashes as one.
    func authorization(
        method: String, target: String, fields: [HeaderField], payloadHash: String, accessKey: String,
        secretKey: String,
        keepsPath: Bool
    ) -> String {
        let fields = Self.canonical(fields)
        let names = fields.map(\.name).joined(separator: ";")
        let path = target.upTo("?")
        let request = [
            method, keepsPath ? String(path) : Self.canonicalPath(path),
            Self.canonicalQuery(target[path.endIndex...].afterFirstByte),
            fields.map { "\($0.name):\($0.value)\n" }.joined(), names, payloadHash,
        ].joined(separator: "\n")
        let text = ["AWS4-HMAC-SHA256", time, scope, SHA256.hexadecimal(SHA256.hash(Array(request.utf8)))]
        let signature = sign(text.joined(separator: "\n"), secretKey: secretKey)
        return "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    }

    private func sign(_ text: String, secretKey: String) -> String {
        var key = Array("AWS4\(secretKey)".utf8)
        for part in scope.pieces(at: "/") { key = SHA256.authenticate(Array(part.utf8), key: key) }
        return SHA256.hexadecimal(SHA256.authenticate(Array(text.utf8), key: key))
    }

    // MARK: - The canonical request

    private static func canonicalPath(_ path: Substring) -> String {
        let segments = path.pieces(at: "/").filter { !$0.isEmpty }
        if segments.isEmpty { return "/" }
        return "/" + segments.map { String($0).percentEncoded }.joined(separator: "/")
            + (path.ends(with: "/") ? "/" : "")
    }

    private static func canonicalQuery(_ query: Substring) -> String {
        let pairs = query.pieces(at: "&").filter { !$0.isEmpty }.map { pair in
            let name = pair.upTo("=")
            return (name: Array(name.utf8), value: Array(pair[name.endIndex...].afterFirstByte.utf8))
        }
        let sorted = pairs.sorted { left, right in
            left.name == right.name
                ? left.value.lexicographicallyPrecedes(right.value) : left.name.lexicographicallyPrecedes(right.name)
        }
        return sorted.map { String(decoding: $0.name + [UInt8(ascii: "=")] + $0.value, as: UTF8.self) }
            .joined(separator: "&")
    }

    /// Returns the fields in the order of their lower-case names, each name once, with single blanks in their values.
    private static func canonical(_ fields: [HeaderField]) -> [HeaderField] {
        var values: [String: String] = [:]
        for field in fields {
            let words = field.value.utf8.split { " \t\r\n".utf8.contains($0) }
            let value = String(decoding: Array(words.joined(separator: " ".utf8)), as: UTF8.self)
            let name = field.name.lowercased()
            values[name] = values[name].map { "\($0),\(value)" } ?? value
        }
        return values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .map { HeaderField(name: $0.key, value: $0.value) }
    }

    // MARK: - The address

    /// Returns path and query as a signed request sends them: in the one form that every server and transport leaves
    /// unchanged. It has no dot segments, and every byte but the unreserved ones (RFC 3986 §2.3) is `%XX` in capitals.
    /// A plus sign in the query becomes the blank that it stands for.
    ///
    /// `slashesAreKept` makes `%2F` in the path a slash, as S3 does before it checks the signature.
    static func wireTarget(_ target: Substring, slashesAreKept: Bool = false) -> String {
        let path = target.upTo("?")
        let query = target[path.endIndex...].afterFirstByte
        let segments = path.pieces(at: "/").dropFirst().map(encodedOnce)
            .map { slashesAreKept ? $0.withSlashes : $0 }
        let pairs = query.pieces(at: "&").filter { !$0.isEmpty }.map { pair -> String in
            let name = pair.upTo("=")
            let value = pair[name.endIndex...]
            return encodedOnce(blanked(name)) + (value.isEmpty ? "" : "=" + encodedOnce(blanked(value.afterFirstByte)))
        }
        return "/" + segments.withoutDotSegments.joined(separator: "/")
            + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    private static func blanked(_ text: Substring) -> Substring {
        Substring(decoding: text.utf8.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }, as: UTF8.self)
    }

    /// Percent-encodes the text, except parts that are encoded already.
    private static func encodedOnce(_ text: Substring) -> String {
        var decoded: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "%"), let value = bytes.prefix(2).hexadecimalByte {
                decoded.append(value)
                bytes = bytes.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded.percentEncoded(leaving: ""), as: UTF8.self)
    }
}

extension String {
    /// The segment with its encoded slashes decoded, unless that would make dot segments.
    fileprivate var withSlashes: String {
        let pieces = utf8.split(separator: "%2F".utf8, omittingEmptySubsequences: false).map { Substring($0) }
        return pieces.contains(".") || pieces.contains("..") ? self : pieces.joined(separator: "/")
    }
}

extension ArraySlice<UInt8> {
    /// The value of two hexadecimal digits; `nil` if the slice is anything else.
    fileprivate var hexadecimalByte: UInt8? {
        count == 2 && allSatisfy(\.isHexDigit) ? UInt8(String(decoding: self, as: UTF8.self), radix: 16) : nil
    }
}
