import Policy

/// All configuration keys. Reader, checks, `drainq init` and the manual follow from these rows.
package enum ConfigurationKeys {
    /// All rows in the manual's order, with their whole paths.
    package static let entries: [ConfigurationEntry] = file.flatMap(\.entries)

    static let file = general + metrics + hooks

    /// The rows of an object of `retry`, of `answers` and of their conditions, with paths that begin below it.
    package static let (scheduleEntries, answerEntries, conditionEntries) = (
        schedule.map(\.entry), answer.map(\.entry), condition.map(\.entry)
    )

    private static let general: [ConfigurationKey<Configuration>] = [
        ConfigurationKey(
            "version", .version, default: "1", "of this file's format",
            """
            The version of the format, always 1. drainq refuses a file with a newer version, and does not read its \
            other keys.
            """,
            set: { _, _ in }),
        ConfigurationKey(
            "$schema", .plainText, example: #""./drainq.schema.json""#, "for editors",
            """
            The place of a JSON Schema, with which an editor checks and completes the file: drainq schema prints it. \
            drainq itself ignores this key.
            """,
            set: { _, _ in }),
        ConfigurationKey(
            "routes", by: "<type>", of: route,
            example: #"{ default: { url: "https://api.example.com/v1/{type}" }, note: { ordering: "key" } }"#,
            "by the type of an operation",
            """
            The routes by type of operation. The route \"default\" applies to operations without a type and to types \
            without a route. Every other route inherits the keys that it does not have. A type is 1 to 64 letters, \
            digits, '_', '-' and '.', and does not begin with a dot.
            """,
            read: readRoutes),
        ConfigurationKey(
            "secrets", by: "<name>", of: secret,
            example: #"{ api: { file: "api.token" } }"#, "secrets by name",
            """
            The sources of credentials, by name: 1 to 64 letters, digits, '_', '-' and '.', not with a dot at the \
            beginning. A secret has exactly one of file, env, credential, command and oauth2. drainq reads it when it \
            makes a request, and never writes it to an operation, argument list, log or error.
            """,
            read: readSecrets),
        ConfigurationKey(
            "destinations", by: "<name>", of: destination,
            example: #"{ "https://api.example.com": { concurrency: 5, rate: "20/s" } }"#,
            "settings of each destination",
            """
            The settings of a destination: of all requests to one scheme, host and port, whatever their route. The \
            name is that origin, such as \"https://api.example.com\", without a path; or the name in destination of a \
            route.
            """,
            read: readDestinations),
        ConfigurationKey(
            "limits.operations", optional: .count(1...1_000_000_000), example: "100000", "waiting operations",
            """
            The most operations that may wait at once: those in new/, deferred/ and claimed/. The operations of one \
            key count as one on a route that coalesces or merges: the server gets one request.
            """,
            into: \.limits.operations),
        ConfigurationKey(
            "limits.bytes", optional: .positiveSize, example: #""1GB""#, "bytes of waiting operations",
            "The most bytes in the files of all waiting operations together.",
            into: \.limits.bytes),
        ConfigurationKey(
            "limits.operationBytes", .positiveSize, default: #""10MB""#, "the size of one body",
            "The most bytes in the body of one operation. The queue refuses a larger one.",
            into: \.limits.operationBytes),
        ConfigurationKey(
            "limits.minimumFree", optional: .size, example: #""100MB""#, "free bytes on the file system",
            "The bytes that must stay free on the file system of the queue.",
            into: \.limits.minimumFree),
        ConfigurationKey(
            "limits.whenFull", .word(among: [.reject, .dropOldest]), default: #""reject""#,
            example: #""dropOldest""#, "reject or dropOldest",
            """
            The treatment of a new operation that exceeds a limit. reject: drainq add refuses it with an error. \
            dropOldest: the oldest waiting operations are removed, as far as they are older than the new one; of \
            operations added together the newest stay. An operation that has expired already removes none. A key that \
            counts as one operation is as old as its newest, and goes whole. On a route that coalesces, superseded \
            operations make room first. Log, counters and the hook of failed operations tell of what was removed. If \
            an operation would not fit after that, drainq refuses it and removes nothing. A limit that is lowered \
            removes nothing: while more waits than it allows, each new operation only makes room for itself. Limits do \
            not keep out a file that another program put into new/.
            """,
            into: \.limits.whenFull),
        ConfigurationKey(
            "retention.delivered", .duration, default: #""0s""#, example: #""1d""#, "0s: removed once delivered",
            "The time that a delivered operation stays in delivered/. With 0s it is removed as soon as it is delivered.",
            into: \.retention.delivered),
        ConfigurationKey(
            "retention.failed", optional: .duration, example: #""30d""#, "null: for ever",
            """
            The time that a dead letter stays in failed/. If not set, it stays for ever. From a day on, runs check \
            once a day and remove the operations that were too old at the check before: a clock that is ahead for less \
            than a day removes no operation.
            """,
            into: \.retention.failed),
        ConfigurationKey(
            "retention.kept", .duration, default: #""7d""#, example: #""30d""#, "kept values of finished keys",
            """
            The time that a value of a route's keep stays after it was kept. It stays longer while an operation of its \
            key waits or has failed. Beyond 10000 keys without such an operation the oldest go first. From a day on, \
            runs check once a day.
            """,
            into: \.retention.kept),
        ConfigurationKey(
            "log.maxAge", .positiveDuration, default: #""30d""#, "age of the queue's log",
            "The age up to which the queue's log, which drainq log shows, keeps its lines.",
            into: \.log.maxAge),
        ConfigurationKey(
            "log.maxBytes", .size, default: #""10MB""#, "size of the queue's log",
            "The size up to which the queue's log grows: the oldest half goes first.",
            into: \.log.maxBytes),
        ConfigurationKey(
            "conditions.network", .word, default: #""any""#, example: #""unmetered""#, "any, online or unmetered",
            """
            The network that a run needs. any: no network. online: a route to other machines. unmetered: such a route \
            that is not known to be metered. Without that network the run makes no attempts, reports why with --verbose \
            and ends with status 75. A destination on this machine needs no network. A run checks again while it \
            sends. With any, too, an attempt that fails because this machine has no network at all is not counted, see \
            drainq(1). On Linux the kernel says whether there is a route, and NetworkManager, through nmcli, whether \
            it is metered.
            """,
            into: \.conditions.network),
        ConfigurationKey(
            "conditions.power", .power, default: #""any""#, example: #""5s""#, "any, ac, or a delay on battery",
            """
            The power that a run needs: any; ac, the mains; or a duration such as \"5s\": a run on battery waits once \
            for this time before it sends. A machine without a battery is always on mains power.
            """,
            into: \.conditions.power),
        ConfigurationKey(
            "bodyFiles", .directories, default: "[]", example: #"["/var/lib/scans"]"#, "directories of body files",
            """
            The absolute directories in or below which the bodyFile of an operation and of drainq add --body-file may \
            lie. If not set, an operation cannot name a file.
            """,
            into: \.bodyFileRoots),
        ConfigurationKey(
            "passEnvironment", .variables, default: "[]", example: #"["AWS_PROFILE"]"#, "variables for commands",
            """
            Variables of the environment that commands and hooks get besides those of every program, see ENVIRONMENT \
            OF COMMANDS.
            """,
            into: \.passEnvironment),
    ]

    /// Reads "default" first, wherever it stands, because the other routes inherit from it.
    private static func readRoutes(
        _ value: JSON5Value, into configuration: inout Configuration, _ findings: inout ConfigurationFindings
    ) {
        guard let members = findings.members(of: value, hint: "routes are written { default: { url: \"https://…\" } }")
        else { return }
        let isDefault = { (member: JSON5Value.Member) in member.name == TypeName.default.description }
        if !members.contains(where: isDefault),
            let misspelt = members.first(where: { nearest(to: $0.name, in: [TypeName.default.description]) != nil })
        {
            findings.add(
                "there is no route 'default', and \(quote(misspelt.name)) looks like it", at: misspelt.position,
                hint: "did you mean 'default'? a type of that name needs a route 'default' beside it")
        }
        for member in members.filter(isDefault) + members.filter({ !isDefault($0) }) {
            findings.within(member.name) { findings in
                guard let type = TypeName(member.name) else {
                    findings.add(
                        "\(quote(member.name)) is not a type", at: member.position,
                        hint: "a type is 1 to 64 of A-Z a-z 0-9 _ - and ., and does not begin with a dot")
                    return
                }
                var route = configuration.defaultRoute
                let before = findings.errors.count
                readObject(member.value, by: ConfigurationKeys.route, into: &route, &findings)
                if findings.errors.count == before {
                    // The errors of "default" have been reported there.
                    let inherited = type == .default ? [] : configuration.defaultRoute.problems
                    for problem in route.problems where !inherited.contains(problem) {
                        findings.add(problem, in: member)
                    }
                }
                if type == .default { configuration.defaultRoute = route } else { configuration.routes[type] = route }
            }
        }
    }

    /// Reads the destinations. An origin is stored in its normal form; any other name must be used by a route.
    private static func readDestinations(
        _ value: JSON5Value, into configuration: inout Configuration, _ findings: inout ConfigurationFindings
    ) {
        let hint = "destinations are written { \"https://api.example.com\": { concurrency: 5 } }"
        guard let members = findings.members(of: value, hint: hint) else { return }
        for member in members {
            findings.within(member.name) { findings in
                guard let name = destinationName(member.name, at: member.position, &findings) else { return }
                if name == member.name, Origin(url: name) == nil {
                    findings.addReference(.destination, name, at: member.position)
                }
                if configuration.destinations[name] != nil {
                    findings.add(
                        "this destination is written twice", at: member.position, hint: "both names mean '\(name)'")
                    return
                }
                var settings = DestinationSettings()
                readObject(member.value, by: destination, into: &settings, &findings)
                if settings.connection.unixSocket != nil, case .url = settings.connection.proxy {
                    findings.add(
                        "its proxy and its unixSocket exclude each other", at: member.position,
                        hint: "drainq connects to a unix socket without a proxy")
                }
                if let path = settings.connection.unixSocket, path.utf8.count > longestSocketPath {
                    findings.add(
                        "the path of its unixSocket has \(path.utf8.count) bytes, and a socket's path at most \(longestSocketPath)",
                        at: member.position, hint: "make a symbolic link with a short path to its directory")
                }
                configuration.destinations[name] = settings
            }
        }
    }

    /// The most bytes of a unix socket's path: `sun_path` without its NUL (unix(7)).
    private static let longestSocketPath = 107

    private static func readSecrets(
        _ value: JSON5Value, into configuration: inout Configuration, _ findings: inout ConfigurationFindings
    ) {
        let hint = "secrets are written { api: { file: \"/etc/drainq/api.token\" } }"
        guard let members = findings.members(of: value, hint: hint) else { return }
        for member in members {
            findings.definedSecrets.insert(member.name)
            findings.within(member.name) { findings in
                guard isName(member.name) else {
                    findings.add(
                        "\(quote(member.name)) is not a name", at: member.position,
                        hint: "a name is 1 to 64 of A-Z a-z 0-9 _ - and ., and does not begin with a dot")
                    return
                }
                if let source = ConfigurationValue<SecretSource>.secret.read(member.value, &findings) {
                    configuration.secrets[member.name] = source
                }
            }
        }
        for member in members {
            guard case .oauth2(let oauth2) = configuration.secrets[member.name] else { continue }
            for name in oauth2.secretNames().sorted() {
                let reason: String
                switch configuration.secrets[name] {
                case .oauth2: reason = "is itself a token"
                case .operationFile: reason = "differs from operation to operation"
                default: continue
                }
                findings.within(member.name) { findings in
                    findings.add(
                        "it uses the secret '\(name)', which \(reason)", at: member.position,
                        hint: "a client's secret comes from a file, a variable, a credential or a command")
                }
            }
        }
    }
}

extension ConfigurationValue<Int> {
    static let version = ConfigurationValue("version", .integer(1...1)) { value, findings in
        let number = value.integer
        if number == 1 { return 1 }
        let reason = number.map { $0 > 1 } ?? false ? "is newer than this drainq" : "is not a version"
        return findings.refuse(value, reason, hint: "this drainq reads version 1")
    }
}
