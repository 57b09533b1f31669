import Testing

@testable import Configuration
@testable import Policy

/// Destinations, secrets and conditions.
struct `The configuration of destinations` {
    @Test func `every key is read, and paths are relative to the file's directory`() throws {
        let configuration = try configured(
            """
            { routes: { default: { url: "https://api.example.com/", destination: "main" } },
              destinations: {
                "HTTPS://API.example.com:443": {
                  concurrency: 3, rate: "90/m", proxy: "socks5h://u:${secret:p}@proxy:1080", caFile: "tls/ca.pem",
                  clientCertificate: { certificate: "/c.pem", key: "c.key", passphrase: "${secret:p}" },
                  transport: "libcurl", holdProbe: null, circuitBreaker: 0, coolDown: "2h",
                  stormGuard: 0,
                },
                main: { proxy: "direct", unixSocket: "s" },
              },
              secrets: { p: { env: "P" } } }
            """)
        let expected = DestinationSettings(
            concurrency: 3, rate: Rate(count: 90, per: .seconds(60)),
            connection: ConnectionOptions(
                proxy: .url("socks5h://u:${secret:p}@proxy:1080"), caFile: "/etc/drainq/tls/ca.pem",
                clientCertificate: .init(
                    certificateFile: "/c.pem", keyFile: "/etc/drainq/c.key", passphrase: "${secret:p}")),
            transport: .libcurl, holdProbe: nil, circuitBreaker: 0, coolDown: .seconds(7200),
            stormGuard: 0)
        #expect(configuration.destinations["https://api.example.com"] == expected)
        #expect(
            configuration.destinations["main"]?.connection
                == ConnectionOptions(proxy: .direct, unixSocket: "/etc/drainq/s"))
        #expect(configuration.defaultRoute.destination == "main")
    }

    @Test(arguments: [
        (
            "'https://h/v1': {}",
            "destinations.https://h/v1: 'https://h/v1' is more than an origin; a destination is a whole origin, such as 'https://h': leave out the path"
        ),
        ("'https://h?x': {}", "destinations.https://h?x: 'https://h?x' is more than an origin"),
        (
            "'a b': {}",
            "destinations.a b: 'a b' is neither an origin nor a name; an origin is https://api.example.com, a name 1 to 64 of A-Z a-z 0-9 _ - and ."
        ),
        (
            "reprots: {}",
            "destinations.reprots: no route has the destination 'reprots'; did you mean 'reports'?"
        ),
        (
            "other: {}",
            "destinations.other: no route has the destination 'other'; a destination is an origin such as https://api.example.com, or the 'destination' of a route"
        ),
        (
            "'https://h': {}, 'https://h:443/': {}",
            "destinations.https://h:443/: this destination is written twice; both names mean 'https://h'"
        ),
        ("reports: { rat: '1/s' }", "destinations.reports.rat: there is no such key; did you mean 'rate'?"),
        (
            "reports: { rate: '20' }",
            "destinations.reports.rate: '20' is not a rate; rates are written 20/s 90/m 1000/h"
        ),
        ("reports: { rate: '0/s' }", "destinations.reports.rate: '0/s' is not a rate"),
        (
            "reports: { concurrency: 0 }",
            "destinations.reports.concurrency: 0 is not a count; a count is a whole number from 1 to 1000"
        ),
        (
            "reports: { transport: 'curl' }",
            "destinations.reports.transport: 'curl' is not one of auto, urlsession, libcurl"
        ),
        ("reports: { holdProbe: '0s' }", "destinations.reports.holdProbe: '0s' is too short"),
        (
            "reports: { unixSocket: '/s', proxy: 'http://h:1' }",
            "destinations.reports: its proxy and its unixSocket exclude each other; drainq connects to a unix socket"
        ),
        ("reports: { caFile: '' }", "destinations.reports.caFile: '' is not a text; text is in quotes"),
        (
            "reports: { caFile: '~/ca.pem' }",
            "destinations.reports.caFile: '~/ca.pem' is not a path; only a shell expands '~': write the whole path"
        ),
        (
            "reports: { clientCertificate: { key: 'k' } }",
            "destinations.reports.clientCertificate: 'certificate' is missing; as in { certificate: \"client.pem\" }"
        ),
        (
            "reports: { clientCertificate: { certificate: 'c', pasphrase: 'x' } }",
            "destinations.reports.clientCertificate.pasphrase: there is no such key; did you mean 'passphrase'?"
        ),
        (
            "reports: { clientCertificate: { certificate: 'c', passphrase: '${secret:q}' } }",
            "destinations.reports.clientCertificate.passphrase: there is no secret 'q'; define it: secrets: { q: { file: \"/etc/drainq/q\" } }"
        ),
    ])
    func `an invalid destination is reported with its path`(member: String, expected: String) {
        let text = "{ routes: { default: { destination: 'reports' } }, destinations: { \(member) } }"
        let error = configurationErrors(text).first?.replacing("'https://h:443/'", with: "https://h:443/")
        #expect(error?.contains(expected) == true, "\(error ?? "no error")")
    }

    @Test(arguments: [
        ("proxy", "'proxy' is not a proxy; write environment, direct, or a URL such as http://proxy.example.com:3128"),
        ("ftp://h:1", "'ftp://h:1' has an unknown proxy scheme; one of http, https, socks5, socks5h"),
        ("http://h", "'http://h' has no port; write it, as in http://proxy.example.com:3128"),
        ("http://h:1/x", "'http://h:1/x' has a path; a proxy is a host and a port"),
        ("http://h:0", "'http://h:0' has an invalid port: '0'; ports are 1 to 65535"),
        ("http://${secret:a}:1", "has a secret outside its user information"),
        ("http://u:p w@h:1", "'http://…@h:1' has invalid user information"),
        ("http://u:${secret}@h:1", "'${secret}' is not a secret reference"),
        ("http://u:${secret:b}@h:1", "there is no secret 'b'; did you mean 'a'?"),
    ])
    func `a proxy is a host and a port, and its password is in no message`(proxy: String, expected: String) {
        let text = "{ destinations: { 'http://h': { proxy: '\(proxy)' } }, secrets: { a: { env: 'A' } } }"
        let error = configurationErrors(text).first
        #expect(error?.contains(expected) == true, "\(error ?? "no error")")
        #expect(error?.contains("p w") == false)
    }

    @Test func `every source of a secret is read`() throws {
        let configuration = try configured(
            """
            { secrets: {
              a: { file: "a.token" }, b: { env: "B_1" }, c: { credential: "c.token" },
              d: { command: ["./bin/token", "-x", ""], ttl: "1h" }, e: { command: ["token"] },
            } }
            """)
        #expect(
            configuration.secrets == [
                "a": .file("/etc/drainq/a.token"), "b": .environment("B_1"), "c": .credential("c.token"),
                "d": .command(["/etc/drainq/./bin/token", "-x", ""], ttl: .seconds(3600)),
                "e": .command(["token"], ttl: nil),
            ])
    }

    @Test(arguments: [
        (
            "{}",
            "secrets.a: this secret has no source; give it exactly one of file, env, credential, command and oauth2"
        ),
        (
            "{ file: 'x', env: 'X' }",
            "secrets.a: this secret has 'file' and 'env'; give it exactly one of file, env, credential, command and oauth2"
        ),
        (
            "{ file: 'x', ttl: '1h' }",
            "secrets.a: this secret has a 'ttl' and no 'command'; 'ttl' applies only to the output"
        ),
        ("{ evn: 'X' }", "secrets.a.evn: there is no such key; did you mean 'env'?"),
        ("{ env: '1X' }", "secrets.a.env: '1X' is not a variable; a variable is letters, digits and '_'"),
        ("{ credential: '../x' }", "secrets.a.credential: '../x' is not a credential; a credential is a file's name"),
        ("{ command: 'token' }", "secrets.a.command: 'token' is not a list of words; a command is a list"),
        ("{ command: [] }", "secrets.a.command: an empty list is not a list of words; a command is a list"),
        ("{ command: [''] }", "secrets.a.command: the command has no name; a command is a list"),
        ("{ command: ['a', 1] }", "secrets.a.command: 1 is not a word; words are text in quotes"),
        ("'s3cret'", "secrets.a: 's3cret' is not an object"),
        ("{ oauth2: { clientId: 'a' } }", "secrets.a.oauth2: 'tokenUrl' is missing; as in { tokenUrl: "),
        ("{ oauth2: { tokenUrl: 'https://a', clientId: 'a' } }", "'clientId' or 'clientSecret' is missing"),
        ("{ oauth2: { tokenUrl: 'https://a', refreshToken: 'x' } }", "'x' is not a secret; write ${secret:NAME}"),
        (
            "{ oauth2: { tokenUrl: 'https://a', assertion: { keyId: '1' } } }",
            "secrets.a.oauth2: 'assertion.key' is missing"
        ),
        (
            "{ oauth2: { tokenUrl: 'https://a', assertion: { key: 'k', claims: { iss: 1 } } } }",
            "secrets.a.oauth2.assertion.claims.iss: 1 is not a text"
        ),
    ])
    func `an invalid secret is reported with its path`(value: String, expected: String) {
        let errors = configurationErrors(
            "{ secrets: { a: \(value) }, routes: { t: { headers: { X: '${secret:a}' } } } }")
        #expect(errors.count == 1)
        #expect(errors.first?.contains(expected) == true, "\(errors)")
    }

    @Test(arguments: [
        (
            "{\n routes: { t: { headers: { A: 'x ${secret:ap1}' } } },\n secrets: { api: { env: 'A' } } }",
            "drainq.json:2:31: routes.t.headers.A: there is no secret 'ap1'; did you mean 'api'?"
        ),
        (
            "{ routes: { t: { url: 'http://h/?k=${secret:k}' } } }",
            "drainq.json:1:23: routes.t.url: there is no secret 'k'; define it: secrets: { k: { file: \"/etc/drainq/k\" } }"
        ),
        (
            "{ secrets: { 'a b': { env: 'A' } } }",
            "drainq.json:1:14: secrets.a b: 'a b' is not a name; a name is 1 to 64 of A-Z a-z 0-9 _ - and ., and does not begin with a dot"
        ),
    ])
    func `an undefined or misnamed secret is an error`(text: String, expected: String) {
        #expect(configurationErrors(text) == [expected])
    }

    @Test func `a header and a query may name a secret before its definition`() throws {
        let configuration = try configured(
            """
            { routes: { default: { url: "http://h/{id}?k=${secret:b}&t={type}", headers: { A: "${secret:a}.${secret:b}" } } },
              secrets: { a: { env: "A" }, b: { env: "B" } } }
            """)
        #expect(configuration.defaultRoute.headers == [HeaderField(name: "A", value: "${secret:a}.${secret:b}")])
        #expect(configuration.defaultRoute.url == "http://h/{id}?k=${secret:b}&t={type}")
    }

    @Test(arguments: [
        ("'any'", Conditions.Power.any), ("'ac'", .mains), ("'5s'", .delayOnBattery(.seconds(5))),
    ])
    func `power is a word or a delay`(text: String, expected: Conditions.Power) throws {
        #expect(
            try configured("{ conditions: { power: \(text), network: 'unmetered' } }").conditions
                == Conditions(network: .unmetered, power: expected))
    }

    @Test(arguments: [
        ("conditions: { power: 'mains' }", "conditions.power: 'mains' is neither any nor ac nor a duration"),
        (
            "conditions: { power: '0s' }",
            "conditions.power: '0s' is neither any nor ac nor a duration; on battery a run waits once"
        ),
        ("conditions: { network: 'onlin' }", "is not one of any, online, unmetered; did you mean 'online'?"),
        ("bodyFiles: '/var'", "bodyFiles: '/var' is not a list of directories"),
        ("bodyFiles: ['uploads']", "bodyFiles: 'uploads' is not an absolute path; directories are absolute paths"),
    ])
    func `an invalid condition or directory is reported with its path`(member: String, expected: String) {
        let error = configurationErrors("{ \(member) }").first
        #expect(error?.contains(expected) == true, "\(error ?? "no error")")
    }

    @Test func `directories of body files lose their trailing slash`() throws {
        #expect(try configured("{ bodyFiles: ['/var/a/', '/', '/b'] }").bodyFileRoots == ["/var/a", "/", "/b"])
        #expect(try configured("{ bodyFiles: [] }").bodyFileRoots == [])
    }

    @Test(arguments: [(107, true), (108, false)])
    func `the path of a unix socket is as short as the system demands`(length: Int, fits: Bool) {
        let path = "/" + String(repeating: "s", count: length - 1)
        let text = #"{ destinations: { "http://docker": { unixSocket: "\#(path)" } } }"#
        #expect(((try? configured(text)) != nil) == fits)
    }
}

/// Returns the configuration of the text, read as /etc/drainq/drainq.json.
func configured(_ text: String) throws(ConfigurationErrors) -> Configuration {
    try ConfigurationFile.read(Array(text.utf8), name: "drainq.json", directory: "/etc/drainq")
}

/// The errors as they are printed, `description; hint`.
func configurationErrors(_ text: String) -> [String] {
    do throws(ConfigurationErrors) {
        _ = try configured(text)
        return []
    } catch {
        return error.errors.map { $0.description + ($0.hint.map { "; \($0)" } ?? "") }
    }
}
