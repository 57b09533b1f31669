import Spool

@testable import Policy

/// Admission of dated operations with generated ids, for tests in which the origin of operations does not matter.
extension SpoolDirectory {
    func accept(
        _ operations: [Operation], limits: Limits, durable: Bool = true, givenIDs: [OperationID] = [],
        allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        var control = AdmissionControl(limits)
        return try accept(
            operations, within: &control, durable: durable, givenIDs: givenIDs, allOrNone: allOrNone)
    }

    func accept(
        _ operations: [Operation], within control: inout AdmissionControl, durable: Bool = true,
        givenIDs: [OperationID] = [], allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        let submissions = operations.map {
            Submission(
                $0, hasOwnID: givenIDs.contains($0.header.id), at: $0.header.createdAt, isDated: true)
        }
        return try accept(submissions, within: &control, durable: durable, allOrNone: allOrNone)
    }

    func accept(
        _ operation: Operation, as name: EntryName, limits: Limits, hasOwnID: Bool
    ) throws(SpoolError) -> Accepted {
        var control = AdmissionControl(limits)
        let submission = Submission(
            operation, as: name, hasOwnID: hasOwnID, at: operation.header.createdAt, isDated: true)
        return try accept([submission], within: &control)
    }

    /// Returns whether the item was in quarantine.
    func retry(_ item: QuarantineItem, now: Timestamp, notBefore: Timestamp? = nil) throws(SpoolError) -> Bool {
        var control = AdmissionControl(Limits())
        var result = Readmission.gone
        _ = try readmit([item], within: &control, now: now, notBefore: { _ in notBefore }) { _, found, _ in
            result = found
        }
        return result != .gone
    }

    func readmit(
        _ items: [QuarantineItem], _ configuration: Configuration = Configuration(), now: Timestamp,
        isDryRun: Bool = false
    ) throws(SpoolError) -> (results: [Readmission], accepted: Accepted) {
        var control = AdmissionControl(configuration)
        var results: [Readmission] = []
        let accepted = try readmit(items, within: &control, now: now, isDryRun: isDryRun) { _, result, _ in
            results.append(result)
        }
        return (results, accepted)
    }
}

extension AdmissionControl {
    init(_ limits: Limits) {
        self.init(Configuration(limits: limits))
    }
}

extension SpoolRun {
    func admitForeign(
        now: Timestamp, limits: Limits, bodyFileRoots: [String] = []
    ) throws(SpoolError) -> Admission {
        var control = AdmissionControl(Configuration(bodyFileRoots: bodyFileRoots, limits: limits))
        return try admitForeign(now: now, within: &control)
    }
}
