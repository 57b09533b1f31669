import Foundation
import Testing

/// `check` tries the files, the key and the passphrase of a TLS connection as libcurl would.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"))) struct CertificateCheckTests {
    /// The members of a destination, and the words of `check`; `nil` without a finding.
    static let rows: [(members: String, words: String?)] = [
        (#"caFile: "ca.pem""#, nil),
        (#"caFile: "ca.key""#, "cannot use its certificate files"),
        (#"caFile: "/dev/null""#, "cannot use its certificate files"),
        (#"caFile: "none.pem""#, "/none.pem', which cannot be read"),
        (#"clientCertificate: { certificate: "client.pem", key: "client.key" }"#, nil),
        (#"clientCertificate: { certificate: "client.pem" }"#, "cannot use its certificate files"),
        (#"clientCertificate: { certificate: "client.pem", key: "ca.key" }"#, "cannot use its certificate files"),
        (#"clientCertificate: { certificate: "client.pem", key: "locked.key" }"#, "cannot use its certificate files"),
        (#"clientCertificate: { certificate: "client.pem", key: "locked.key", passphrase: "${secret:good}" }"#, nil),
        (
            #"clientCertificate: { certificate: "client.pem", key: "locked.key", passphrase: "${secret:bad}" }"#,
            "cannot use its certificate files"
        ),
        // `check` does not run the command of a secret, and so does not try the key.
        (#"clientCertificate: { certificate: "client.pem", key: "locked.key", passphrase: "${secret:asked}" }"#, nil),
        // The destination's proxy plays no part.
        (#"caFile: "ca.pem", proxy: "http://127.0.0.1:1""#, nil),
    ]

    @Test func `check reports unusable certificate files`() throws {
        let drainq = try Drainq()
        let made = try drainq.shell(
            """
            set -e; cd queue; exec 2>/dev/null
            for who in ca client; do
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$who" -days 2 \
                    -keyout $who.key -out $who.pem
            done
            openssl ec -aes256 -passout 'pass:pä ss:w/"%' -in client.key -out locked.key
            printf 'pä ss:w/"%%' >good; printf wrong >bad; chmod 600 good bad *.key
            """)
        try #require(made.status == 0)
        for (members, words) in Self.rows {
            try """
            {
                routes: { default: { url: "https://localhost:1/" } },
                destinations: { "https://localhost:1": { \(members) } },
                secrets: { good: { file: "good" }, bad: { file: "bad" }, asked: { command: ["touch", "asked"] } },
            }
            """.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
            let check = try drainq.run("check")
            #expect(check.status == (words == nil ? 0 : 78), "\(members): \(check)")
            if let words { #expect(check.error.contains(words), "\(members): \(check)") }
            #expect(!(check.error + check.output).contains("ss:w/"), "\(members): \(check)")
        }
        #expect(!FileManager.default.fileExists(atPath: drainq.queue.appending(path: "asked").path))
    }

    @Test(arguments: [
        ("rsa.key", nil), ("p256.key", nil), ("sec1.key", nil),
        ("none.key", "has a key that comes from '/none.key', which cannot be read: No such file"),
        ("p384.key", "needs '/p384.key' to be an RSA or P-256 key in PEM"),
        ("koblitz.key", "needs '/koblitz.key' to be an RSA or P-256 key in PEM"),
        ("open.key", "has a key that comes from '/open.key', which is readable or writable by others"),
        ("torn.key", "cannot be signed: /usr/bin/openssl "),
    ])
    func `check signs with the key of an assertion`(_ key: String, _ words: String?) throws {
        let drainq = try Drainq(
            """
            {
                routes: { default: { url: "http://localhost:1/", headers: { Authorization: "Bearer ${secret:t}" } } },
                secrets: { t: { oauth2: { tokenUrl: "http://localhost:1/", assertion: { key: "\(key)" } } } },
            }
            """)
        let made = try drainq.shell(
            """
            set -e; cd queue; exec 2>/dev/null
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.key
            for curve in 256 384; do
                openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-$curve -out p$curve.key
            done
            openssl ecparam -name prime256v1 -genkey -out sec1.key
            openssl ecparam -name secp256k1 -genkey -out koblitz.key
            cp rsa.key open.key; { echo '-----BEGIN RSA PRIVATE KEY-----'; echo AAAA; } >torn.key
            chmod 600 *.key; chmod 644 open.key
            """)
        try #require(made.status == 0)
        let check = try drainq.run("check")
        #expect(check.status == (words == nil ? 0 : 78), "\(check)")
        let told = check.error.replacing(drainq.queue.path, with: "")
        if let words { #expect(told.contains("the secret 't' needs an assertion, which \(words)"), "\(check)") }
    }
}
