import CSystem
import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

struct DestinationTests {
    // MARK: - Holds

    @Test func `a hold goes on in later runs, without a request and without an event`() throws {
        let bench = try Bench()
        try bench.add(3)
        _ = try bench.run { _ in .status(401) }
        #expect(bench.holds == 1)
        #expect(try bench.state(of: "http://one").hold?.reason == "status 401: default 401 holds")
        let later = try bench.run { _ in .status(200) }
        #expect(later.held == 3 && later.attempts == 0)
        #expect(bench.holds == 1)
    }

    @Test func `before a destination is held, its newest operation is sampled`() throws {
        let bench = try Bench()
        try bench.add(9)
        _ = try bench.run(RunOptions(limit: 4, concurrency: 1)) { _ in .status(401) }
        #expect(bench.bodies == ["0", "8"])
        #expect(try bench.state(of: "http://one").hold != nil)
    }

    @Test func `a refused operation does not hold a destination that accepts all other operations`() throws {
        let bench = try Bench()
        try bench.add(4)
        let summary = try bench.run(RunOptions(concurrency: 1)) {
            $0.body == Array("0".utf8) ? .status(403) : .status(200)
        }
        #expect(summary.delivered == 3 && summary.failed == 1 && summary.held == 0)
        #expect(try bench.state(of: "http://one").hold == nil)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-0"])
    }

    @Test(arguments: [false, true])
    func `a delivery by another route contradicts no failure of a route's command`(isBeside: Bool) throws {
        let bench = try Bench()
        bench.credentials.waitsBeside = isBeside
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        bench.configuration.defaultRoute.retry.attempts = 1
        bench.configuration.routes[TypeName("free")!] = Route(url: "http://one/free")
        bench.credentials.signed = { _, _ throws(RequestError) in throw .headersCommand(reason: "exited with 77") }
        for _ in 0..<3 {
            try bench.add(1)
            try bench.add(1, type: "free")
        }
        let summary = try bench.run()
        #expect(summary.failed == 0 && summary.held >= 3)
        #expect(bench.sink?.requests.allSatisfy { $0.url == "http://one/free" } != false)
        #expect(try bench.names(.new).filter { $0.type == .default }.map(\.attempts) == [0, 0, 0])
        #expect(try bench.state(of: "http://one").hold != nil)
    }

