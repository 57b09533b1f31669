import CCurl
import CSystem
import Policy

/// The libcurl options of requests, set on a handle. Options set by `ccurl_set_…` itself may be unknown to an older
/// libcurl, which then goes without; `number` and `text` throw its refusal.
struct CurlOptions {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    /// Sets the common options of all requests of a kind.
    func set(_ kind: CurlHandle.Kind) throws(CurlRefusal) {
        try number(CURLOPT_NOSIGNAL, 1)
        try number(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP_AND_HTTPS))
        try number(CURLOPT_HTTP09_ALLOWED, 0)
        try number(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try setUseOfConnections(for: kind)
        // The URL that is shown and signed is sent, with its dot segments.
        try number(CURLOPT_PATH_AS_IS, 1)
        try number(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(kind.connect.pollMilliseconds)))
        try setMethod(of: kind)
        try set(kind.connection)
    }

    /// Sets a request's URL, and names its proxy (empty for none), so that libcurl does not choose one from the
    /// environment itself.
    func setTarget(_ url: String, proxy: String) throws(CurlRefusal) {
        try text(CURLOPT_URL, url)
        try text(CURLOPT_PROXY, proxy)
        try text(CURLOPT_NOPROXY, "")
    }

    /// Sets the body of a request. libcurl copies a body in memory; the read function must give libcurl the bytes of a
    /// body in a file.
    func setBody(of request: OutgoingRequest) throws(CurlRefusal) {
        if request.streamsBody, let length = request.bodyLength {
            let size = CURLOPT_INFILESIZE_LARGE
            try check(ccurl_set_size(handle, size, Int64(clamping: length)), size)
            // Fewer calls for a large body. Over TLS one record: libcurl counts a buffer only when OpenSSL has written
            // all of it, so a larger buffer would look idle on a slow line. A library before 7.62 keeps its 16 KB.
            ccurl_set_number(handle, CURLOPT_UPLOAD_BUFFERSIZE, request.usesTLS ? 16 << 10 : 256 << 10)
        } else if request.method != "HEAD", let body = request.body {
            let size = CURLOPT_POSTFIELDSIZE_LARGE
            try check(ccurl_set_size(handle, size, Int64(body.count)), size)
            try check(ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, body), CURLOPT_COPYPOSTFIELDS)
        }
    }

    private func setUseOfConnections(for kind: CurlHandle.Kind) throws(CurlRefusal) {
        if Libcurl.hasConnectionHooks {
            try setVersion(isHTTP1: kind.needsHTTP1)
            if kind.isFresh { try setOwnConnection() }
        } else {
            try number(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            try setOwnConnection()
        }
    }

    /// Offers HTTP/1.1 only, or HTTP/2 over TLS besides.
    func setVersion(isHTTP1: Bool) throws(CurlRefusal) {
        let version = isHTTP1 || !Libcurl.speaksHTTP2 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS
        // A library without HTTP/2 refuses it, and speaks HTTP/1.1.
        ccurl_set_number(handle, CURLOPT_HTTP_VERSION, Int(version))
    }

    /// Requires a connection for this request alone. Kept connections pile up at a server that allows few.
    private func setOwnConnection() throws(CurlRefusal) {
        try number(CURLOPT_FRESH_CONNECT, 1)
        try number(CURLOPT_FORBID_REUSE, 1)
    }

    private func setMethod(of kind: CurlHandle.Kind) throws(CurlRefusal) {
        // These methods expect a body, so a request without a body announces the length 0 (RFC 9110 §8.6).
        let impliesBody = ["POST", "PUT", "PATCH"].contains(kind.method)
        if kind.method == "HEAD" {
            return try number(CURLOPT_NOBODY, 1)
        } else if kind.content == .streamed {
            try number(CURLOPT_UPLOAD, 1)
        } else if kind.content == .memory || impliesBody {
            // Not through the read function: libcurl sends a small body together with the head.
            try number(CURLOPT_POST, 1)
            let size = CURLOPT_POSTFIELDSIZE_LARGE
            try check(ccurl_set_size(handle, size, 0), size)
            try text(CURLOPT_COPYPOSTFIELDS, "")
        } else {
            try number(CURLOPT_HTTPGET, 1)
        }
        try text(CURLOPT_CUSTOMREQUEST, kind.method)
    }

    private func set(_ connection: ConnectionOptions) throws(CurlRefusal) {
        // Keeps the request's fields from a tunnelling proxy, and the proxy's fields from the answer.
        try number(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if let socket = connection.unixSocket { try text(CURLOPT_UNIX_SOCKET_PATH, socket) }
        if let file = connection.caFile {
            // Replaces the system's authorities, so their directory goes too; also for a proxy over TLS.
            try text(CURLOPT_CAINFO, file)
            try text(CURLOPT_CAPATH, nil)
            ccurl_set_text(handle, CURLOPT_PROXY_CAINFO, file)
            ccurl_set_text(handle, CURLOPT_PROXY_CAPATH, nil)
        } else if Self.hasSystemFile {
            // Takes the system's authorities only from their file. libcurl caches a file, but reads file and directory
            // again for each connection if both are set: 30 ms of processor time.
            ccurl_set_text(handle, CURLOPT_CAPATH, nil)
        }
        if let client = connection.clientCertificate {
            try text(CURLOPT_SSLCERT, client.certificateFile)
            try text(CURLOPT_SSLKEY, client.keyFile ?? client.certificateFile)
            // Never `nil`: OpenSSL would ask for the passphrase on the terminal.
            try text(CURLOPT_KEYPASSWD, client.passphrase ?? "")
        }
    }

    /// Whether libcurl's default file of authorities is readable. Checked once in a process: an agent is short-lived.
    private static let hasSystemFile: Bool = {
        guard let handle = ccurl_easy_init() else { return false }
        defer { ccurl_easy_cleanup(handle) }
        var file: UnsafeMutableRawPointer?
        guard ccurl_get_pointer(handle, CURLINFO_CAINFO, &file) == 0, let file else { return false }
        let path = file.assumingMemoryBound(to: CChar.self)
        return access(path, R_OK) == 0
    }()

    private func number(_ option: ccurl_option, _ value: Int) throws(CurlRefusal) {
        try check(ccurl_set_number(handle, option, value), option)
    }

    private func text(_ option: ccurl_option, _ value: String?) throws(CurlRefusal) {
        try check(ccurl_set_text(handle, option, value), option)
    }

    private func check(_ code: Int32, _ option: ccurl_option) throws(CurlRefusal) {
        guard code != 0 else { return }
        let reason = String(cString: ccurl_easy_strerror(code))
        let detail = "libcurl \(String(cString: ccurl_version())) refuses its option \(option.rawValue): \(reason)"
        throw CurlRefusal(result: .failure(.machine, detail: detail))
    }
}

extension OutgoingRequest {
    /// Whether TLS carries the request, to its server or to a proxy.
    var usesTLS: Bool { isSecure || proxy.map(Self.isSecure) ?? false }

    /// Whether TLS carries the request to its server.
    var isSecure: Bool { Self.isSecure(url) }

    private static func isSecure(_ url: String) -> Bool {
        url.utf8.prefix(6).lazy.map { $0 | 0x20 }.elementsEqual("https:".utf8)
    }

    /// Returns the header lines for libcurl, without line breaks, in a list that free(3) ends: `Name;` for an empty
    /// field, and `Name:` for each field that libcurl must not add. Decoding is this program's, not libcurl's.
    func curlFields() throws(CurlRefusal) -> UnsafeMutablePointer<ccurl_list> {
        // All lines, each with a NUL at its end: no field that can be sent has one.
        var lines: [UInt8] = []
        lines.reserveCapacity(512)
        var count = headers.count
        for field in headers {
            var (name, value) = (field.name, field.value)
            name.withUTF8 { lines.append(contentsOf: $0) }
            value.withUTF8 { value in
                let isBlank = value.allSatisfy(\.isBlank)
                lines.append(UInt8(ascii: isBlank ? ";" : ":"))
                if isBlank { return }
                lines.append(UInt8(ascii: " "))
                lines.append(contentsOf: value)
            }
            lines.append(0)
        }
        if Gzip.defect == nil {
            lines.append(contentsOf: "Accept-Encoding: gzip\0".utf8)
            count += 1
        }
        for name: StaticString in ["Accept", "Content-Type", "Expect"]
        where !headers.contains(where: { $0.isNamed(name) }) {
            name.withUTF8Buffer { lines.append(contentsOf: $0) }
            lines.append(UInt8(ascii: ":"))
            lines.append(0)
            count += 1
        }
        guard let list = ccurl_list_of(count, lines, lines.count) else { throw .shortage }
        return list
    }
}
