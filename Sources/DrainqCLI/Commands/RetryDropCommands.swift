import Drain
import Policy
import Spool

/// Performs `drainq retry`: makes operations due again, with the attempt count at 0, at once or one after the other at
/// a rate. A file that comes back from quarantine may evict operations (`dropOldest`), which is reported.
func retry(_ arguments: RetryArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    var change = OperationChange(verb: "retry", states: [.failed, .deferred], objection: objectionToMoving) {
        queue, entry, times throws(SpoolError) in
        try queue.spool.retry(entry, now: times.now, notBefore: times.due) != nil
    }
    change.endsParking = true
    change.onQuarantined = { queue, items, isDryRun, due, report in
        var control = AdmissionControl(queue.configuration)
        let accepted = try queue.spool.readmit(
            items, within: &control, now: .now(), isDryRun: isDryRun, notBefore: due
        ) { item, result, due in
            switch result {
            case .refused(let reason): report(item, .refused(reason))
            case .gone: report(item, .gone)
            case .admitted: report(item, .done(due: due))
            }
        }
        _ = reportEvicted(accepted)
    }
    change.spacing = arguments.rate?.interval
    return try change.perform(arguments.action, environment)
}

/// Performs `drainq drop`: removes operations for good.
func drop(_ arguments: DropArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    var change = OperationChange(verb: "drop", states: [.new, .deferred, .held, .failed], objection: objectionToMoving)
    {
        queue, entry, _ throws(SpoolError) in try queue.spool.drop(entry)
    }
    change.onQuarantined = { queue, items, isDryRun, _, report in
        for item in items { report(item, try isDryRun || queue.spool.drop(item) ? .done(due: nil) : .gone) }
    }
    change.includesFollowers = arguments.includesFollowers
    return try change.perform(arguments.action, environment)
}

private func objectionToMoving(_ entry: Entry) -> String? {
    entry.state == .claimed || entry.state == .delivered ? "it is \(entry.state.word)" : nil
}
