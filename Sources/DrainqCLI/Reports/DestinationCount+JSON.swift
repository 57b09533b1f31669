import Drain
import Policy

/// A destination in `status --json`: its operations, and what runs remember of it.
extension QueueCount.DestinationCount: JSONObject {
    static let fields: [JSONField<Self>] = [
        .field("destination", .text, "the name of the destination", \.name),
        .field("new", .count, "operations never attempted") { $0.count(of: .new) },
        .field("deferred", .count, "operations that wait for another attempt") { $0.count(of: .deferred) },
        .field("held", .count, "operations that are held, or whose destination is") { $0.count(of: .held) },
        .field("claimed", .count, "operations in flight") { $0.count(of: .claimed) },
        .field("failed", .count, "operations that failed for good") { $0.count(of: .failed) },
        .field(
            "ages", .map(.count),
            "how many operations that wait or are in flight are younger than each of `1m`, `5m`, `1h`, `6h`, `1d` and `3d` "
                + "and in no younger group, and how many are `older`"
        ) { count in
            Dictionary(uniqueKeysWithValues: QueueCount.ageGroups.map { ($0.word, count.countsByAge[$0.word] ?? 0) })
        },
        .maybe("oldest", .time, "the creation of the oldest operation that waits or is in flight", \.oldest),
        .maybe("nextDue", .time, "the earliest time of the next attempt", \.next),
        .maybe("unsent", .count, "operations that are due, and that runs which came did not send", \.unsent?.count),
        .maybe("unsentReason", .text, "why the first of them was not sent, as a run has told", \.unsent?.reason),
        .field("paused", .flag, "whether a person has paused it", \.state.isPaused),
        .maybe("retryAfterUntil", .time, "the end of the time that its server asked for, as by Retry-After") {
            $0.end(of: .retryAfter)
        },
        .field(
            "circuitBreaker", .word(["closed", "open", "half-open"]),
            "open after failures in a row, half-open while one attempt tests whether the server is back",
            \.circuitBreaker),
        .maybe("coolDownUntil", .time, "the time until which the circuit breaker stays open") {
            $0.end(of: .circuitBreaker)
        },
        .maybe(
            "missedSince", .time, "the first attempt since its last delivery; absent if the last one was a delivery",
            \.state.trouble?.since),
        .maybe("missed", .count, "the attempts since then", \.state.trouble?.attempts),
        .maybe("lastStatus", .count, "the status of the last of their answers", \.state.trouble?.cause.status),
        .maybe("lastError", .text, "the error of the last of them", \.state.trouble?.cause.error),
        .maybe("lastWords", .text, "the words of that answer or error", \.state.trouble?.cause.words),
        .maybe("downSince", .time, "the first of the failures since its last answer", \.state.downSince),
        .maybe("failures", .count, "failures in a row") { $0.state.failures > 0 ? $0.state.failures : nil },
        .maybe("lastFailure", .text, "the last of these failures", \.state.lastFailure),
        .maybe("window", .count, "the most attempts in flight, while that is fewer than usual", \.state.window),
        .maybe(
            "overload", .count, "the number of attempts in flight that overloaded its server",
            \.state.overload?.inFlight),
        .maybe(
            "http1Until", .time, "the time until which its requests leave over HTTP/1.1, because HTTP/2 lost an answer",
            \.state.http1Until),
        .maybe("lastSuccess", .time, "the time of the last delivery to it", \.state.lastSuccess),
    ]

    var name: String { destination.name }

    func count(of state: ShownState) -> Int { operations[state] ?? 0 }

    /// Returns the end of the block for this reason; `nil` if another reason or none blocks the destination.
    func end(of reason: Availability.Block.Reason) -> Timestamp? {
        if case .blocked(let block) = availability, block.reason == reason { block.until } else { nil }
    }

    private var circuitBreaker: String {
        if state.coolDowns == 0 { return "closed" }
        return if case .blocked = availability { "open" } else { "half-open" }
    }
}
