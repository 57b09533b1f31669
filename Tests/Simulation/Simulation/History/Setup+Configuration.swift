package import Policy

extension Setup {
    /// The configuration that runs get for this setup.
    package var configuration: Configuration {
        var configuration = Configuration(defaultRoute: route(of: kinds[0]))
        for kind in kinds { configuration.routes[kind.type] = route(of: kind) }
        for host in Set(kinds.map(\.host)) {
            configuration.destinations["http://\(host)"] = DestinationSettings(
                concurrency: concurrency, holdProbe: holdProbe)
        }
        if kinds.contains(where: \.hasSecret) { configuration.secrets["api"] = .environment("API") }
        configuration.limits.operations = operations
        configuration.limits.whenFull = dropsOldest ? .dropOldest : .reject
        configuration.retention.delivered = keepsDelivered
        configuration.retention.failed = keepsFailed
        return configuration
    }

    private func route(of kind: Kind) -> Route {
        var route = Route(url: "http://\(kind.host)/\(kind.type)\(kind.needsKept ? "/{kept.id}" : "")")
        if kind.coalescing == .merge { route.method = "PATCH" }
        route.retry = BackoffSchedule(delays: .list(kind.delays), attempts: kind.delays.count + 1)
        route.timeouts.request = Self.timeout
        route.timeouts.total = Self.timeout * 2
        route.expiresAfter = kind.expiresAfter
        route.coalesce = kind.coalescing != .none
        route.mergesPayloads = kind.coalescing == .merge
        route.onFailure = kind.holdsBehindFailed ? .hold : .proceed
        route.ordering =
            switch kind.order {
            case .any: .any
            case .newest: .newest
            case .key: .key
            case .strict: .strict
            }
        if kind.keeps { route.keep = ["id": .pointer(JSONPointer("/id")!)] }
        // The same chains by another name than the key's.
        if kind.keeps || kind.needsKept, keepsDelivered > .zero { route.chain = "chain of {key}" }
        if let most = kind.batch {
            route.batch = Batch(
                max: most,
                results: kind.hasResults
                    ? Batch.Results(pointer: JSONPointer("/results")!, status: JSONPointer("/status")!) : nil)
        }
        if kind.hasSecret { route.headers = [HeaderField(name: "Authorization", value: "Bearer ${secret:api}")] }
        return route
    }

    /// The time without a byte after which an attempt fails.
    package static let timeout = Duration.seconds(10)
}
