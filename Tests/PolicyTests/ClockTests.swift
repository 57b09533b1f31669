import Testing

@testable import Policy

/// Decisions after a clock has jumped.
struct ClockTests {
    static let now = Timestamp(rfc3339: "2026-11-21T09:00:00Z")!
    static let booted = Timestamp(rfc3339: "1970-01-01T00:00:42Z")!
    static let ahead = Timestamp(rfc3339: "2099-01-01T00:00:00Z")!

    private func operation(created: Timestamp, attempted times: Timestamp...) -> Operation {
        Operation(
            header: OperationHeader(id: OperationID("a")!, createdAt: created), body: [],
            attempts: times.map { AttemptRecord(at: $0, duration: .zero, outcome: .deferred, status: 503, rule: "") })
    }

    private func failure(_ operation: Operation, at now: Timestamp) -> Disposition {
        var generator = SeededGenerator(seed: 1)
        let report = SealedReport(result: .failure(.refused, detail: ""), duration: .zero)
        let route = Route(retry: BackoffSchedule(delays: .list([.seconds(60)]), maxAge: .seconds(3 * 86_400)))
        return Settlement.decide(
            on: report, verdict: Classification.verdict(on: report, route: route, now: now), of: operation,
            name: EntryName(createdAt: operation.header.createdAt, id: operation.header.id), route: route,
            inBatch: false, keepsDelivered: false, start: now, now: now, using: &generator
        ).disposition
    }

    @Test func `an operation's age begins with its creation`() {
        #expect(operation(created: Self.now).ageBegins == Self.now)
        #expect(operation(created: Self.now, attempted: Self.now + .seconds(1)).ageBegins == Self.now)
        // The clock was ahead or not set at the first attempt.
        #expect(operation(created: Self.now, attempted: Self.ahead).ageBegins == Self.now)
        #expect(operation(created: Self.now, attempted: Self.booted).ageBegins == Self.now)
    }

    @Test(arguments: ["1970-01-01T00:00:42Z", "1980-01-06T00:00:00Z", "2000-01-01T00:00:00Z", "2099-01-01T00:00:00Z"])
    func `an operation created by a wrong clock ages from its first attempt by a plausible clock`(created: String) {
        let created = Timestamp(rfc3339: created)!
        #expect(operation(created: created, attempted: Self.booted, Self.now, Self.ahead).ageBegins == Self.now)
        let due = Self.now + .seconds(60)
        #expect(failure(operation(created: created), at: Self.now) == .deferred(until: due, countsAttempt: true))
        let old = operation(created: created, attempted: Self.now - .seconds(3 * 86_400))
        #expect(failure(old, at: Self.now) == .failed(countsAttempt: true))
    }

    @Test func `an operation created before the clock was set does not expire because of the jump`() {
        let route = Route(expiresAfter: .seconds(86_400))
        let fresh = operation(created: Self.booted)
        #expect(fresh.ageBegins == nil)
        #expect(Settlement.decide(onExpiryOf: fresh, route: route, now: Self.now) == nil)
        let old = operation(created: Self.booted, attempted: Self.now - .seconds(86_400))
        #expect(Settlement.decide(onExpiryOf: old, route: route, now: Self.now) != nil)
        // An expiresAt of the operation counts as given.
        var own = fresh
        own.header.expiresAt = Self.now
        #expect(Settlement.decide(onExpiryOf: own, route: Route(), now: Self.now) != nil)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `an operation is due if its due time is beyond the schedule's longest delay`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let longest = Duration.seconds(Int.random(in: 0...200_000, using: &generator))
        let set = Timestamp(microseconds: .random(in: 0...4_102_444_800_000_000, using: &generator))
        let due = set + .milliseconds(Int.random(in: 0...Int(longest / .milliseconds(1)), using: &generator))
        let name = EntryName(createdAt: set, id: OperationID("a")!, attempts: 1, gate: .retryAt(due))
        for days in [-400_000, -365, -1, 0, 1, 365, 20_000] {
            let now = set + .seconds(days * 86_400)
            let answer = eligibility(of: name, at: now, longestDelay: longest, ignoringBackoff: false)
            if case .deferred(let until) = answer {
                #expect(until == due && until > now && until - now <= longest)
            } else {
                #expect(answer == .due && (due <= now || due - now > longest))
            }
        }
    }

