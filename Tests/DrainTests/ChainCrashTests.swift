import CSystem
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Crashes of a run at any call, where `chain` names the values and the key gives the order.
struct ChainCrashTests {
    /// The real calls up to the nth change or sync. From then on each change and each sync fails.
    private final class DyingCalls {
        var isAlive = true
        var left = Int.max

        private func live() throws(Errno) {
            left -= 1
            if left < 0 { isAlive = false }
            if !isAlive { throw Errno(ECANCELED) }
        }

        var calls: SystemCalls {
            let real = SystemCalls.real
            var calls = real
            calls.write = { (descriptor, bytes) throws(Errno) in
                try self.live()
                return try real.write(descriptor, bytes)
            }
            calls.fsync = { (descriptor) throws(Errno) in
                try self.live()
                try real.fsync(descriptor)
            }
            calls.rename = { (directory, from, target, to) throws(Errno) in
                try self.live()
                try real.rename(directory, from, target, to)
            }
            calls.renameNoReplace = { (directory, from, to) throws(Errno) in
                try self.live()
                try real.renameNoReplace(directory, from, to)
            }
            calls.unlink = { (directory, path) throws(Errno) in
                try self.live()
                try real.unlink(directory, path)
            }
            return calls
        }
    }

    @Test func `after a crash at any call each message has the value of its chain, or creates the value again`() throws
    {
        for index in 1... {
            let system = DyingCalls()
            let bench = try Bench(system: system.calls)
            let chain = "{payload.message}"
            let retry = BackoffSchedule(delays: .list([.seconds(60)]), attempts: 9)
            bench.configuration = Configuration(
                defaultRoute: Route(url: "http://one/{kept.id}", chain: chain, retry: retry, ordering: .key),
                routes: [
                    TypeName("create")!: Route(
                        url: "http://one/", keep: ["id": .pointer(JSONPointer("/id")!)], chain: chain, retry: retry,
                        ordering: .key)
                ])
            for message in 1...2 {
                for type in ["create", "default"] {
                    try bench.add(1, type: type, body: #"{"message":\#(message)}"#) { $0.key = "c" }
                }
            }
            // The number of creates of each message, and the requests sent with their values.
            var created: [String: Int] = [:]
            var sent: [String] = []
            func serve(_ request: OutgoingRequest) -> AttemptReport.Result {
                let message = String(decoding: request.body ?? [], as: UTF8.self).filter(\.isNumber)
                guard request.url == "http://one/" else {
                    sent.append("\(message): \(request.url)")
                    let ids = (1...(created[message] ?? 1)).map { "http://one/n\(message)-\($0)" }
                    #expect(ids.contains(request.url), "call \(index)")
                    return .status(204)
                }
                created[message, default: 0] += 1
                let id = "n\(message)-\(created[message]!)"
                return .answer(AttemptReport.Answer(status: 201, body: Array(#"{"id":"\#(id)"}"#.utf8)))
            }
            system.left = index
            _ = try? bench.run(answer: serve)
            let hasDied = !system.isAlive
            (system.isAlive, system.left) = (true, .max)
            for _ in 0..<3 {
                bench.pass(.seconds(300))
                _ = try bench.run(answer: serve)
            }
            for state in [QueueState.new, .deferred, .claimed, .failed] {
                #expect(try bench.names(state).isEmpty, "call \(index)")
            }
            #expect(created.values.allSatisfy { (1...2).contains($0) } && created.count == 2, "call \(index)")
            #expect(Set(sent.map { $0.prefix(1) }) == ["1", "2"], "call \(index): \(sent)")
            if !hasDied { break }
        }
    }
}
