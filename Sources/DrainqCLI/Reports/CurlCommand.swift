import Policy

/// The commands of a POSIX shell that send a request with curl(1) as a run sends it. Variables stand for secrets.
struct CurlCommand {
    private(set) var bytes: [UInt8] = []
    /// The options of curl, with their values.
    private var words: [[UInt8]] = []
    private var variables: [String: String] = [:]

    /// The number of bytes of a body from which it is piped to curl, in the place of an argument.
    private static let mostArgument = 65_536

    init(_ request: ShownRequest) {
        if request.method == "HEAD" { words.append(Array("--head".utf8)) } else { add("--request", request.method) }
        add("--url", request.url.parts, .url)
        setHeaders(of: request)
        if let signing = request.awsSigning {
            add("--aws-sigv4", "aws:amz:\(signing.region):\(signing.service)")
            add("--user", request.signingKeys[0].parts + [.bytes([UInt8(ascii: ":")])] + request.signingKeys[1].parts)
        }
        connect(request)
        let source = content(of: request)
        let checks = variables.sorted { $0.key < $1.key }.map { ": \"${\($0.key):?\($0.value)}\"\n" }
        let note = request.headersCommand.map { "# \(shellWord($0.joined(separator: " "))) adds header fields\n" } ?? ""
        bytes = Array((checks.joined() + note).utf8) + source
        // --disable counts only as the first option.
        bytes += Array("curl --disable --globoff --path-as-is --compressed ".utf8)
        bytes += Array(words.joined(separator: Array(" \\\n    ".utf8)))
        bytes.append(0x0A)
    }

    private mutating func add(_ option: String, _ value: String) {
        words.append(Array("\(option) \(shellWord(value))".utf8))
    }

    private mutating func add(_ option: String, _ parts: [NamedText.Part], _ escape: Escape = .plain) {
        words.append(Array("\(option) ".utf8) + word(parts, escape))
    }

    // MARK: - Parts

    private mutating func setHeaders(of request: ShownRequest) {
        // curl makes these fields of a signature itself.
        let signed = request.awsSigning == nil ? [] : ["authorization", "x-amz-date", "x-amz-content-sha256"]
        for field in request.headers where !signed.contains(field.name.lowercased()) {
            let isEmpty = field.value.bytes.allSatisfy(\.isBlank)
            let name = NamedText.Part.bytes(Array((field.name + (isEmpty ? ";" : ": ")).utf8))
            add("--header", [name] + (isEmpty ? [] : field.value.parts))
        }
        for name in ["Accept", "Content-Type", "Expect"]
        where !request.headers.contains(where: { $0.name.lowercased() == name.lowercased() }) {
            add("--header", "\(name):")
        }
    }

    private mutating func connect(_ request: ShownRequest) {
        func seconds(_ duration: Duration) -> String {
            let milliseconds = max(1, Int(clamping: duration.wholeMicroseconds / 1000))
            return "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())"
        }
        add("--connect-timeout", seconds(request.timeouts.connect))
        add("--max-time", seconds(request.timeouts.total))
        let connection = request.connection
        if let proxy = request.proxy { add("--proxy", proxy.parts, .url) }
        if connection.proxy == .direct { add("--noproxy", "*") }
        if let file = connection.caFile { add("--cacert", file) }
        if let socket = connection.unixSocket { add("--unix-socket", socket) }
        guard let certificate = connection.clientCertificate else { return }
        // A colon would end the name of the file.
        add("--cert", certificate.certificateFile.replacing("\\", with: "\\\\").replacing(":", with: "\\:"))
        if let key = certificate.keyFile { add("--key", key) }
        if let passphrase = request.passphrase { add("--pass", passphrase.parts) }
    }

    /// Adds the option for the body. Returns the commands that pipe the body to curl; empty if the option has it.
    private mutating func content(of request: ShownRequest) -> [UInt8] {
        if let file = request.bodyFile {
            add("--data-binary", "@\(file.path)")
            return []
        }
        guard let body = request.body, request.method != "HEAD" else { return [] }
        let escape: Escape =
            switch request.bodySyntax {
            case .json: .json
            case .form: .url
            case .text: .plain
            }
        let bytes = body.bytes
        if bytes.count < Self.mostArgument, !request.isToBeCompressed, !bytes.contains(0),
            String(validating: bytes, as: UTF8.self) != nil
        {
            add("--data-raw", body.parts, escape)
            return []
        }
        add("--data-binary", "@-")
        let pieces = body.parts.map { part in
            if case .bytes(let bytes) = part { return Array("printf -- '\(Self.octal(bytes))'; ".utf8) }
            return Array("printf %s ".utf8) + word([part], escape) + Array("; ".utf8)
        }
        let compression = request.isToBeCompressed ? " | gzip -nc" : ""
        return Array("{ ".utf8) + pieces.joined() + Array("}\(compression) | ".utf8)
    }

    /// Returns the bytes as a format of printf(1).
    private static func octal(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            let isPlain = (0x20...0x7E).contains(byte) && !"%\\'".utf8.contains(byte)
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "\\" + [6, 3, 0].map { String(byte >> $0 & 7) }.joined()
            }
        }
        return text
    }

    // MARK: - Words

    /// The way in which a secret is escaped for its place.
    private struct Escape: Equatable {
        /// The end of the variable's name, and of the words for the secret.
        var suffix = ""
        var words = ""

        static let plain = Escape()
        static let url = Escape(suffix: "_encoded", words: ", percent-encoded")
        static let json = Escape(suffix: "_escaped", words: ", escaped as in a JSON string")
    }

    /// Returns a text as one word of a shell, with variables in place of secrets.
    private mutating func word(_ parts: [NamedText.Part], _ escape: Escape) -> [UInt8] {
        if parts.isEmpty { return Array("''".utf8) }
        return parts.flatMap { part in
            switch part {
            case .bytes(let bytes): return Array(shellWord(String(decoding: bytes, as: UTF8.self)).utf8)
            case .secret(let name): return Array("\"$\(variable(name, escape))\"".utf8)
            case .base64(let parts):
                let encoding = escape == .url ? " | sed 's/+/%2B/g; s,/,%2F,g; s/=/%3D/g'" : ""
                return Array("\"$(printf %s ".utf8) + word(parts, .plain)
                    + Array(" | base64 | tr -d '\\n'\(encoding))\"".utf8)
            case .signature: return Array("'[signature]'".utf8)
            }
        }
    }

    private mutating func variable(_ name: String, _ escape: Escape) -> String {
        let isPart: (UInt8) -> Bool = { $0.isIdentifierByte && $0 != UInt8(ascii: "-") }
        var variable = String(decoding: name.utf8.map { isPart($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        if variable.utf8.first?.isDigit ?? true { variable = "_" + variable }
        variable += escape.suffix
        while let other = variables[variable], other != Self.meaning(name, escape) { variable += "_" }
        variables[variable] = Self.meaning(name, escape)
        return variable
    }

    private static func meaning(_ name: String, _ escape: Escape) -> String { "the secret \(name)\(escape.words)" }
}
