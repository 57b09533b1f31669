import Delivery
import Drain
import Policy
import Spool

/// Returns the transports that this machine can use.
func installedTransports() -> [Transport] {
    Transport.allCases.filter { transport in
        switch transport {
        case .libcurl: LibcurlAvailability.check() == nil
        case .urlsession: AgentProgram.own(for: transport).canRun
        }
    }
}

extension OpenQueue {
    /// The environment of the programs that this process starts, other than delivery agents.
    var programEnvironment: ProgramEnvironment {
        ProgramEnvironment(
            of: environment, passing: configuration.passEnvironment, without: Array(configuration.secrets.values))
    }

    /// Returns the source of tokens: a delivery agent of its own asks each endpoint by its destination's settings.
    private func tokenSource() -> TokenSource {
        let settings = { [configuration] in DestinationTable(configuration).settings(ofEndpointOf: $0) }
        return TokenSource(
            directory: RuntimeDirectory(environment: environment), now: { Timestamp.now() },
            settings: settings,
            ask: { [directory, programEnvironment, path = spool.path] oauth2, secrets in
                do throws(RequestError) {
                    var assertion: String?
                    if let given = oauth2.assertion {
                        let signer = JWTSigner(directory: directory, environment: programEnvironment)
                        switch signer.sign(given, audience: oauth2.tokenURL, at: .now()) {
                        case .success(let signed): assertion = signed
                        case .failure(let failure):
                            return .refused(reason: "needs an assertion, which \(failure.reason)")
                        }
                    }
                    let request = try oauth2.request(
                        settings: settings(oauth2), secrets: secrets, assertion: assertion, version: programVersion,
                        available: installedTransports())
                    return TokenEndpoint(of: oauth2, settings(oauth2), queue: path, now: { .now() }).answer {
                        AgentSink.report(of: request)
                    }
                } catch {
                    return .refused(reason: "cannot be asked: \(error)")
                }
            })
    }

    /// Returns the real world: clock, random numbers, secrets, delivery agents, and this machine's network and power.
    func world() -> World {
        let store = SecretStore(
            sources: configuration.secrets, environment: environment, passing: configuration.passEnvironment,
            base: directory, tokens: tokenSource())
        var credentials = Credentials(
            values: { store.values($0, files: $1) }, refresh: { store.refresh(after: $0) },
            signed: { [directory] command, request throws(RequestError) in
                try HeadersCommand(command, directory: directory, environment: store.commandEnvironment)
                    .headers(for: request)
            })
        credentials.mayWait = { store.mayWait(for: $0) }
        credentials.waitsBeside = true
        return World(
            version: programVersion, clock: .ofProcess,
            generator: SystemRandomNumberGenerator(),
            credentials: credentials,
            surroundings: { Surroundings.read(for: $0, environment: store.commandEnvironment) },
            networkState: { NetworkState.read() },
            transports: AgentProgram.own(for: .urlsession).canRun ? Transport.allCases : [.libcurl],
            makeSink: { AgentSink(concurrency: $0) })
    }

    /// Returns why a secret of an operation's user cannot be read; `nil` if all can be, or if there is none.
    func defectOfOwnSecrets(of operation: Operation) -> String? {
        let form = RequestForm(configuration.route(of: operation.header.type), sources: configuration.secrets)
        // try?: an operation whose file has no name is refused where it is added.
        guard let files = try? form.secretFiles(of: operation), !files.isEmpty else { return nil }
        let store = SecretStore(sources: configuration.secrets, environment: environment, base: directory)
        let failure = store.values(Set(files.keys), files: files).failures.min { $0.key < $1.key }
        return failure.map { "\(RequestError.missingOwnSecret($0.key, reason: $0.value))" }
    }

    /// Returns why the operation cannot be sent as it is; `nil` if it can, or if this machine or its route is to blame.
    func defect(of operation: Operation) -> RequestError? {
        if let file = operation.bodyFile,
            case .failure(let refusal) = spool.current(file, roots: configuration.bodyFileRoots), refusal.fault == nil
        {
            return .badBodyFile(path: file.path, reason: refusal.description)
        }
        return configuration.route(of: operation.header.type).defect(of: operation)
    }

    /// Returns the requests that a run would send now.
    func preview(_ options: RunOptions = RunOptions()) -> RequestPreview {
        RequestPreview(spool: spool, configuration: configuration, options: options, world: world())
    }
}

extension OperationID {
    static func random() -> OperationID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }
}
