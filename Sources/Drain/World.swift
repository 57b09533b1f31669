package import Delivery
package import Policy

/// The surroundings that a run, or `send`, needs. Tests provide others.
package struct World {
    package var clock: RunClock
    package var generator: any RandomNumberGenerator
    /// Called when something is due, and not before.
    package var makeSink: (_ concurrency: Int) -> any Sink
    /// The `User-Agent` header: `drainq/VERSION`.
    package var version: String
    package var credentials: Credentials
    /// Called only where the configuration has conditions.
    package var surroundings: (Conditions) -> Surroundings
    /// Called only when an attempt has met a network error, or a run before has found no network.
    package var networkWays: () -> NetworkWays
    /// Compresses the bodies of routes that say so. Called for no others.
    package var gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8]
    /// The transports of this build. Whether libcurl can be used, the sink says.
    package var transports: [Transport]

    package init(
        version: String, clock: RunClock, generator: any RandomNumberGenerator,
        credentials: Credentials = .none,
        surroundings: @escaping (Conditions) -> Surroundings = { _ in Surroundings() },
        networkWays: @escaping () -> NetworkWays = { NetworkWays() },
        gzip: @escaping (_ body: [UInt8]) throws(RequestError) -> [UInt8] = Gzip.compressed,
        transports: [Transport] = Transport.allCases,
        makeSink: @escaping (_ concurrency: Int) -> any Sink
    ) {
        self.version = version
        self.clock = clock
        self.generator = generator
        self.credentials = credentials
        self.surroundings = surroundings
        self.networkWays = networkWays
        self.gzip = gzip
        self.transports = transports
        self.makeSink = makeSink
    }

    /// The time by the wall clock.
    package func now() -> Timestamp { clock.now() }

    /// Returns why this machine has no network, where an attempt's error comes of that; `nil` where it has one.
    func absence(
        behind error: NetworkError, of destination: Destination, _ settings: DestinationSettings
    ) -> NetworkAbsence? {
        if destination.isReachedLocally(settings) { return nil }
        return networkWays().absence(behind: error) ?? (error == .offline ? .reported : nil)
    }
}
