internal import Configuration
package import Policy

extension Setup {
    /// The configuration for runs of this setup.
    package var configuration: Policy.Configuration { configuration(with: 0) }

    /// Returns the configuration with so many routes that no operation has.
    package func configuration(with others: Int) -> Policy.Configuration {
        let text = text(with: others)
        do throws(ConfigurationErrors) {
            return try ConfigurationFile.read(Array(text.utf8), name: "drainq.json", directory: "/queue")
        } catch {
            preconditionFailure("\(error): \(text)")
        }
    }

    /// Whether drainq accepts the configuration: a setup with fewer options may ask for a configuration without
    /// meaning.
    package var isValid: Bool {
        do throws(ConfigurationErrors) {
            _ = try ConfigurationFile.read(Array(text.utf8), name: "drainq.json", directory: "/queue")
            return true
        } catch {
            return false
        }
    }

    /// The text of drainq.json.
    package var text: String { text(with: 0) }

    private func text(with others: Int) -> String {
        let routes =
            (0..<others).map { "z\($0): { url: 'http://z/' }" } + kinds.map { "\($0.type): \(text(of: $0))" }
        let destinations = Set(kinds.map(\.host)).sorted().map { host in
            let concurrency = concurrency.map { "concurrency: \($0), " } ?? ""
            return "'http://\(host)': { \(concurrency)holdProbe: \(Self.text(of: holdProbe)) }"
        }
        let secrets = kinds.contains(where: \.hasSecret) ? "secrets: { api: { env: 'API' } }," : ""
        let limit =
            (operations.map { "operations: \($0), " } ?? "") + (bytes.map { "bytes: '\($0)B', " } ?? "")
        return """
            {
              routes: { \(routes.joined(separator: ",\n            ")) },
              destinations: { \(destinations.joined(separator: ", ")) }, \(secrets)
              limits: { \(limit)whenFull: '\(dropsOldest ? "dropOldest" : "reject")' },
              retention: { delivered: \(Self.text(of: keepsDelivered)), failed: \(Self.text(of: keepsFailed)) },
            }
            """
    }

    /// Returns the object of a route. The route inherits nothing: the default route is unset.
    private func text(of kind: Kind) -> String {
        let delays = kind.delays.map { Self.text(of: $0) }.joined(separator: ", ")
        var members = [
            "url: 'http://\(kind.host)/\(kind.type)\(kind.needsKept ? "/{kept.id}" : "")'",
            "method: '\(kind.coalescing == .merge ? "PATCH" : "POST")'",
            "retry: { schedule: [\(delays)], attempts: \(kind.delays.count + 1), jitter: \(kind.jitter) }",
            "timeouts: { request: \(Self.text(of: Self.timeout)), total: \(Self.text(of: Self.timeout * 2)) }",
            "ordering: '\(kind.order.rawValue)'",
            "onFailure: '\(kind.holdsBehindFailed ? "hold" : "continue")'",
        ]
        switch kind.coalescing {
        case .none: break
        case .replace: members.append("coalesce: true")
        case .merge: members.append("coalesce: 'merge'")
        }
        if let age = kind.expiresAfter { members.append("expiresAfter: \(Self.text(of: age))") }
        if kind.keeps { members.append("keep: { id: '/id' }") }
        // The chain has the key's groups under another name than the key.
        if kind.keeps || kind.needsKept, keepsDelivered > .zero { members.append("chain: 'chain of {key}'") }
        if let most = kind.batch {
            let results = kind.hasResults ? ", results: { pointer: '/results', status: '/status' }" : ""
            members.append("batch: { max: \(most)\(results) }")
        }
        if kind.hasSecret { members.append("headers: { Authorization: 'Bearer ${secret:api}' }") }
        return "{ \(members.joined(separator: ", ")) }"
    }

    private static func text(of time: Duration?) -> String {
        time.map { "'\($0.microseconds / 1000)ms'" } ?? "null"
    }

    /// The time without a byte after which an attempt fails. A whole attempt may take twice as long.
    package static let timeout = Duration.seconds(10)
}
