import Drain
import Policy
import Testing

@testable import DrainqCLI
@testable import Spool

struct AddReportTests {
    static let rows: [(kind: SpoolError.Kind, hasAdded: Bool, status: DrainqCLI.ExitStatus)] = [
        (.permission, false, .permission), (.permission, true, .inputOutput), (.io, false, .inputOutput),
    ]

    @Test(arguments: rows)
    func `the loss of a refused value has the status of the error, if no operation was added before`(
        kind: SpoolError.Kind, hasAdded: Bool, status: DrainqCLI.ExitStatus
    ) {
        for verb in ["add", "import"] {
            let report = AddReport(verb: verb, isJSON: false)
            if hasAdded { report.take(.added(Accepted(results: []))) }
            let error = SpoolError(kind: kind, verb: "write", path: "tmp/x", code: 13)
            report.take(
                .refused(GivenValue.Place(source: "-", line: 1), reason: "no JSON", keptAs: nil, lostBy: error))
            #expect(report.applying == [.dataInvalid, status])
        }
    }

    @Test func `with --atomic a full queue is told as the reason that no operation was added`() throws {
        let report = AddReport(verb: "add", isJSON: false)
        try report.requireAll()
        let header = OperationHeader(id: OperationID("a")!, type: .default, createdAt: .now())
        let submission = Submission(
            Operation(header: header, body: []), hasOwnID: false, at: .now(), isDated: false)
        let place = GivenValue.Place(source: "-", line: 1)
        report.take(.answered(submission, .rejected(.operations(3)), place, replaces: false))
        #expect(throws: CommandFailure.self) { try report.requireAll() }
        #expect(report.applying == [.inputOutput])
    }
}
