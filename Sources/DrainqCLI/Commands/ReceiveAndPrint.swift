import CSystem
import LoopbackReceiver

/// `drainq receive`: the receiver by itself.
func receive(_ command: ParsedCommand) throws(CommandFailure) -> ExitStatus {
    let receiver = ReceiveCommand(
        port: UInt16(command.count(.port) ?? 0), answers: command.texts(.answer), count: command.count(.count),
        maxTime: command.duration(.maxTime), json: command.flag(.json), bodies: command.flag(.bodies),
        urlFile: command.text(.urlFile))
    do throws(ReceiveCommand.Failure) {
        _ = try receiver.run(
            output: {
                standardOutput.line($0)
                standardOutput.flush()
            },
            notice: { if Terminal.isOnStandardError, !command.flag(.quiet) { Messages.notice($0) } })
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
