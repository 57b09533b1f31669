import Delivery
import Policy
import Spool

/// How a run leaves what it has claimed, and what it has settled.
extension Run {
    /// What is in flight when the grace time is up: its outcome is unknown, so it waits for the next run, uncharged.
    func cutOff(_ flights: [Flight], _ round: inout Round, _ claims: SpoolRun) {
        if flights.isEmpty { return }
        tally.summary.wasCutOff = Interruption.received.count > 1
        sink?.close()
        for flight in flights {
            let report = SealedReport(
                AttemptReport(
                    result: .failure(.cancelled, detail: "cut off by the end of the run"),
                    duration: max(.zero, world.now() - flight.began)), flight.redaction)
            tally.summary.cutOff += flight.members.count
            let verdict = Classification.verdict(on: report, route: flight.route, now: world.now())
            settle(Withheld(flight: flight, report: report, verdict: verdict), &round, claims)
        }
        flush(claims)
    }

    /// What the run has claimed and not settled when it has to stop, or when the destination has closed: back where it was.
    func putBackLeftovers(_ round: inout Round, _ claims: SpoolRun) {
        var members = Array(round.claimed.values)
        round.begun -= members.count
        round.claimed = [:]
        for lane in book.lanes.values {
            members += lane.withheld.flatMap(\.flight.members)
            for case .claimed(let flight) in lane.urgent { members += flight.members }
            lane.forgetWork()
        }
        for member in members {
            do throws(SpoolError) {
                _ = try claims.settle(member.claim, .putBack, record: nil, now: world.now())
            } catch {
                setAside.insert(member.claim.name.id)
                tally.inputOutput(error)
            }
        }
        flush(claims)
    }

    /// Makes durable what has been settled; false where the directory does not do what it must.
    @discardableResult
    func flush(_ claims: SpoolRun) -> Bool {
        do throws(SpoolError) {
            try makeDurable(claims)
            return true
        } catch {
            tally.broken(error)
            return false
        }
    }

    func makeDurable(_ claims: SpoolRun) throws(SpoolError) {
        let start = ContinuousClock.now
        let before = tally.summary.timeSpent.begin(.syncing, now: start)
        defer {
            let end = ContinuousClock.now
            tally.summary.timeSpent.begin(before, now: end)
            flushPace.flushed(from: start, to: end)
        }
        try claims.flush()
    }
}
