/// The configuration of a queue, as values. `Sources/Configuration` reads them from drainq.json.
package struct Configuration: Hashable, Sendable {
    /// The route that every type inherits from; its `url` is `nil` if none is configured.
    package var defaultRoute = Route()
    /// Complete routes: a key that a type leaves out already has the value of the default route.
    package var routes: [TypeName: Route] = [:]
    /// Settings by the destination's name: an origin such as `https://api.example.com`, or a name that routes use.
    package var destinations: [String: DestinationSettings] = [:]
    package var secrets: [String: SecretSource] = [:]
    /// Environment variables that commands and hooks get besides the usual ones.
    package var passEnvironment: [String] = []
    package var conditions = Conditions()
    /// Absolute paths of the directories that may contain the files named by `bodyFile`; empty unless configured.
    package var bodyFileRoots: [String] = []
    package var limits = Limits()
    package var retention = Retention()
    package var log = LogLimits()
    /// The absolute path of the file to which each run writes its metrics; `nil` for none.
    package var metricsTextfile: String?
    /// The file to which each run writes the page of `status --html`.
    package var page: String?
    package var hooks = Hooks()
    /// The transport that `DRAINQ_TRANSPORT` names; `nil` for none. Not a key of the file.
    package var transportOfEnvironment: Transport?
    /// The digest of the file's bytes; `nil` without a file. Makes configurations of other bytes other ones: two texts
    /// in different normal forms are equal for Swift, and make different requests.
    package var digest: Digest?

    package func route(of type: TypeName) -> Route { routes[type] ?? defaultRoute }

    /// Returns why the queue refuses an operation of this type without a url of its own: there are routes, but none for
    /// the type, and the default route has no url. `nil` if the queue takes the operation.
    package func refusal(ofType type: TypeName) -> String? {
        guard defaultRoute.url == nil, !routes.isEmpty, routes[type] == nil else { return nil }
        let known = routes.keys.map(\.description).sorted()
        let near = nearest(to: type.description, in: known).map { "did you mean '\($0)'?" }
        return "there is no route for the type '\(type)' and no default url: "
            + (near ?? "the types are \(known.prefix(10).joined(separator: ", "))")
    }

    /// Whether a newer operation of any route replaces older ones.
    package var hasReplacingRoutes: Bool { allRoutes.contains(where: \.order.replacesOlder) }

    /// Whether any route merges operations whose sequence has others too, of another key or type.
    package var mergesInLines: Bool { allRoutes.contains { $0.order.mergesPayloads && $0.ordering.isStrict } }

    /// Whether any route holds the operations behind a dead letter.
    package var holdsBehindFailed: Bool { allRoutes.contains(where: \.holdsBehindFailed) }

    private var allRoutes: [Route] { [defaultRoute] + routes.values }

    /// Whether any route has a `chain`.
    package var hasChains: Bool { allRoutes.contains { $0.chain != nil } }

    /// Whether any route sends values kept from earlier answers.
    package var sendsKeptValues: Bool { allRoutes.contains { !$0.keptNames.isEmpty } }

    /// The most values that a route keeps.
    package var mostKept: Int { allRoutes.map(\.keep.count).max() ?? 0 }

    /// Whether any route keeps whole answers.
    package var keepsAnswers: Bool { allRoutes.contains(where: \.keepsAnswer) }

    /// The time for which copies of delivered operations are kept; zero keeps none.
    package var keepsDeliveredFor: Duration {
        retention.delivered > .zero || !keepsAnswers ? retention.delivered : Retention.answers
    }

    /// Whether any route makes operations wait for each other.
    package var hasSequentialRoutes: Bool { allRoutes.contains(where: \.isSequential) }
}

extension Configuration {
    /// Creates the configuration of an empty file, with this change.
    package init(_ change: (inout Configuration) -> Void = { _ in }) {
        self.init()
        change(&self)
    }
}

/// The limits of a queue. `nil` means no limit.
package struct Limits: Hashable, Sendable {
    package enum WhenFull: String, Hashable, Sendable {
        case reject
        case dropOldest
    }

    /// The number of waiting operations, in `new`, `deferred` and `claimed`.
    package var operations: Int?
    /// The size of the files of waiting operations, in bytes.
    package var bytes: Int?
    /// The size of one operation's body, in bytes.
    package var operationBytes = 10_000_000
    /// The space that must stay free on the file system, in bytes.
    package var minimumFree: Int?
    package var whenFull: WhenFull = .reject
}
