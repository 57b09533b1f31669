import CSystem
import Configuration
import Delivery
import Drain
import Policy
import Spool

/// Makes and removes the directory of a run, to prove that claims work, and changes nothing else. With `--repair`,
/// repairs the directory first.
struct CheckCommand: Command {
    static let name = "check"

    var isRepairing = false
    var global = GlobalOptions()

    static var options: [Option<Self>] {
        Option(
            .repair, \.isRepairing, "repair the queue directory",
            """
            Repairs all damage that needs no decision by a person, and reports each repair. It leaves the claims of \
            live runs alone.
            """)
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "check the configuration and the queue directory",
        """
        Checks the configuration, the permissions, whether the file system renames, locks and syncs as the queue \
        needs, and whether the transports, files and secrets of the routes exist. Tries certificate files, keys and \
        passphrases by a TLS handshake with itself, and the key of an assertion by signing one. Looks for claims of \
        runs that died and for unreadable files. It does not run the commands of secrets. Run it as the user that \
        runs drainq: some files may be readable by that user alone. Does not change the queue, unless --repair is given.

        With --repair it makes missing directories, sets the modes 0700 and 0600 (except for a `new/` that others may \
        write to, and the path to it), removes files that dead writers left in `tmp/`, returns the claims of dead runs \
        as the next run would, finishes interrupted moves, removes files that a move left behind, writes an unreadable \
        `state/format` again, renames other unreadable documents in `state/` to a name that ends in `.damaged`, and \
        removes reasons without a file in `quarantine/`. The next run reports the operations that dead runs have failed and \
        not reported. A run is alive if it has its lock; its age is no evidence. The exit status is 0 if no damage is left.
        """,
        onlyPrints: true,
        examples: [
            Example("drainq check -q /var/spool/drainq", "check before the first run, and after a crash"),
            Example("drainq check --repair", "repair the directory, and report the rest"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let path = try queuePath(option: global.path, environment: environment)
        var findings = Findings(asJSON: global.isJSON, isQuiet: global.verbosity.isQuiet)
        var configuration: Configuration?
        do {
            configuration = try readConfiguration(at: global.configuration, queue: path)
        } catch let errors as ConfigurationErrors {
            findings.problems(CommandFailure(errors))
        } catch let failure as CommandFailure {
            findings.problems(failure)
        }
        do {
            let missing = try checkLayout(path, isRepairing: isRepairing, &findings)
            var queue = OpenQueue(
                spool: try SpoolDirectory(examining: path, without: missing),
                configuration: configuration ?? Configuration())
            queue.environment = environment
            try queue.applyTransport(of: environment)
            if missing.isEmpty { findings.ok("directory") }
            do throws(SpoolError) {
                try queue.checkTrustOfConfiguration(global)
                if configuration != nil { findings.ok("configuration") }
            } catch {
                findings.problems(CommandFailure(error))
            }
            try checkDamage(of: queue, by: configuration, isRepairing: isRepairing && missing.isEmpty, &findings)
            if missing.isEmpty { try checkClaims(queue, &findings) }
            try checkFiles(queue, &findings)
            // The checks of routes need a readable configuration.
            if configuration != nil {
                try checkRoutes(queue, &findings)
                checkTransports(queue, environment, &findings)
                checkSecrets(queue, environment, &findings)
                checkPrograms(queue, &findings)
                checkPublished(queue, &findings)
            }
        } catch let error as SpoolError {
            findings.problems(CommandFailure(error))
        }
        return .first(of: findings.applying)
    }
}

/// Checks that this user can claim (make, lock, sync, remove a directory), and that locks tell which run is alive.
private func checkClaims(_ queue: OpenQueue, _ findings: inout Findings) throws {
    var claimed: [String: Int] = [:]
    try queue.spool.forEachEntry(in: .claimed) { claimed[$0.claimedBy ?? "", default: 0] += 1 }
    // The damage of a dead run is told elsewhere.
    let alive = try queue.spool.runs().alive
    for (run, count) in claimed.sorted(by: { $0.key < $1.key }) where alive.contains(run) {
        findings.note("the run '\(run)' has claimed \(InWords.count(count, "operation"))")
    }
    let proof = try queue.spool.prove(now: .now())
    if proof.locks {
        findings.ok(
            "locks: flock(2) excludes a second process, so a run is alive as long as it has its lock (\(proof.fileSystem.type))"
        )
        if proof.fileSystem.lockReach == .thisHost { try checkOtherHosts(queue, proof.fileSystem, &findings) }
    } else {
        findings.problem(
            .inputOutput,
            "flock(2) does not exclude a second process in this directory: drainq would take a live run for a dead one",
            hint: "put the queue on a local file system, or on NFS with locks; drainq refuses to start runs here")
        return
    }
    try queue.spool.beginRun(now: .now()).end()
    findings.ok("claims")
    if !proof.renamesWithoutReplacing {
        findings.note("this file system cannot rename without replacing: drainq moves files by link, sync and unlink")
    }
}

/// Reports the consequences on a file system where a free lock does not prove that another host's run is dead.
private func checkOtherHosts(_ queue: OpenQueue, _ fileSystem: FileSystem, _ findings: inout Findings) throws {
    findings.note(
        "locks of this file system (\(fileSystem.type)) may not reach other hosts: a run does not recover the claims of another host's run, and operations that have an order wait while such a run exists"
    )
    for run in try queue.spool.unjudgedRuns() {
        findings.note(
            "the run '\(run)' belongs to another host, and drainq cannot tell whether it is alive; if that host is gone for good, remove 'claimed/\(run)/lock': the next run then recovers its claims"
        )
    }
}

private func checkFiles(_ queue: OpenQueue, _ findings: inout Findings) throws {
    var read = 0
    var unsendable: [String: (count: Int, first: Entry)] = [:]
    for state in [QueueState.new, .deferred, .failed] {
        var entries: [Entry] = []
        let foreign = try queue.spool.forEachEntry(in: state) { entries.append($0) }
        if foreign > 0 {
            findings.note(
                state == .new
                    ? "'new' contains \(InWords.count(foreign, "file")) from other programs; the next run reads them"
                    : "'\(state.rawValue)' contains \(InWords.count(foreign, "file")) without the name of an operation; drainq ignores them"
            )
        }
        for entry in entries {
            read += 1
            switch try queue.spool.read(entry) {
            case .operation(let stored):
                if state == .failed { continue }
                let route = queue.configuration.route(of: entry.name.type)
                if let defect = route.defect(of: stored.operation) {
                    unsendable["\(defect)", default: (0, entry)].count += 1
                }
            case nil: break
            case .notAnOperation(let reason):
                findings.problem(
                    .dataInvalid, "'\(entry.path)' is not an operation: \(reason)",
                    hint: state == .failed
                        ? "no run reads it: put a sound copy in its place, or '\(pasted("drop", "\(entry.name.id)"))'"
                        : "the next run moves it to quarantine")
            case .newerFormat(let version):
                findings.problem(
                    .configuration, "'\(entry.path)' has format \(version), newer than this drainq reads",
                    hint: "run a newer drainq on this queue")
            }
        }
    }
    for (defect, (count, first)) in unsendable.sorted(by: { $0.key < $1.key }) {
        let others = count > 1 ? " and \(InWords.count(count - 1, "other"))" : ""
        let route = count > 1 ? "their route" : "its route"
        findings.note("'\(first.path)'\(others) cannot be sent by \(route): \(defect)")
    }
    findings.ok("\(InWords.count(read, "file")) read")
    let known = try KnownDestinations(showing: queue.spool, queue.configuration, at: .now())
    if let full = try QueueCount(of: queue.spool, queue.configuration, known, at: .now()).fullLimit {
        findings.note("\(full.words): adds are refused; \(full.remedy)")
    }
    let kept = try queue.spool.quarantined().count
    if kept > 0 {
        findings.note(
            "\(InWords.count(kept, "file")) in quarantine; '\(pasted("list", "--state", "quarantined"))' lists them")
    }
}

/// Makes the request of each route for an example payload, and notes what an operation of its type needs. Reports the
/// types of waiting operations that have no URL, before a run meets them.
private func checkRoutes(_ queue: OpenQueue, _ findings: inout Findings) throws {
    var typesWithoutURL: Set<TypeName> = []
    /// The number of operations of each type that the default route takes without its name.
    var strays: [TypeName: Int] = [:]
    let byDefault = queue.configuration.defaultRoute.url.map { !$0.contains("{type}") } ?? false
    for state in [QueueState.new, .deferred] {
        try queue.spool.forEachEntry(in: state) { entry in
            let type = entry.name.type
            if entry.name.originDigest != nil { return }
            if queue.configuration.route(of: type).url == nil { typesWithoutURL.insert(type) }
            if byDefault, type != .default, queue.configuration.routes[type] == nil { strays[type, default: 0] += 1 }
        }
    }
    for (type, count) in strays.sorted(by: { $0.key < $1.key }).prefix(10) {
        findings.note(
            "no route is for the type '\(type)': the default route takes \(InWords.count(count, "operation")) of it that \(count == 1 ? "waits" : "wait")"
        )
    }
    for type in typesWithoutURL.sorted() {
        findings.problem(
            .configuration, "operations of type '\(type)' wait, and their route has no url",
            hint: "set routes.default.url in drainq.json")
    }
    let routes = queue.configuration.routes.sorted { $0.key < $1.key }
    for (type, route) in [(.default, queue.configuration.defaultRoute)] + routes where route.url != nil {
        let form = RequestForm(route)
        if route.require.isEmpty, let defect = form.defect(of: form.example(of: type)) {
            findings.note("an operation of type '\(type)' with an example payload cannot be sent: \(defect)")
        }
        let needed = form.needed
        if !needed.isEmpty { findings.note("an operation of type '\(type)' needs \(needed.joined(separator: ", "))") }
    }
    for (type, route) in [(.default, queue.configuration.defaultRoute)] + routes
    where route.debounce != nil && !route.coalesce {
        findings.note("the route '\(type)' has 'debounce' and does not coalesce: its operations do not wait")
    }
    checkDeliveringRules(queue, &findings)
    if typesWithoutURL.isEmpty { findings.ok("routes") }
}

/// Notes the rules that take a 409 to a first request for a delivery.
private func checkDeliveringRules(_ queue: OpenQueue, _ findings: inout Findings) {
    let configuration = queue.configuration
    let routes = [configuration.defaultRoute] + configuration.routes.sorted { $0.key < $1.key }.map(\.value)
    var told: Set<AnswerRule> = []
    for rule in routes.flatMap({ $0.answers + $0.classify })
    where rule.outcome == .delivered
        && (rule.covers(status: 409) || rule.origin == .classify(.canonical(.alreadyExists)))
    {
        guard !rule.content.isAfterUnknown, told.insert(rule).inserted else { continue }
        findings.note(
            "\(rule.line.number > 0 ? "line \(rule.line.number): " : "")'\(rule)' takes a 409 to a first request for a delivery, too: a rule of 'answers' with after: \"unknown\" does not"
        )
    }
}

/// Starts an agent for each transport, as a run does, and returns the transports that the agents can use. Reports an
/// agent that does not begin, whose transport counts as usable, and notes why a transport cannot be used.
private func usableTransports(_ findings: inout Findings) -> [Transport] {
    let sink = AgentSink(concurrency: 1)
    defer { sink.close() }
    var usable: [Transport] = []
    for transport in Transport.allCases where transport == .libcurl || AgentProgram.own(for: transport).canRun {
        do throws(SinkError) {
            if let defect = try sink.defect(of: transport) {
                findings.note(defect)
            } else {
                usable.append(transport)
            }
        } catch {
            // Routes that need the transport have no defect of their own.
            usable.append(transport)
            findings.problem(
                .inputOutput, error.description, hint: "install drainq and drainq-urlsession from one release")
        }
    }
    return usable
}

/// Reports requests that this machine cannot make, and certificate files that a connection needs and cannot use.
private func checkTransports(_ queue: OpenQueue, _ environment: [String: String], _ findings: inout Findings) {
    let configuration = queue.configuration
    let before = findings.applying.count
    let available = usableTransports(&findings)
    for type in [TypeName.default] + configuration.routes.keys.sorted() {
        let explained = ExplainedRoute(of: type, in: configuration, available: available)
        if explained.route.compress == .gzip, let defect = Gzip.defect {
            findings.problem(
                .configuration, "operations of type '\(type)' cannot be sent: \(defect)",
                hint: "install zlib (on Debian the package zlib1g), or leave out 'compress'")
        }
        guard explained.route.url != nil, explained.transport.name == nil else { continue }
        findings.problem(
            .configuration, "operations of type '\(type)' cannot be sent: \(explained.transport.reason)",
            hint: pasted("explain", "--type", type.description))
    }
    let store = SecretStore(
        sources: configuration.secrets.filter(\.value.isReadableAlone), environment: environment, base: queue.directory)
    let trial = available.contains(.libcurl) ? try? TrialHandshake() : nil
    for (name, settings) in configuration.destinations.sorted(by: { $0.key < $1.key }) {
        let certificate = settings.connection.clientCertificate
        let files = [settings.connection.caFile, certificate?.certificateFile, certificate?.keyFile].compactMap(\.self)
        if files.isEmpty { continue }
        let unreadable = files.filter { access($0.rawCString, R_OK) != 0 }
        for file in unreadable {
            findings.problem(
                .configuration, "the destination '\(name)' needs the file '\(file)', which cannot be read",
                hint: "a relative path starts from the directory of the configuration")
        }
        // Without the secret of its passphrase a key cannot be tried.
        let secrets = store.values(Set(settings.connection.secretNames))
        guard unreadable.isEmpty, let connection = try? settings.connection.expanded(with: secrets),
            let defect = trial?.defect(of: connection)
        else { continue }
        findings.problem(
            .configuration, "the destination '\(name)' cannot use its certificate files: \(defect)",
            hint: certificate?.passphrase == nil ? nil : "the passphrase may be another key's")
    }
    findings.ok("transports", since: before)
}

/// Checks that runs can write the files of `metrics`: their directories must be there.
private func checkPublished(_ queue: OpenQueue, _ findings: inout Findings) {
    for (key, path) in [
        ("metrics.textfile", queue.configuration.metricsTextfile), ("metrics.page", queue.configuration.page),
    ] {
        guard let path, let reason = queue.spool.objectionToPublish(at: path) else { continue }
        findings.problem(
            .configuration, "runs cannot write '\(path)' of '\(key)': \(reason)", hint: RunObserver.hintToPublish)
    }
}

/// Reports programs of the configuration that this user cannot start. Looks up a program without a path in PATH, and in
/// the directories that a service has there.
private func checkPrograms(_ queue: OpenQueue, _ findings: inout Findings) {
    let configuration = queue.configuration
    var programs: [(name: String, command: [String], hint: String)] = []
    for (event, command) in configuration.hooks.commands.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        programs.append(("hook '\(event.rawValue)'", command, "runs go on without it"))
    }
    let hint = "runs hold the destinations that need it"
    for case (let name, .command(let command, _)) in configuration.secrets.sorted(by: { $0.key < $1.key }) {
        programs.append(("command of the secret '\(name)'", command, hint))
    }
    let inherited = configuration.defaultRoute.headersCommand
    if let inherited { programs.append(("'headersCommand' of the route 'default'", inherited, hint)) }
    for (type, route) in configuration.routes.sorted(by: { $0.key < $1.key }) where route.headersCommand != inherited {
        if let own = route.headersCommand { programs.append(("'headersCommand' of the route '\(type)'", own, hint)) }
    }
    let before = findings.applying.count
    for (name, command, hint) in programs {
        guard let error = errorOfStarting(command[0], queue.environment["PATH"]) else { continue }
        findings.problem(.configuration, "the \(name) cannot be started: '\(command[0])': \(error)", hint: hint)
    }
    if !programs.isEmpty { findings.ok("programs", since: before) }
}

/// Returns why the program cannot be started; `nil` if it can be.
private func errorOfStarting(_ program: String, _ path: String?) -> Errno? {
    func error(_ file: String) -> Errno? { access(file.rawCString, X_OK) == 0 ? nil : Errno(errno) }
    if program.utf8.contains(UInt8(ascii: "/")) { return error(program) }
    let directories = [path ?? "", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        .joined(separator: ":").split(separator: ":")
    return directories.contains { error("\($0)/\(program)") == nil } ? nil : .missing
}