    @Test func `an operation that cannot be signed does not stop the signed operations`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        let failure = RequestError.headersCommand(reason: "'sign' exited with status 3")
        bench.credentials.signed = { _, request throws(RequestError) in
            if request.body == Array("0".utf8) { throw failure }
            return []
        }
        try bench.add(5)
        let summary = try bench.run()
        #expect(summary.delivered == 4 && summary.deferred == 1 && summary.held == 0)
        // No request of the operation was sent: it waits as it was.
        #expect(try bench.names(.new).map(\.attempts) == [0] && bench.names(.deferred).isEmpty)
        bench.credentials.signed = { _, _ throws(RequestError) in throw failure }
        try bench.add(2)
        #expect(try bench.run().held == 3)
    }

    @Test func `inconclusive samples count as no samples: five permanent answers fail, and the rest goes on`() throws {
        let bench = try Bench()
        try bench.add(40)
        let summary = try bench.run(RunOptions(limit: 10, concurrency: 1)) {
            Int(String(decoding: $0.body ?? [], as: UTF8.self))! < 5 ? .status(400) : .status(500)
        }
        #expect(summary.failed == 5 && summary.held == 0)
        #expect(summary.deferred == summary.attempts - 5 && summary.deferred >= 3)
    }

    @Test func `a retry-after is in the ledger at once`() throws {
        let bench = try Bench()
        try bench.add(1)
        try bench.add(3, type: "other")
        var seen: Timestamp?
        _ = try bench.run(RunOptions(concurrency: 1)) { request in
            if request.url.hasPrefix("http://two") { seen = try? bench.state(of: "http://one").notBefore }
            return request.url.hasPrefix("http://one")
                ? .status(429, [HeaderField(name: "Retry-After", value: "600")]) : .status(204)
        }
        #expect(seen != nil)
    }

    @Test func `a hold is probed with a single operation after an hour, and ends with the delivery of the probe`()
        throws
    {
        let bench = try Bench()
        try bench.add(5)
        _ = try bench.run { _ in .status(401) }
        bench.now = bench.now + .seconds(3601)
        let probe = try bench.run { _ in .status(401) }
        #expect(probe.attempts == 1 && probe.held == 5)
        #expect(bench.bodies == ["4"])
        bench.now = bench.now + .seconds(60)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(3601)
        let freed = try bench.run()
        #expect(freed.delivered == 5)
        #expect(bench.bodies.first == "4")
        #expect(bench.holds == 1)
    }

    @Test func `the end of a hold is in the ledger soon, also while the next request has no answer`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { _ in .status(401) }
        bench.pass(.seconds(3601))
        var waited = Duration.zero
        bench.arrives = { deadline in
            guard bench.sink?.requests.count == 2, (try? bench.state(of: "http://one").hold) ?? nil != nil else {
                return true
            }
            let wait = max(.zero, deadline - bench.instant)
            waited += wait
            bench.pass(wait)
            return waited > .seconds(60)
        }
        #expect(try bench.run(RunOptions(concurrency: 1)).delivered == 2)
        #expect(waited <= .seconds(2))
    }

    @Test func `a hold has the cause of the last probe, and its own beginning`() throws {
        let bench = try Bench()
        try bench.add(3)
        _ = try bench.run { _ in .status(401) }
        let first = try #require(try bench.state(of: "http://one").hold)
        bench.pass(.seconds(3601))
        let probe = try bench.run { _ in .answer(AttemptReport.Answer(status: 403, body: Array("forbidden".utf8))) }
        let last = try #require(try bench.state(of: "http://one").hold)
        #expect(probe.attempts == 1 && probe.held == 3)
        #expect(last.cause?.text == "403 \"forbidden\"" && last.status == 403 && last.since == first.since)
        #expect(bench.changes(.held).count == 1)
    }

    @Test func `a probe with an operation beyond the limit takes the place of a chosen operation`() throws {
        let bench = try Bench()
        try bench.add(5)
        _ = try bench.run { _ in .status(401) }
        bench.now = bench.now + .seconds(3601)
        #expect(try bench.run(RunOptions(limit: 2)).delivered == 2)
        #expect(bench.bodies == ["4", "0"])
    }

    @Test func `a deferred probe is the only request of its hour`() throws {
        let bench = try Bench()
        try bench.add(5)
        _ = try bench.run { _ in .status(401) }
        bench.now = bench.now + .seconds(3601)
        let summary = try bench.run { _ in .status(500) }
        #expect(summary.attempts == 1 && summary.deferred == 1 && summary.held == 4)
        #expect(try bench.state(of: "http://one").hold != nil)
    }

    @Test func `a run sends no probe if another process has begun a probe since the listing`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { _ in .status(401) }
        bench.now = bench.now + .seconds(3601)
        let parts = try Parts(bench) { _ in
            Issue.record("a second probe")
            return .status(401)
        }
        let candidates = try parts.candidates()
        let probed = parts.book.destination(Destination(named: "http://one"), bench.now)
        #expect(probed.control.isProbing == true)
        #expect(
            try DestinationsFile(spool: bench.spool).beginProbe(
                of: "http://one", DestinationSettings(), at: bench.now, ignoringCircuitBreaker: false))
        try parts.send(candidates)
        #expect(try bench.names(.new).count == 2 && bench.names(.claimed).isEmpty)
    }

    @Test func `a pause counts for a destination whose name the run learns from an operation`() throws {
        let bench = try Bench()
        let parts = try Parts(bench) { _ in
            Issue.record("sent to a paused destination")
            return .status(204)
        }
        // Neither the run nor the ledger knows the destination yet.
        try bench.add(3) { $0.url = "http://three/x" }
        let paused = try DestinationsFile(spool: bench.spool).record(
            [("http://three", .paused)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        #expect(paused["http://three"].isPaused)
        parts.book.isFirstPass = false
        try parts.book.read(bench.now)
        let candidates = try parts.candidates()
        #expect(candidates.allSatisfy { $0.destination.name != "http://three" })
        try parts.send(candidates)
        #expect(try bench.names(.new).count == 3 && bench.names(.claimed).isEmpty)
    }

    @Test func `a hold ends when the configuration of its destination changes`() throws {
        let bench = try Bench()
        try bench.add(2)
        _ = try bench.run { _ in .status(401) }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "Bearer new")]
        #expect(try bench.run().delivered == 2)
    }

    @Test func `a hold ends when the secret blamed for the hold changes`() throws {
        let bench = try Bench()
        var secret = "old"
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.configuration.secrets = ["token": .environment("TOKEN")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "Bearer ${secret:token}")]
        try bench.add(2)
        #expect(try bench.run { _ in .status(401) }.held == 2)
        #expect(try bench.run().attempts == 0)
        secret = "new"
        #expect(try bench.run().delivered == 2)
        #expect(
            bench.sink?.requests.first?.headers.contains(HeaderField(name: "Authorization", value: "Bearer new"))
                == true)
    }

    @Test func `after a 401 the secret is refreshed once, and the operation is attempted again at once`() throws {
        let bench = try Bench()
        var secret = "old"
        var refreshes = 0
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.credentials.refresh = { _ in
            refreshes += 1
            secret = "new"
            return true
        }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(1)
        var isBusy = true
        func serve(_ request: OutgoingRequest) -> AttemptReport.Result {
            guard request.headers.contains(where: { $0.value == "new" }) else { return .status(401) }
            return isBusy ? .status(503) : .status(200)
        }
        func marks() -> [String?]? {
            bench.sink?.requests.map { request in request.headers.first { $0.name == "Drainq-Attempt" }?.value }
        }
        let summary = try bench.run(answer: serve)
        #expect(summary.deferred == 1 && summary.attempts == 2 && refreshes == 1)
        // The request with the new secret is still the first attempt. The next attempt has another number.
        #expect(marks() == ["1", "1"])
        isBusy = false
        bench.pass(.seconds(3600))
        #expect(try bench.run(answer: serve).delivered == 1)
        #expect(marks() == ["2"])
    }

    @Test func `after a 401 neither the refused secret nor the fresh one stands in the record`() throws {
        let bench = try Bench()
        var secret = "old-token-1"
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.credentials.refresh = { _ in
            secret = "new-token-2"
            return true
        }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(1)
        let body = Array("close old-token-1, it is open beside new-token-2".utf8)
        let summary = try bench.run { request in
            let isFresh = request.headers.contains { $0.value == "new-token-2" }
            return .answer(AttemptReport.Answer(status: isFresh ? 400 : 401, body: body))
        }
        #expect(summary.failed == 1 && summary.attempts == 2)
        let file = try String(
            contentsOf: bench.directory.appending(
                path: Entry(state: .failed, name: try #require(try bench.names(.failed).first)).path), encoding: .utf8)
        #expect(file.contains("close [secret], it is open beside [secret]"))
        #expect(!file.contains("token-1") && !file.contains("token-2"))
    }

    @Test(arguments: [Outcome.deferred, .failed, .held])
    func `after a 401 the secret is refreshed, whatever outcome the route gives the status`(outcome: Outcome) throws {
        let bench = try Bench()
        var secret = "old"
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.credentials.refresh = { _ in
            secret = "new"
            return true
        }
        bench.configuration.defaultRoute.classify = [.classify(.statuses(401...401), outcome: outcome)]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(1)
        let summary = try bench.run { request in
            request.headers.contains { $0.value == "new" } ? .status(200) : .status(401)
        }
        #expect(summary.delivered == 1 && summary.attempts == 2)
    }

    @Test
    func `a request repeated with a renewed secret keeps the attempt number, and the next attempt has a new number`()
        throws
    {
        let bench = try Bench()
        var (secret, numbers) = ("old", [String]())
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.credentials.refresh = { _ in
            secret = "new"
            return true
        }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(1)
        for _ in 0..<2 {
            _ = try bench.run { request in
                numbers += request.headers.filter { $0.isNamed("Drainq-Attempt") }.map(\.value)
                return request.headers.contains { $0.value == "old" } ? .status(401) : .status(503)
            }
            bench.now = bench.now + .seconds(61)
        }
        #expect(numbers == ["1", "1", "2"])
    }

    @Test func `a look-up that fails for now after a 401 decides nothing: the operations are deferred, uncharged`()
        throws
    {
        let bench = try Bench()
        var values = SecretValues(values: ["token": "old"])
        bench.credentials.values = { _, _ in values }
        bench.credentials.refresh = { _ in
            values = SecretValues(failures: ["token": "is late"], unavailable: ["token": .seconds(7)])
            return true
        }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(3)
        #expect(try bench.run(RunOptions(concurrency: 1)) { _ in .status(401) }.deferred == 3)
        #expect(bench.sink?.requests.count == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [0, 0, 0])
        #expect(try bench.state(of: "http://one").hold == nil && bench.state(of: "http://one").parking.isEmpty)
        values = SecretValues(values: ["token": "new"])
        bench.pass(.seconds(8))
        #expect(try bench.run().delivered == 3)
    }

    @Test func `after a 401 the route's command runs again, and its failure for now defers the operation`() throws {
        let bench = try Bench()
        var calls = 0
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        bench.credentials.signed = { _, _ throws(RequestError) in
            calls += 1
            if calls == 2 { throw .noCredentials(reason: "is late", for: .zero) }
            return [HeaderField(name: "Authorization", value: calls == 3 ? "old" : "\(calls)")]
        }
        try bench.add(1)
        #expect(try bench.run { _ in .status(401) }.deferred == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [0] && bench.state(of: "http://one").parking.isEmpty)
        bench.pass(.seconds(2))
        let summary = try bench.run { request in
            request.headers.contains { $0.value == "old" } ? .status(401) : .status(204)
        }
        #expect(summary.delivered == 1 && summary.attempts == 2 && calls == 4)
    }

    @Test func `a token that expires twice in a run is refreshed twice`() throws {
        let bench = try Bench()
        var (token, uses, refreshes) = (1, 0, 0)
        var secret = "1"
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.credentials.refresh = { _ in
            refreshes += 1
            secret = "\(token)"
            return true
        }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(9)
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            guard request.headers.contains(where: { $0.name == "Authorization" && $0.value == "\(token)" }) else {
                return .status(401)
            }
            uses += 1
            if uses % 3 == 0 { token += 1 }
            return .status(200)
        }
        #expect(summary.delivered == 9 && summary.held == 0 && refreshes == 2)
    }

    @Test func `secrets are not refreshed for each operation if the server refuses fresh secrets, too`() throws {
        let bench = try Bench()
        var refreshes = 0
        bench.credentials.values = { _, _ in SecretValues(values: ["token": "\(refreshes)"]) }
        bench.credentials.refresh = { _ in
            refreshes += 1
            return true
        }
        bench.configuration.defaultRoute.classify = [.classify(.statuses(401...401), outcome: .deferred)]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(9)
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in .status(401) }
        #expect(summary.deferred == 9 && refreshes == 1)
    }

    @Test func `a missing secret holds the destination, and nothing is sent`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(2)
        let summary = try bench.run()
        #expect(summary.held == 2 && summary.attempts == 0)
        #expect(try bench.state(of: "http://one").hold?.reason.contains("the secret 'token' is not configured") == true)
    }

    @Test func `a destination that needs libcurl is held where libcurl is missing, and the hold says why`() throws {
        let bench = try Bench()
        bench.libcurlDefect = "libcurl.so.4 cannot be opened: No such file or directory"
        bench.configuration.destinations["http://one"] = DestinationSettings(
            connection: ConnectionOptions(caFile: "/etc/ca.pem"))
        try bench.add(1)
        try bench.add(1, type: "other")
        let summary = try bench.run()
        #expect(summary.held == 1 && summary.delivered == 1)
        #expect(try bench.state(of: "http://one").hold?.reason.contains("libcurl.so.4 cannot be opened") == true)
    }

    @Test func `without libcurl URLSession makes the attempts, unless the environment names libcurl`() throws {
        let bench = try Bench()
        bench.libcurlDefect = "libcurl.so.4 cannot be opened: No such file or directory"
        try bench.add(3)
        try bench.add(1, type: "other")
        let summary = try bench.run()
        #expect(summary.delivered == 4 && summary.attempts == 4)
        #expect(bench.sink?.requests.map(\.transport) == Array(repeating: .urlsession, count: 4))

        bench.configuration.transportOfEnvironment = .libcurl
        try bench.add(1)
        #expect(try bench.run().held == 1)
        #expect(bench.sink?.requests.isEmpty == true)
        #expect(try bench.state(of: "http://one").hold?.reason.contains("libcurl.so.4 cannot be opened") == true)
    }

    @Test
    func `with both transports the first of the order makes the attempts, unless the environment names a transport`()
        throws
    {
        let bench = try Bench()
        for (variable, expected) in [
            (nil, TransportChoice.order[0]), (.urlsession, .urlsession), (.libcurl, .libcurl),
        ] as [(Transport?, Transport)] {
            bench.configuration.transportOfEnvironment = variable
            try bench.add(1)
            #expect(try bench.run().delivered == 1)
            #expect(bench.sink?.requests.map(\.transport) == [expected])
        }
    }

    @Test func `a destination that an operator holds or pauses is left alone until the release or resume`() throws {
        let bench = try Bench()
        try bench.add(2)
        let file = DestinationsFile(spool: bench.spool)
        for (event, held) in [(DestinationEvent.heldByHand(reason: "moving house"), 2), (.paused, 0)] {
            try file.record(
                [("http://one", event)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
            bench.now = bench.now + .seconds(86_400)
            let summary = try bench.run()
            #expect(summary.attempts == 0 && summary.held == held)
            let end: DestinationEvent = event == .paused ? .resumed : .released
            try file.record(
                [("http://one", end)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
        }
        #expect(try bench.run().delivered == 2)
    }

    // MARK: - Storms

    @Test func `a bad deploy fails no operation: five equal answers and three samples hold the destination`() throws {
        let bench = try Bench()
        try bench.add(50)
        let summary = try bench.run(RunOptions(limit: 20, concurrency: 1)) { _ in .status(404) }
        #expect(summary.failed == 0 && summary.held == 50)
        #expect(bench.bodies == ["0", "1", "2", "3", "4", "49", "48", "47"])
        #expect(try bench.names(.new).count == 50)
        #expect(try bench.names(.new).allSatisfy { $0.attempts == 0 })
        #expect(bench.holds == 1)
    }

    @Test func `a small limit does not fail a queue three by three`() throws {
        let bench = try Bench()
        try bench.add(20)
        let summary = try bench.run(RunOptions(limit: 3)) { _ in .status(404) }
        #expect(summary.failed == 0 && summary.held == 20)
        #expect(try bench.names(.new).count == 20)
    }

    @Test func `an operation behind a hold expires`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.expiresAfter = .seconds(600)
        try bench.add(2)
        #expect(try bench.run { _ in .status(401) }.held == 2)
        bench.now = bench.now + .seconds(601)
        let summary = try bench.run()
        #expect(summary.attempts == 0 && summary.failed == 2 && summary.expired == 2 && summary.held == 0)
    }

    @Test func `the expiry of operations behind a hold respects the limit and the time limit`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.expiresAfter = .seconds(600)
        try bench.add(5)
        #expect(try bench.run { _ in .status(401) }.held == 5)
        bench.now = bench.now + .seconds(601)
        let late = try bench.run(RunOptions(maxTime: .zero))
        #expect(late.end == .timeUp && late.failed == 0 && late.leftDue == 5)
        let limited = try bench.run(RunOptions(limit: 2))
        #expect(limited.failed == 2 && limited.leftDue == 3)
        #expect(try bench.names(.failed).count == 2)
        #expect(try bench.run().failed == 3)
    }

    @Test func `a storm holds the destination, whatever the concurrency`() throws {
        let bench = try Bench()
        try bench.add(50)
        let summary = try bench.run(RunOptions(limit: 50, concurrency: 8)) { _ in .status(404) }
        #expect(summary.failed == 0 && summary.held == 50)
        #expect(try bench.names(.new).count == 50)
    }

    @Test func `a storm fails no operation in strict order`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .strict
        try bench.add(20)
        let summary = try bench.run { _ in .status(404) }
        #expect(summary.failed == 0 && summary.held == 20)
        #expect(bench.bodies == (0..<6).map(String.init))
        #expect(try bench.names(.new).count == 20)
    }

    @Test func `a handful of bad operations does not block good operations`() throws {
        let bench = try Bench()
        try bench.add(30)
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            Int(String(decoding: request.body ?? [], as: UTF8.self))! < 6 ? .status(404) : .status(200)
        }
        #expect(summary.failed == 6 && summary.delivered == 24 && summary.held == 0)
        #expect(try bench.state(of: "http://one").storm == nil)
        try bench.add(1)
        #expect(try bench.run { _ in .status(404) }.failed == 1)
    }

    @Test func `five bad operations alone fail as usual`() throws {
        let bench = try Bench()
        try bench.add(5)
        let summary = try bench.run { _ in .status(404) }
        #expect(summary.failed == 5 && summary.held == 0)
    }

    @Test func `inconclusive samples do not put a storm off: at most five operations fail before the hold`() throws {
        let bench = try Bench()
        bench.configuration.routes[TypeName("audit")!] = Route(url: "http://one/audit")
        try bench.add(40)
        try bench.add(40, type: "audit")
        for _ in 0..<3 {
            _ = try bench.run { $0.url == "http://one/audit" ? .status(500) : .status(404) }
            bench.now = bench.now + .seconds(60)
        }
        #expect(try bench.names(.failed).count <= 5)
        #expect(try bench.state(of: "http://one").hold?.status == 404 && bench.holds == 1)
    }

    @Test func `a destination reported as held is held, also if a sample met no server`() throws {
        let bench = try Bench()
        try bench.add(3)
        var requests = 0
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in
            requests += 1
            return requests == 1
                ? .status(303, [HeaderField(name: "Location", value: "/y")]) : .failure(.reset, detail: "")
        }
        #expect(summary.held > 0 && bench.holds == 1)
        #expect(try bench.state(of: "http://one").hold != nil)
    }

    @Test func `the storm guard does not override the user's own rule for an answer`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.answers = [
            .classify(.statuses(404...404), outcome: .failed), .classify(.statuses(401...401), outcome: .failed),
        ]
        try bench.add(10)
        #expect(try bench.run { _ in .status(404) }.failed == 10)
        try bench.add(10)
        #expect(try bench.run { _ in .status(401) }.failed == 10)
        try bench.add(1)
        #expect(try bench.run { _ in .status(410) }.failed == 1)
        #expect(bench.holds == 0)
    }

    private static let schedules: [[Duration]] = [
        [.seconds(1), .seconds(1), .seconds(1)],
        [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)],
        [.seconds(1), .seconds(2), .seconds(4)],
        [.milliseconds(500), .milliseconds(1_250), .milliseconds(3_125)],
        [.seconds(5), .seconds(15)],
        [.seconds(5), .seconds(30), .seconds(120)],
    ]

    @Test(arguments: schedules)
    func `the circuit breaker does not delay operations beyond their schedule`(delays: [Duration]) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(
            delays: .list(delays), attempts: delays.count + 1, jitter: 0)
        let ids = try bench.add(6)
        let start = bench.now
        var times: [String: [Duration]] = [:]
        let summary = try bench.run(RunOptions(concurrency: 1, stay: .untilEmpty)) { request in
            let id = "default-" + String(decoding: request.body ?? [], as: UTF8.self)
            times[id, default: []].append(bench.now - start)
            return .failure(.refused, detail: "")
        }
        #expect(summary.failed == 6)
        for id in ids {
            let attempts = times[id] ?? []
            #expect(attempts.count == delays.count + 1)
            for (number, delay) in delays.enumerated() where number + 1 < attempts.count {
                let wait = attempts[number + 1] - attempts[number]
                #expect(wait >= delay && wait < delay + .milliseconds(100), "\(id): \(attempts)")
            }
        }
        // The sixth operation waits for the circuit breaker, and is the probe.
        #expect(times[ids[5]]!.first! <= .seconds(1) + .milliseconds(100))
    }

    @Test func `while a destination is down, a pass makes a single slow attempt, and the probes take turns`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry = BackoffSchedule(
            delays: .list([.seconds(30)]), attempts: 100, jitter: 0)
        bench.duration = .seconds(10)
        try bench.add(20)
        var asked: [String] = []
        for _ in 0..<10 {
            asked = []
            _ = try bench.run(RunOptions(concurrency: 1)) { request in
                asked.append(String(decoding: request.body ?? [], as: UTF8.self))
                bench.pass(.seconds(10))
                return .failure(.connectTimeout, detail: "")
            }
            bench.pass(.seconds(3_600))
        }
        #expect(asked.count == 1)
        let attempts = try bench.names(.deferred).map(\.attempts)
        #expect(attempts.count == 14 && attempts.allSatisfy { $0 == 1 }, "\(attempts)")
    }

    @Test func `a few bad operations fail at the end of the pass`() throws {
        let bench = try Bench()
        try bench.add(3)
        #expect(try bench.run { _ in .status(400) }.failed == 3)
        #expect(try bench.names(.failed).allSatisfy { $0.attempts == 1 })
    }

    @Test func `a slow storm, with an operation a run, fails five operations, and its hold ends by itself`() throws {
        let bench = try Bench()
        for _ in 0..<60 {
            try bench.add(1)
            _ = try bench.run { _ in .status(404) }
            bench.now = bench.now + .seconds(10)
        }
        #expect(try bench.names(.failed).count == 5 && bench.names(.new).count == 55)
        #expect(bench.holds == 1)
        #expect(try bench.state(of: "http://one").hold?.reason == "storm: 6 answers in a row were 404: holds")
        bench.now = bench.now + .seconds(3601)
        #expect(try bench.run().delivered == 55)
        #expect(try bench.state(of: "http://one").storm == nil)
    }

    @Test func `a few bad operations among good operations fail, however many runs they take`() throws {
        let bench = try Bench()
        for _ in 0..<20 {
            try bench.add(2)
            _ = try bench.run(RunOptions(concurrency: 1)) {
                Int(String(decoding: $0.body ?? [], as: UTF8.self))! % 2 == 0 ? .status(422) : .status(204)
            }
        }
        #expect(try bench.names(.failed).count == 20)
        #expect(bench.holds == 0)
    }

    // MARK: - Retry-After

    @Test func `Retry-After delays the whole destination, also in later runs, and no other destination`() throws {
        let bench = try Bench()
        try bench.add(5)
        try bench.add(2, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            request.url.hasPrefix("http://one")
                ? .status(429, [HeaderField(name: "Retry-After", value: "100")]) : .status(200)
        }
        #expect(summary.attempts == 3 && summary.delivered == 2 && summary.waiting == 4 && summary.deferred == 1)
        bench.now = bench.now + .seconds(99)
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).attempts == 0)
        bench.now = bench.now + .seconds(30)
        #expect(try bench.run().delivered == 5)
    }

    @Test func `Retry-After delays a destination a day at most, plus jitter`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(503, [HeaderField(name: "Retry-After", value: "999999")]) }
        bench.now = bench.now + .seconds(86_399)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(302)
        #expect(try bench.run().delivered == 1)
    }

    // MARK: - Circuit breaker

    @Test func `five failures in a row open the circuit breaker, also for later runs, until the cool-down is over`()
        throws
    {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry.attempts = 9
        try bench.add(20)
        let first = try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.refused, detail: "") }
        #expect(first.attempts == 5 && first.deferred == 5 && first.waiting == 15)
        #expect(try bench.names(.new).allSatisfy { $0.attempts == 0 })
        bench.now = bench.now + .milliseconds(900)
        let second = try bench.run()
        #expect(second.attempts == 0 && second.waiting == 15)
        bench.now = bench.now + .milliseconds(200)
        let probe = try bench.run { _ in .failure(.refused, detail: "") }
        #expect(probe.attempts == 1)
        bench.now = bench.now + .milliseconds(1900)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(61)
        #expect(try bench.run().delivered == 20)
        #expect(try bench.state(of: "http://one").coolDownUntil == nil)
    }

    @Test
    func `a run that ignores backoff sends operations deferred before the run, not operations deferred by the run`()
        throws
    {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry.attempts = 99
        try bench.add(1)
        _ = try bench.run { _ in .status(500) }
        let summary = try bench.run(RunOptions(stay: .during(.milliseconds(1500)), ignoresBackoff: true)) { _ in
            .status(500)
        }
        #expect(summary.attempts == 1 && summary.deferred == 1)
    }

    @Test func `a refusal stays parked although another answer comes meanwhile`() throws {
        let bench = try Bench()
        try bench.add(2)
        let summary = try bench.run(RunOptions(concurrency: 2)) {
            $0.body == Array("0".utf8) ? .status(401) : .status(500)
        }
        #expect(summary.held == 0 && summary.deferred == 2)
        #expect(try bench.state(of: "http://one").parking.entries.map(\.status) == [401])
    }

    @Test func `a run under way adopts a pause`() throws {
        let bench = try Bench()
        try bench.add(1)
        let summary = try bench.run(RunOptions(stay: .during(.seconds(30)))) { _ in
            _ = try? bench.spool.setPaused(true)
            return .status(204)
        }
        #expect(summary.end == .paused && summary.delivered == 1)
    }

    @Test(arguments: [DestinationEvent.paused, .heldByHand(reason: "mine")])
    func `a destination that an operator stops stays blocked, whatever is delivered meanwhile`(event: DestinationEvent)
        throws
    {
        let bench = try Bench()
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 2)) { _ in
            if bench.sink?.requests.count == 2 {
                _ = try? DestinationsFile(spool: bench.spool).record(
                    [("http://one", event)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
                bench.pass(.seconds(2))
            }
            return .status(204)
        }
        #expect(summary.attempts == 2 && summary.delivered == 2 && summary.held + summary.paused == 8)
        #expect(try bench.names(.new).count == 8)
    }

    @Test func `a run that ignores backoff ignores an open circuit breaker`() throws {
        let bench = try Bench()
        try bench.add(20)
        _ = try bench.run { _ in .failure(.refused, detail: "") }
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).delivered == 20)
    }

    @Test func `after an outage the window opens 1, 2, 4`() throws {
        let bench = try Bench()
        try bench.add(40)
        _ = try bench.run(RunOptions(limit: 100, concurrency: 10)) { _ in .failure(.refused, detail: "") }
        bench.now = bench.now + .seconds(7200)
        var flights: [Int] = []
        _ = try bench.run(RunOptions(concurrency: 10)) { _ in
            flights.append((bench.sink?.inFlight ?? 0) + 1)
            return .status(200)
        }
        #expect(flights.first == 1)
        #expect(flights.prefix(4).max()! <= 4)
        #expect(flights.max() == 10)
    }

    @Test func `a dead destination does not take the limit from a live destination`() throws {
        let bench = try Bench()
        try bench.add(10_000)
        try bench.add(10, type: "other")
        let summary = try bench.run(RunOptions(limit: 20, concurrency: 5)) {
            $0.url.hasPrefix("http://one") ? .failure(.timeout, detail: "") : .status(200)
        }
        #expect(summary.delivered == 10)
    }

    @Test func `a blocked destination leaves its part of the limit to another destination`() throws {
        let bench = try Bench()
        try bench.add(100)
        try bench.add(30, type: "other")
        let summary = try bench.run(RunOptions(limit: 20, concurrency: 1)) {
            $0.url.hasPrefix("http://one") ? .status(429) : .status(200)
        }
        #expect(summary.delivered == 19)
    }

    @Test func `a failing proxy is not charged to the destination or the operation`() throws {
        let bench = try Bench()
        try bench.add(8)
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.proxy, detail: "") }
        #expect(summary.failed == 0)
        #expect(try bench.names(.deferred).allSatisfy { $0.attempts == 0 })
        #expect(try bench.state(of: "http://one").failures == 0)
    }

    // MARK: - Pace and conditions

    @Test func `a destination gets no more requests at once than its concurrency limit`() throws {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(concurrency: 2)
        try bench.add(10)
        _ = try bench.run(RunOptions(concurrency: 8))
        #expect(bench.sink?.mostInFlight == 2)
    }

    @Test func `without the network of the conditions nothing is sent, and the summary says why`() throws {
        let bench = try Bench()
        bench.configuration.conditions = Conditions(network: .online)
        bench.surroundings = Surroundings(isOnline: false)
        try bench.add(2)
        let summary = try bench.run()
        #expect(summary.attempts == 0 && summary.waiting == 2)
        #expect(summary.conditions == "there is no network, and conditions.network is 'online'")
        bench.surroundings.isOnline = true
        #expect(try bench.run().delivered == 2)
    }

    @Test func `a destination on this machine needs no network`() throws {
        let bench = try Bench()
        bench.configuration.conditions = Conditions(network: .unmetered)
        bench.configuration.defaultRoute.url = "http://localhost:8080/"
        bench.surroundings = Surroundings(isOnline: false, isMetered: true)
        try bench.add(2)
        #expect(try bench.run().delivered == 2)
    }

    @Test func `on battery a run waits, or begins later, as the conditions say`() throws {
        let bench = try Bench()
        bench.surroundings = Surroundings(isOnBattery: true)
        bench.configuration.conditions = Conditions(power: .mains)
        try bench.add(3)
        #expect(try bench.run().waiting == 3)
        bench.configuration.conditions = Conditions(power: .delayOnBattery(.milliseconds(30)))
        let start = bench.instant
        var begun: [ContinuousClock.Instant] = []
        let summary = try bench.run { _ in
            begun.append(bench.instant)
            return .status(204)
        }
        #expect(summary.delivered == 3)
        // A single delay before all attempts.
        #expect(begun[0] - start >= .milliseconds(30) && bench.slept.count == 1)
    }

    @Test func `a rate spaces the attempts`() throws {
        let bench = try Bench()
        try bench.add(4)
        let start = bench.instant
        #expect(try bench.run(RunOptions(rate: Rate(count: 50, per: .seconds(1)))).delivered == 4)
        #expect(bench.instant - start >= .milliseconds(60))
    }

    @Test(.timeLimit(.minutes(10))) func `a run without an open destination does not wait for its rate`() throws {
        let bench = try Bench()
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 1, rate: Rate(count: 1, per: .seconds(86_400)))) { _ in
            .status(429, [HeaderField(name: "Retry-After", value: "3600")])
        }
        #expect(summary.attempts == 1 && summary.waiting == 9)
    }

    @Test func `the rate of a destination spaces its attempts, and no other destination's`() throws {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(
            rate: Rate(count: 1, per: .milliseconds(80)))
        try bench.add(3)
        try bench.add(20, type: "other")
        var begun: [(url: String, at: ContinuousClock.Instant)] = []
        let start = bench.instant
        #expect(
            try bench.run(RunOptions(concurrency: 2)) { request in
                begun.append((request.url, bench.instant))
                return .status(204)
            }.delivered == 23)
        let slow = begun.filter { $0.url.hasPrefix("http://one") }.map(\.at)
        // Counted from the start, so a busy machine can only be late.
        #expect(slow.enumerated().allSatisfy { $1 - start >= .milliseconds(80) * $0 })
        // The other destination has not waited for the slow one.
        #expect(begun.last?.url.hasPrefix("http://one") == true)
    }

    @Test func `a metered network is left alone unless the conditions allow metered networks`() throws {
        let bench = try Bench()
        bench.surroundings = Surroundings(isMetered: true)
        bench.configuration.conditions = Conditions(network: .unmetered)
        try bench.add(2)
        let summary = try bench.run()
        #expect(summary.attempts == 0 && summary.waiting == 2)
        #expect(summary.conditions == "the network is metered, and conditions.network is 'unmetered'")
        bench.configuration.conditions = Conditions(network: .online)
        #expect(try bench.run().delivered == 2)
    }

    @Test func `only the given destinations are attempted`() throws {
        let bench = try Bench()
        try bench.add(2)
        try bench.add(3, type: "other")
        #expect(try bench.run(RunOptions(destinations: ["http://two"])).delivered == 3)
        #expect(try bench.names(.new).count == 2)
    }

    @Test func `the URL of an operation names its destination`() throws {
        let bench = try Bench()
        try bench.add(2) { $0.url = "http://three:8080/x" }
        #expect(try bench.run { _ in .status(401) }.held == 2)
        #expect(try bench.state(of: "http://three:8080").hold != nil)
        let later = try bench.run()
        #expect(later.held == 2 && later.attempts == 0)
        let file = DestinationsFile(spool: bench.spool)
        try file.record(
            [("http://three:8080", .released)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
        #expect(try bench.run(RunOptions(destinations: ["http://three:8080"])).delivered == 2)
    }

    @Test func `losing the ledger ends its hold, and loses no operation`() throws {
        let bench = try Bench()
        try bench.add(3)
        _ = try bench.run { _ in .status(401) }
        try bench.spool.writeState(StateFile.destinations.rawValue, Array("{ not json".utf8))
        #expect(try bench.run().delivered == 3)
    }

    @Test func `a ledger of a newer drainq stops the run, and is not replaced`() throws {
        let bench = try Bench()
        try bench.add(1)
        let newer = Array(#"{"version": 2, "pauses": ["http://one"]}"#.utf8)
        try bench.spool.writeState(StateFile.destinations.rawValue, newer)
        let refusal = SpoolError(kind: .newerFormat(2), verb: "read", path: "state/destinations.json", code: 0)
        #expect(throws: refusal) { try bench.run() }
        #expect(throws: refusal) {
            try DestinationsFile(spool: bench.spool).record(
                [("http://one", .paused)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
        }
        #expect(try bench.spool.readState(StateFile.destinations.rawValue) == newer)
    }

    @Test func `a damaged ledger is reported once and moved aside`() throws {
        let bench = try Bench()
        try bench.add(2)
        try bench.spool.writeState(StateFile.destinations.rawValue, Array("{\"version\":1,,}\n".utf8))
        let first = try bench.run(RunOptions(limit: 1))
        #expect(first.inputOutputErrors == 1 && first.delivered == 1)
        #expect(try bench.spool.readState("destinations.json.damaged") != nil)
        #expect(try bench.run().inputOutputErrors == 0)
    }

    /// The possible remains of an unsynced ledger after a power cut.
    static let remains: [[UInt8]] = [
        [], [0, 0, 0, 0], Array("{\"version\":1,\"dest".utf8), Array("{\"version".utf8) + [0, 0],
    ]

    @Test(arguments: remains)
    func `a hold that begins after a power cut lasts`(bytes: [UInt8]) throws {
        let bench = try Bench()
        try bench.add(3)
        try bench.spool.writeState(StateFile.destinations.rawValue, bytes)
        let first = try bench.run { _ in .status(401) }
        #expect(first.attempts > 1 && first.delivered == 0)
        #expect(try bench.state(of: "http://one").hold != nil)
        #expect(try bench.run().attempts == 0)
    }

    @Test(arguments: remains)
    func `the remains of an unsynced ledger after a power cut are no damage`(bytes: [UInt8]) throws {
        let bench = try Bench()
        try bench.add(1)
        try bench.spool.writeState(StateFile.destinations.rawValue, bytes)
        let summary = try bench.run { _ in .status(429, [HeaderField(name: "Retry-After", value: "600")]) }
        #expect(summary.inputOutputErrors == 0 && summary.attempts == 1)
        #expect(try bench.spool.readState("destinations.json.damaged") == nil)
        #expect(try bench.state(of: "http://one").notBefore != nil)
    }

    /// The events of an operator that stop a destination.
    static let stops = [DestinationEvent.paused, .heldByHand(reason: "maintenance")]

    @Test(arguments: stops)
    func `while an operator holds or pauses a destination, every change of the ledger is synced`(stop: DestinationEvent)
        throws
    {
        var system = SystemCalls.real
        var unsynced: Set<String> = []
        var opened: [Int32: String] = [:]
        system.open = { (directory, path, flags, mode) throws(Errno) in
            let file = try SystemCalls.real.open(directory, path, flags, mode)
            opened[file] = String(cString: path)
            if String(cString: path) == "state/.destinations.json" { unsynced.insert(String(cString: path)) }
            return file
        }
        system.fsync = { (file) throws(Errno) in
            try SystemCalls.real.fsync(file)
            unsynced.remove(opened[file] ?? "")
        }
        var renames = 0
        system.rename = { (directory, from, target, to) throws(Errno) in
            if String(cString: to) == "state/destinations.json" {
                renames += 1
                #expect(unsynced.isEmpty, "change \(renames) is not synced")
            }
            try SystemCalls.real.rename(directory, from, target, to)
        }
        let bench = try Bench(system: system)
        try bench.add(2)
        try bench.add(2, type: "other")
        let file = DestinationsFile(spool: bench.spool)
        try file.record(
            [("http://one", stop)], settings: { _ in DestinationSettings() }, at: bench.now, durable: true)
        _ = try bench.run { _ in .status(503) }
        try file.record(offline: .init(since: bench.now, error: .dns))
        try file.record(
            [("http://two", .held(reason: "a", blamed: nil))], settings: { _ in DestinationSettings() },
            at: bench.now, durable: false)
        bench.pass(.seconds(7200))
        #expect(
            try file.beginProbe(of: "http://two", DestinationSettings(), at: bench.now, ignoringCircuitBreaker: false))
        #expect(renames >= 5)
    }

    @Test func `what begins is told by the write that makes it true, and once`() throws {
        var (system, mayWrite) = (SystemCalls.real, false)
        system.rename = { (directory, from, target, to) throws(Errno) in
            if !mayWrite, String(cString: to) == "state/destinations.json" { throw Errno(ENOSPC) }
            try SystemCalls.real.rename(directory, from, target, to)
        }
        let bench = try Bench(system: system)
        try bench.add(2)
        for _ in 0..<2 { #expect(try bench.run { _ in .status(401) }.inputOutputErrors == 1) }
        #expect(bench.holds == 0)
        mayWrite = true
        for _ in 0..<2 { #expect(try bench.run { _ in .status(401) }.inputOutputErrors == 0) }
        #expect(bench.holds == 1)
    }

    @Test func `events of several runs in a ledger do not undo each other`() throws {
        let bench = try Bench()
        let file = DestinationsFile(spool: bench.spool)
        func record(_ name: String, _ event: DestinationEvent) throws {
            try file.record([(name, event)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        }
        try record("http://one", .held(reason: "a", blamed: nil))
        try record("http://two", .retryAfter(until: bench.now + .seconds(60)))
        try record("http://one", .answered)
        let ledger = try file.read()
        #expect(ledger.destinations["http://one"]?.hold?.reason == "a")
        #expect(ledger.destinations["http://two"]?.notBefore == bench.now + .seconds(60))
    }
}
