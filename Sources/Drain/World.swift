package import Delivery
package import Policy

/// What a run, or `send`, needs of the world. A test gives it another.
package struct World {
    package var now: () -> Timestamp
    package var generator: any RandomNumberGenerator
    /// Called when something is due, and not before.
    package var makeSink: (_ concurrency: Int) -> any Sink
    /// What requests say in User-Agent, `drainq/VERSION`.
    package var version: String
    package var credentials: Credentials
    /// Called only where the configuration has conditions.
    package var surroundings: (Conditions) -> Surroundings
    /// Called only when an attempt has met a network error, or a run before has found no network.
    package var networkWays: () -> NetworkWays
    /// What there is to make attempts by. Of libcurl it is the sink that knows.
    package var transports: [Transport]

    package init(
        version: String, now: @escaping () -> Timestamp, generator: any RandomNumberGenerator,
        credentials: Credentials = .none,
        surroundings: @escaping (Conditions) -> Surroundings = { _ in Surroundings() },
        networkWays: @escaping () -> NetworkWays = { NetworkWays() },
        transports: [Transport] = Transport.allCases,
        makeSink: @escaping (_ concurrency: Int) -> any Sink
    ) {
        self.version = version
        self.now = now
        self.generator = generator
        self.credentials = credentials
        self.surroundings = surroundings
        self.networkWays = networkWays
        self.transports = transports
        self.makeSink = makeSink
    }
}
