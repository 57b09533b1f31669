package import Delivery
package import Policy

/// The surroundings of a run, or of `send`. Tests replace them.
package struct World {
    package var clock: RunClock
    package var generator: any RandomNumberGenerator
    /// Called only once something is due.
    package var makeSink: (_ concurrency: Int) -> any Sink
    /// The `User-Agent` header: `drainq/VERSION`.
    package var version: String
    package var credentials: Credentials
    /// Called only if the configuration has conditions.
    package var surroundings: (Conditions) -> Surroundings
    /// Called only after a network error in this run or an earlier one, or before the first attempt to another machine.
    package var networkState: () -> NetworkState
    /// Compresses a body. Called only for routes that say so.
    package var gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8]
    /// The transports of this build. The sink says whether libcurl can be used.
    package var transports: [Transport]
    /// Called before each pass but the first, and before each operation of `send`. Returns the configuration of the
    /// pass, and the world that follows from the configuration; `nil` if neither has changed since the last call.
    package var renewal: () -> (configuration: Configuration, world: World)? = { nil }
    /// Called when what was reported so far is to be written, with the counts so far: at the end of a pass after which
    /// the run stays, and after a failure that must not go untold. Every settled operation is synced then, and the run
    /// has no lock but those of runs. Not called more often than once a second, except before a wait. Returns whether
    /// all of it was written; otherwise failures keep their marks.
    package var reportsDue: (RunSummary) -> Bool = { _ in true }

    package init(
        version: String, clock: RunClock, generator: any RandomNumberGenerator,
        credentials: Credentials = .none,
        surroundings: @escaping (Conditions) -> Surroundings = { _ in Surroundings() },
        networkState: @escaping () -> NetworkState = { NetworkState() },
        gzip: @escaping (_ body: [UInt8]) throws(RequestError) -> [UInt8] = Gzip.compressed,
        transports: [Transport] = Transport.allCases,
        makeSink: @escaping (_ concurrency: Int) -> any Sink
    ) {
        self.version = version
        self.clock = clock
        self.generator = generator
        self.credentials = credentials
        self.surroundings = surroundings
        self.networkState = networkState
        self.gzip = gzip
        self.transports = transports
        self.makeSink = makeSink
    }

    /// The time by the wall clock.
    package func now() -> Timestamp { clock.now() }

    /// Returns why this machine has no network, if that explains an attempt's error; else `nil`.
    func absence(
        behind error: NetworkError, of destination: Destination, _ settings: DestinationSettings
    ) -> NetworkAbsence? {
        if destination.isReachedLocally(settings) { return nil }
        return networkState().absence(behind: error) ?? (error == .offline ? .reported : nil)
    }
}
