import CSystem
import LoopbackReceiver

/// Performs `drainq receive`.
func receive(_ arguments: ReceiveArguments) throws(CommandFailure) -> ExitStatus {
    let receiver = ReceiveCommand(
        port: UInt16(arguments.port), answers: arguments.answers, count: arguments.count, maxTime: arguments.maxTime,
        json: arguments.isJSON, bodies: arguments.printsOnlyBodies, urlFile: arguments.urlFile)
    do throws(ReceiveCommand.Failure) {
        _ = try receiver.run(
            output: {
                standardOutput.line($0)
                standardOutput.flush()
            },
            notice: { if Terminal.isOnStandardError, !arguments.verbosity.isQuiet { Messages.notice($0) } })
        return .ok
    } catch {
        switch error {
        case .answer: throw CommandFailure(.usage, error.description, hint: "drainq help receive")
        case .listening(let cause):
            throw CommandFailure(cause.code == EACCES ? .permission : .inputOutput, error.description)
        case .urlFile(_, let code):
            throw CommandFailure(code == EACCES ? .permission : .inputOutput, error.description)
        }
    }
}
