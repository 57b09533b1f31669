import Policy

/// The names under which libcurl gets the files of TLS: certificate, key and authorities.
///
/// libcurl takes a path for a content: connections, TLS sessions and authorities read once serve every later request
/// that names the same path. So a file that has changed gets another spelling of its path, first `/etc/a.pem`, then
/// `/./etc/a.pem`, and a request under the new identity uses nothing of the old one.
struct CurlFileNames {
    private struct Known {
        var identity: FileIdentity?
        var changes = 0
    }

    private var files: [Bytewise<String>: Known] = [:]
    /// The base of the last request with such files, and the base with their names.
    private var last: (base: RequestBase, named: RequestBase)?
    /// Upper bound on the changes that a path shows, so that it stays a path. Nothing is kept for as long.
    private static let mostChanges = 500

    /// Returns the request with the names that its files have now.
    mutating func named(_ request: OutgoingRequest) -> OutgoingRequest {
        let given = request.connection
        guard given.caFile != nil || given.clientCertificate != nil else { return request }
        var connection = given
        connection.caFile = given.caFile.map { name($0) }
        if let client = given.clientCertificate {
            connection.clientCertificate?.certificateFile = name(client.certificateFile)
            connection.clientCertificate?.keyFile = client.keyFile.map { name($0) }
        }
        if connection == given { return request }
        // Requests of one base stay requests of one base.
        if let last, last.base === request.base, last.named.values.connection == connection {
            return request.based(on: last.named)
        }
        var named = request
        named.connection = connection
        last = (request.base, named.base)
        return named
    }

    private mutating func name(_ path: String) -> String {
        let (identity, key) = (FileIdentity(path), Bytewise(wrappedValue: path))
        var known = files[key] ?? Known(identity: identity)
        if known.identity != identity {
            known = Known(identity: identity, changes: (known.changes + 1) % Self.mostChanges)
        }
        files[key] = known
        return String(repeating: path.begins(with: "/") ? "/." : "./", count: known.changes) + path
    }
}
