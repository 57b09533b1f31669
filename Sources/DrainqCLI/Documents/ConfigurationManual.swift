import Configuration
import Policy

extension ConfigurationFile {
    /// drainq-config(5), in mdoc(7): the committed man/drainq-config.5 is this text.
    package static func manual() -> String {
        ConfigurationManual.text
    }
}

/// drainq-config(5), written from the tables that read the file.
enum ConfigurationManual {
    static let text =
        ([head, section("KEYS", intro: keysIntro, ConfigurationKeys.entries.map(item))]
        + [schedules, answers, conditions, hooks, values, ConfigurationChapters.text, exampleSection, tail]).joined()

    /// What EXAMPLES shows; each is a whole file.
    static let examples: [(purpose: String, text: String)] = [
        (
            "Everything goes to one place, with a header of its own:",
            """
            {
              routes: {
                default: {
                  url: "https://api.example.com/v1/{type}",
                  headers: { "X-Source": "plant 7" },
                },
              },
            }
            """
        ),
        (
            "Each type has a route, which inherits from the default one:",
            """
            {
              version: 1,
              routes: {
                default: {
                  url: "https://api.example.com/v1/{type}",
                  timeouts: { connect: "5s", total: "1m" },
                  classify: { "404": "defer", "520-599": "hold", tls: "hold" },
                },
                updateProfile: {
                  url: "https://api.example.com/profiles/{payload.user.id}",
                  method: "PATCH",
                  expiresAfter: "7d",
                },
                // a value that is worth a few tries only
                telemetry: {
                  retry: { base: "1s", multiplier: 3, max: "1m", attempts: 5 },
                  headers: { "X-Source": null },
                },
              },
            }
            """
        ),
        (
            "A small device: little room, and what is new matters more:",
            """
            {
              routes: {
                default: {
                  url: "http://collector.example.net:8080/in",
                  retry: { schedule: ["10s", "1m", "10m", "1h"], maxAge: "2d" },
                  retryRateLimited: "rate-limit",
                },
              },
              limits: { operations: 10000, bytes: "50MB", minimumFree: "20MB", whenFull: "dropOldest" },
              retention: { failed: "7d" },
            }
            """
        ),
        (
            "A token from a file, and a server that says 200 where it means no:",
            """
            {
              routes: {
                default: {
                  url: "https://api.example.com/v1/{type}",
                  headers: { Authorization: "Bearer ${secret:api}" },
                  require: { pointer: "/content", notEmpty: true },
                  accept: {
                    contentType: "application/json",
                    json: { pointer: "/result/success", equals: true },
                  },
                },
              },
              // the administrator's, and the one that a command renews
              secrets: {
                api: { file: "/etc/drainq/api.token" },
                proxy: { command: ["/usr/local/bin/proxy-token"], ttl: "10m" },
              },
              destinations: {
                "https://api.example.com": {
                  rate: "20/s",
                  proxy: "http://drainq:${secret:proxy}@proxy.example.com:3128",
                },
              },
            }
            """
        ),
        (
            "Somebody is told when something needs a person, and Prometheus knows the rest:",
            """
            {
              routes: { default: { url: "https://api.example.com/v1/{type}" } },
              metrics: { textfile: "/var/lib/prometheus/node-exporter/drainq.prom" },
              hooks: {
                held: ["/usr/local/bin/notify", "--urgent"],
                released: ["/usr/local/bin/notify"],
                // the subject is one word here: there is no shell that would split it
                failed: ["mail", "-s", "drainq: operations failed", "ops@example.com"],
                atMostEvery: "30m",
              },
            }
            """
        ),
        (
            "Profiles, of which the last one counts, and measurements by the hundred:",
            """
            {
              routes: {
                default: { url: "https://api.example.com/v1/{type}" },
                profile: { method: "PUT", coalesce: true, retry: "doubling", expiresAfter: "7d" },
                measurement: {
                  batch: {
                    max: 100,
                    format: "ndjson",
                    results: { pointer: "/items", status: "/status" },
                  },
                },
              },
              conditions: { network: "unmetered", power: "5s" },
            }
            """
        ),
        (
            "A collector on a socket of this machine, and a server with a CA of its own:",
            """
            {
              routes: {
                default: { url: "http://localhost/in", destination: "collector" },
                order: { url: "https://erp.example.net/orders", destination: null, ordering: "key" },
              },
              destinations: {
                collector: { unixSocket: "/run/collector.sock", holdProbe: "10m" },
                "https://erp.example.net": {
                  caFile: "erp-ca.pem",
                  clientCertificate: {
                    certificate: "client.pem",
                    key: "client.key",
                    passphrase: "${secret:key}",
                  },
                  concurrency: 1,
                },
              },
              secrets: { key: { credential: "client.passphrase" } },
            }
            """
        ),
    ]

    // MARK: - Sections

    private static let head = """
        .\\" Made from Sources/Configuration; DRAINQ_RECORD=1 swift test writes it anew.
        .Dd November 21, 2026
        .Dt DRAINQ-CONFIG 5
        .Os
        .Sh NAME
        .Nm drainq-config
        .Nd configuration of a drainq queue
        .Sh SYNOPSIS
        .Nm drainq.json
        .Sh DESCRIPTION
        The file
        .Pa drainq.json
        in the queue directory says where operations go, how often they are tried,
        what answers mean and how much the queue takes.
        It is optional: without it an operation needs a URL of its own,
        and everything else has the default that is shown here.
        .Pp
        The file is JSON5: JSON with comments
        .Pq Li // No and Li /* */ ,
        trailing commas, names without quotes and text in single or double quotes.
        It is UTF-8, and at most 1 MiB.
        A key that is not listed here is an error, as is a key that is written twice;
        no part of the file is ever ignored.

        """

