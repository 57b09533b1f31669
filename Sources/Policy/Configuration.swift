/// A queue's configuration, as values; `DrainqCLI` reads them from drainq.json.
package struct Configuration: Hashable, Sendable {
    /// What every type inherits from; its `url` is `nil` where none is configured.
    package var defaultRoute: Route
    /// Complete routes: what a type leaves out has been taken from the default route already.
    package var routes: [TypeName: Route]
    package var limits: Limits
    package var retention: Retention

    package init(
        defaultRoute: Route = Route(), routes: [TypeName: Route] = [:], limits: Limits = Limits(),
        retention: Retention = Retention()
    ) {
        self.defaultRoute = defaultRoute
        self.routes = routes
        self.limits = limits
        self.retention = retention
    }

    package func route(of type: TypeName) -> Route {
        routes[type] ?? defaultRoute
    }
}

/// How a type becomes a request, and what its answers mean.
package struct Route: Hashable, Sendable {
    /// A template: `{id} {type} {key} {payload.field}` in path and query; `nil` when only the operation's own url is used.
    package var url: String?
    package var method: String
    package var headers: [HeaderField]
    package var retry: BackoffSchedule
    /// For 429; `nil` means `retry`.
    package var retryRateLimited: BackoffSchedule?
    package var timeouts: Timeouts
    /// In the order of the configuration; the most specific match wins, see `Classification`.
    package var classify: [ClassificationOverride]
    /// From `createdAt`; an operation older than this is failed unsent.
    package var expiresAfter: Duration?
    /// How many bytes of an answer are read.
    package var answerLimit: Int

    package init(
        url: String? = nil, method: String = "POST", headers: [HeaderField] = [], retry: BackoffSchedule = .standard,
        retryRateLimited: BackoffSchedule? = nil, timeouts: Timeouts = Timeouts(),
        classify: [ClassificationOverride] = [], expiresAfter: Duration? = nil, answerLimit: Int = 65_536
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.retry = retry
        self.retryRateLimited = retryRateLimited
        self.timeouts = timeouts
        self.classify = classify
        self.expiresAfter = expiresAfter
        self.answerLimit = answerLimit
    }
}

/// One line of a route's `classify`: these answers mean that outcome.
package struct ClassificationOverride: Hashable, Sendable {
    package enum Match: Hashable, Sendable {
        case statuses(ClosedRange<Int>)
        case error(NetworkError)
    }

    package var match: Match
    package var outcome: Outcome

    package init(match: Match, outcome: Outcome) {
        self.match = match
        self.outcome = outcome
    }
}

/// How much a queue takes. `nil` is no limit.
package struct Limits: Hashable, Sendable {
    package enum WhenFull: String, Hashable, Sendable {
        case reject
        case dropOldest
    }

    /// Waiting operations: `new`, `deferred` and `claimed`.
    package var operations: Int?
    /// Bytes of the files of waiting operations.
    package var bytes: Int?
    /// Bytes of one operation's body.
    package var operationBytes: Int
    /// Bytes that must stay free on the file system.
    package var minimumFree: Int?
    package var whenFull: WhenFull

    package init(
        operations: Int? = nil, bytes: Int? = nil, operationBytes: Int = 10_000_000, minimumFree: Int? = nil,
        whenFull: WhenFull = .reject
    ) {
        self.operations = operations
        self.bytes = bytes
        self.operationBytes = operationBytes
        self.minimumFree = minimumFree
        self.whenFull = whenFull
    }
}

/// How long what is done with is kept. `nil` for `failed` is for ever; `.zero` for `delivered` is not at all.
package struct Retention: Hashable, Sendable {
    package var delivered: Duration
    package var failed: Duration?

    package init(delivered: Duration = .zero, failed: Duration? = nil) {
        self.delivered = delivered
        self.failed = failed
    }
}
