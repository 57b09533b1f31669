import CCurl
import CSystem
import Policy

/// The libcurl options of a request, set on a handle.
struct CurlOptions {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    /// Sets what requests of a kind have in common.
    func set(_ kind: CurlHandle.Kind) throws(CurlRefusal) {
        try number(CURLOPT_NOSIGNAL, 1)
        try number(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP_AND_HTTPS))
        try number(CURLOPT_HTTP09_ALLOWED, 0)
        try number(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try setUseOfConnections(for: kind)
        // All that the library can decode.
        try text(CURLOPT_ACCEPT_ENCODING, "")
        try number(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(kind.connect.pollMilliseconds)))
        try setMethod(of: kind)
        try set(kind.connection)
    }

    /// Sets what a request has for itself. A body in memory is copied; one in a file is asked for, as the read function has
    /// to answer.
    func set(_ request: OutgoingRequest) throws(CurlRefusal) {
        try text(CURLOPT_URL, request.url)
        if let length = request.bodyFile?.length ?? request.bodyPart?.length {
            let size = CURLOPT_INFILESIZE_LARGE
            try check(ccurl_set_size(handle, size, Int64(clamping: length)), size)
            // Fewer calls for a large body; a library before 7.62 keeps its 16 KB.
            ccurl_set_number(handle, CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
        } else if request.method != "HEAD", let body = request.body {
            let size = CURLOPT_POSTFIELDSIZE_LARGE
            try check(ccurl_set_size(handle, size, Int64(body.count)), size)
            try check(ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, body), CURLOPT_COPYPOSTFIELDS)
        }
    }

    private func setUseOfConnections(for kind: CurlHandle.Kind) throws(CurlRefusal) {
        if Libcurl.showsConnections {
            // HTTP/2 where TLS offers it; a library without it speaks HTTP/1.1 all the same.
            ccurl_set_number(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            if kind.isFresh { try setOwnConnection() }
        } else {
            try number(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            try setOwnConnection()
        }
    }

    /// A connection that carries nothing before or after; kept ones pile up at a server that has few.
    private func setOwnConnection() throws(CurlRefusal) {
        try number(CURLOPT_FRESH_CONNECT, 1)
        try number(CURLOPT_FORBID_REUSE, 1)
    }

    private func setMethod(of kind: CurlHandle.Kind) throws(CurlRefusal) {
        // These mean nothing without a body, so its absence is told (RFC 9110 §8.6).
        let impliesBody = ["POST", "PUT", "PATCH"].contains(kind.method)
        if kind.method == "HEAD" {
            return try number(CURLOPT_NOBODY, 1)
        } else if kind.content == .streamed {
            try number(CURLOPT_UPLOAD, 1)
        } else if kind.content == .memory || impliesBody {
            // Not by the read function: a small one goes out together with the head.
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
        // What is for the server is not for the proxy that tunnels to it, nor the other way round.
        try number(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        switch connection.proxy {
        case .environment where connection.unixSocket == nil: break
        case .environment, .direct: try text(CURLOPT_PROXY, "")
        case .url(let url):
            try text(CURLOPT_PROXY, url)
            try text(CURLOPT_NOPROXY, "")
        }
        if let socket = connection.unixSocket { try text(CURLOPT_UNIX_SOCKET_PATH, socket) }
        if let file = connection.caFile {
            // Instead of the system's, so the directory of those goes too; and for a proxy spoken to by TLS as well.
            try text(CURLOPT_CAINFO, file)
            try text(CURLOPT_CAPATH, nil)
            ccurl_set_text(handle, CURLOPT_PROXY_CAINFO, file)
            ccurl_set_text(handle, CURLOPT_PROXY_CAPATH, nil)
        } else {
            leaveOutDirectory()
        }
        if let client = connection.clientCertificate {
            try text(CURLOPT_SSLCERT, client.certificateFile)
            try text(CURLOPT_SSLKEY, client.keyFile ?? client.certificateFile)
            // Never `nil`: OpenSSL would ask for it on the terminal.
            try text(CURLOPT_KEYPASSWD, client.passphrase ?? "")
        }
    }

    /// Takes the system's authorities from their file alone, if there is one. libcurl remembers those of a file, and reads
    /// them anew for each connection where it has a directory as well: 30 ms of processor time.
    private func leaveOutDirectory() {
        if Self.hasSystemFile { ccurl_set_text(handle, CURLOPT_CAPATH, nil) }
    }

    /// Whether the file of authorities that the library was built with can be read. Looked up once in a process: an agent
    /// does not live long.
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
        throw CurlRefusal(result: .failure(.other, detail: detail))
    }
}

extension OutgoingRequest {
    /// Header lines for libcurl, which has its own way to say that a field is empty, and is told not to add any.
    var curlFields: [String] {
        var fields: [String] = []
        fields.reserveCapacity(headers.count + 3)
        for field in headers {
            let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            fields.append(isBlank ? field.name + ";" : field.name + ": " + field.value)
        }
        for name: StaticString in ["Accept", "Content-Type", "Expect"] {
            if !headers.contains(where: { $0.isNamed(name) }) { fields.append("\(name):") }
        }
        return fields
    }
}
