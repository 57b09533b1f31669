import Delivery
import Drain
import Policy

/// What attempts could be made by on this machine.
func installedTransports() -> [Transport] {
    Transport.allCases.filter { transport in
        switch transport {
        case .libcurl: LibcurlAvailability.check() == nil
        case .urlsession: AgentProgram.own(for: transport).canRun
        }
    }
}

extension OpenQueue {
    /// The world as it is: the clock, chance, secrets, delivery agents and this machine's network and power.
    func world() -> World {
        let store = SecretStore(
            sources: configuration.secrets, environment: environment, passing: configuration.passEnvironment,
            base: directory)
        let credentials = Credentials(
            values: { store.values($0) }, refresh: { store.refresh(after: $0) },
            signed: { [directory] command, request in
                let command = HeadersCommand(command, directory: directory, environment: store.commandEnvironment)
                do throws(RequestError) {
                    return .headers(try command.headers(for: request))
                } catch {
                    guard case .headersCommand(let reason) = error else { return .failure(reason: "\(error)") }
                    return .failure(reason: reason)
                }
            })
        return World(
            version: programVersion, clock: RunClock(now: { Timestamp.now() }),
            generator: SystemRandomNumberGenerator(),
            credentials: credentials,
            surroundings: { [environment] in Surroundings.read(for: $0, environment: environment) },
            networkWays: { NetworkWays.read() },
            transports: AgentProgram.own(for: .urlsession).canRun ? Transport.allCases : [.libcurl],
            makeSink: { AgentSink(concurrency: $0) })
    }
}