    private static let keysIntro = """
        A dot stands for an object in an object:
        .Ql timeouts.total
        is written
        .Ql timeouts: { total: \\(dq2m\\(dq } .
        Where a key has no default,
        .Li null
        is the same as leaving it out,
        and in a route takes back what would be inherited.
        .Ar <type>
        and
        .Ar <name>
        are names of your own.
        A path that is not absolute starts from the directory of the configuration.

        """

    private static let schedules: String = {
        let presets = BackoffSchedule.presets.map { ".It Li \($0.name)\n\(roff(sentence(for: $0.schedule)))\n" }
        return section(
            "SCHEDULES",
            intro: """
                A schedule says how long to wait after each attempt, and when to stop.
                It is the name of a preset:
                .Bl -tag -width "rate-limit"
                \(presets.joined()).El
                .Pp
                or an object with these keys:

                """, ConfigurationKeys.scheduleEntries.map(item))
    }()

    private static let answers =
        section(
            "ANSWERS", intro: ConfigurationChapters.answersIntro, ConfigurationKeys.answerEntries.map(item))
        + ConfigurationChapters.answersExamples

    private static let conditions = section(
        "CONDITIONS ON JSON",
        intro: """
            .Ic require
            asks something of a payload,
            .Ic accept.json
            and
            .Ic json
            of a rule of
            .Ic answers
            of an answer:
            an object with a
            .Ic pointer
            and one of the other keys, or a list of such objects, all of which must hold.

            """, ConfigurationKeys.conditionEntries.map(item))

    private static let values = """
        .Sh VALUES
        .Bl -tag -width "duration"
        .It Ar duration
        Text: numbers with
        .Li ms , s , m , h
        or
        .Li d ,
        as in
        .Ql 500ms ,
        .Ql 90s ,
        .Ql 1.5h
        and
        .Ql 1h30m .
        .It Ar size
        Bytes: text with
        .Li B , kB , MB , GB , TB
        (powers of 1000) or
        .Li KiB , MiB , GiB , TiB
        (powers of 1024), as in
        .Ql 10MB ,
        or a plain number.
        .It Ar count
        A whole number, without quotes.
        .It Ar rate
        Text: a whole number, a slash, and one of
        .Li s , m , h , d ,
        as in
        .Ql 20/s
        and
        .Ql 90/m .
        .El

        """

    private static let exampleSection =
        ".Sh EXAMPLES\n"
        + examples.map { example in
            let lines = example.text.split(separator: "\n").map { roff(String($0)) }
            return "\(example.purpose)\n.Bd -literal -offset indent\n\(lines.joined(separator: "\n"))\n.Ed\n"
        }.joined(separator: ".Pp\n")

    private static let tail = """
        .Sh DIAGNOSTICS
        Each error is one line with the file, line, column and key, as in
        .Pp
        .Dl drainq.json:12:26: routes.default.timeouts.total: \\(aq2 minuts\\(aq is not a duration
        .Pp
        and goes with exit status 78 before anything is attempted.
        .Sh SEE ALSO
        .Xr drainq 1 ,
        .Xr drainq-queue 5 ,
        .Xr drainq-setup 7
        .Sh STANDARDS
        .Lk https://spec.json5.org "JSON5" ,
        RFC 9110 (HTTP), RFC 3986 (URLs).

        """

    // MARK: - Parts

    private static func section(_ title: String, intro: String, _ items: [String]) -> String {
        ".Sh \(title)\n\(intro).Bl -tag -width Ds\n\(items.joined()).El\n"
    }

    private static func item(_ entry: ConfigurationEntry) -> String {
        let fallback = entry.defaultText.map { "Default:\n.Li \(roff($0))\n" } ?? ""
        let example = entry.exampleText.map { $0 == entry.defaultText ? "" : "For example:\n.Dl \(roff($0))\n" } ?? ""
        return """
            .It Ic \(roff(entry.path)) : Ar \(roff(entry.kind))
            \(sentences(roff(entry.prose)))
            \(fallback)\(example)
            """
    }

    /// A schedule in words: `30s, 2m, 10m; no attempt limit; up to 3d; ±20 %`.
    private static func sentence(for schedule: BackoffSchedule) -> String {
        let delays =
            switch schedule.delays {
            case .exponential(let base, let multiplier, let max):
                "\(base.quantity), each further delay × \(plain(multiplier)), at most \(max.quantity)"
            case .list(let delays):
                delays.map(\.quantity).joined(separator: ", ")
            }
        let ends = [
            schedule.attempts.map { "\($0) attempts in all" }, schedule.maxAge.map { "up to an age of \($0.quantity)" },
            schedule.jitter > 0 ? "jitter \(plain(schedule.jitter))" : nil,
        ]
        return ([delays] + ends.compactMap(\.self)).joined(separator: "; ") + "."
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(saturating: number))" : "\(number)"
    }

    /// One sentence a line, as mdoc wants it, and none longer than 78 bytes.
    private static func sentences(_ text: String) -> String {
        var lines: [String] = []
        for sentence in text.replacing(". ", with: ".\n").split(separator: "\n") {
            var line = ""
            for word in sentence.split(separator: " ") {
                if !line.isEmpty, line.utf8.count + word.utf8.count >= 78 {
                    lines.append(line)
                    line = ""
                }
                line += line.isEmpty ? String(word) : " " + word
            }
            lines.append(line)
        }
        return lines.map { $0.hasPrefix(".") ? "\\&" + $0 : $0 }.joined(separator: "\n")
    }

    /// Text that roff prints as it stands.
    private static func roff(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("\"", with: "\\(dq").replacing("'", with: "\\(aq")
            .replacing("×", with: "\\(mu").replacing("±", with: "\\(+-")
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}
