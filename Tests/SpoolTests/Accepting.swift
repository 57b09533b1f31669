import Policy
import Spool

/// The one admission, for tests that have nothing to say of where operations come from: dated, and their ids nobody's.
extension SpoolDirectory {
    func accept(
        _ operations: [Operation], limits: Limits, durable: Bool = true, givenIDs: [OperationID] = [],
        allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        var admittance = Admittance(limits)
        return try accept(
            operations, within: &admittance, durable: durable, givenIDs: givenIDs, allOrNone: allOrNone)
    }

    func accept(
        _ operations: [Operation], within admittance: inout Admittance, durable: Bool = true,
        givenIDs: [OperationID] = [], allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        let submissions = operations.map {
            Submission(
                $0, hasOwnID: givenIDs.contains($0.header.id), at: $0.header.createdAt, isDated: true)
        }
        return try accept(submissions, within: &admittance, durable: durable, allOrNone: allOrNone)
    }

    func accept(
        _ operation: Operation, as name: EntryName, limits: Limits, hasOwnID: Bool
    ) throws(SpoolError) -> Accepted {
        var admittance = Admittance(limits)
        let submission = Submission(
            operation, as: name, hasOwnID: hasOwnID, at: operation.header.createdAt, isDated: true)
        return try accept([submission], within: &admittance)
    }

    /// True if it was there.
    func retry(_ item: QuarantineItem, now: Timestamp, notBefore: Timestamp? = nil) throws(SpoolError) -> Bool {
        var admittance = Admittance(Limits())
        return try readmit(item, within: &admittance, now: now, notBefore: notBefore) != .gone
    }
}

extension Admittance {
    init(_ limits: Limits) {
        self.init(Configuration(limits: limits))
    }
}

extension SpoolRun {
    func admitForeign(
        now: Timestamp, limits: Limits, bodyFileRoots: [String] = []
    ) throws(SpoolError) -> Admission {
        var admittance = Admittance(Configuration(bodyFileRoots: bodyFileRoots, limits: limits))
        return try admitForeign(now: now, within: &admittance)
    }
}