    @Test func `a retention of days is searched once a day, and a retention of hours by each run`() {
        let day = Duration.seconds(86_400)
        let retention = Retention(failed: day * 30)
        func limit(_ last: Timestamp?, _ now: Timestamp) -> Timestamp? {
            let age = retention.search(last: last, now: now)?.failed
            #expect(age?.isTwice ?? true)
            return age?.limit
        }
        #expect(Retention().search(last: nil, now: Self.now) == nil)
        #expect(limit(nil, Self.now) == Self.now - day * 30)
        #expect(limit(Self.now, Self.now + day - .microseconds(1)) == nil)
        #expect(limit(Self.now, Self.now + day) == Self.now - day * 29)
        // The clock was ahead and is right again.
        #expect(limit(Self.ahead, Self.now) == Self.now - day * 30)
        let short = Retention(failed: .seconds(3600)).search(last: Self.now, now: Self.now)
        #expect(short?.failed?.limit == Self.now - .seconds(3600))
        #expect(short?.failed?.isTwice == false && short?.isRemembered == false)
    }

    @Test func `a search knows the findings of the previous search, unless its clock was ahead`() throws {
        func next(after last: RetentionFindings, at now: Timestamp) throws -> RetentionFindings {
            let stored = try #require(RetentionFindings(last.encoded))
            return RetentionFindings(at: now, after: stored)
        }
        func found(_ paths: [String], by findings: inout RetentionFindings) -> [Bool] {
            paths.map { findings.find($0) }
        }
        var first = RetentionFindings(at: Self.now, after: nil)
        #expect(found(["failed/a", "failed/b"], by: &first) == [false, false])
        var second = try next(after: first, at: Self.ahead)
        #expect(found(["failed/a", "failed/c"], by: &second) == [true, false])
        // Removed files are not noted again.
        var third = try next(after: second, at: Self.ahead)
        #expect(found(["failed/a", "failed/c"], by: &third) == [false, true])
        var behind = try next(after: second, at: Self.now)
        #expect(found(["failed/c"], by: &behind) == [false])
    }

    @Test func `findings without a time are invalid, and unknown lines are skipped`() {
        #expect(RetentionFindings([]) == nil && RetentionFindings(Array("x\n".utf8)) == nil)
        let time = "2026-11-27T07:00:00Z"
        #expect(RetentionFindings(Array("\(time)\nx\n".utf8))?.at == Timestamp(rfc3339: time))
    }

    @Test func `an operation added to a sequence comes after the queued operations, whatever the clock says`() {
        var configuration = Configuration(defaultRoute: Route(url: "http://one/"))
        configuration.routes[TypeName("profile")!] = Route(url: "http://one/", coalesce: true)
        var clock = SequenceClock(configuration)
        func name(_ type: String, _ key: String, _ at: Timestamp) -> EntryName {
            EntryName(createdAt: at, id: OperationID("a")!, type: TypeName(type)!, keyDigest: Digest(of: key))
        }
        clock.note(name("profile", "mine", Self.ahead))
        clock.note(name("profile", "mine", Self.now))
        clock.note(name("default", "mine", Self.ahead))
        func creation(_ type: String, _ key: String, _ created: Timestamp, at time: Timestamp) -> Timestamp {
            clock.creation(of: name(type, key, created), at: time)
        }
        #expect(creation("profile", "mine", Self.now, at: Self.now) == Self.ahead + .microseconds(1))
        #expect(creation("profile", "mine", Self.ahead, at: Self.ahead) == Self.ahead + .microseconds(1))
        #expect(creation("profile", "yours", Self.now, at: Self.now) == Self.now)
        #expect(creation("default", "mine", Self.now, at: Self.now) == Self.now)
        // The clocks agree: the file written earlier is older.
        #expect(creation("profile", "mine", Self.now, at: Self.ahead + .microseconds(1)) == Self.now)
        clock.forget(before: Self.ahead)
        #expect(creation("profile", "mine", Self.now, at: Self.now) == Self.ahead + .microseconds(1))
        clock.forget(before: Self.ahead + .microseconds(1))
        #expect(creation("profile", "mine", Self.now, at: Self.now) == Self.now)
    }
}
