package import Configuration
package import Spool

/// Why a command ends without doing its work: what standard error says, and the exit status.
package struct CommandFailure: Error, Hashable, Sendable {
    package var status: ExitStatus
    /// Each with its hint, in order.
    package var messages: [Message]

    package struct Message: Hashable, Sendable {
        package var text: String
        package var hint: String?
    }

    package init(_ status: ExitStatus, _ text: String, hint: String? = nil) {
        self.status = status
        messages = [Message(text: text, hint: hint)]
    }

    /// `hasBegun`: a part of the work has been done, and no status may say that nothing was attempted.
    package init(_ error: SpoolError, hasBegun: Bool = false) {
        let status: ExitStatus =
            switch error.kind {
            case .noSuchQueue, .notAQueue: .noQueue
            case .permission: hasBegun ? .inputOutput : .permission
            case .untrusted: .permission
            case .newerFormat: .configuration
            case .io, .notTheFile, .full, .notRemovedAfterDelivery, .lostHold: .inputOutput
            }
        self.init(status, error.description, hint: error.hint)
    }

    /// What was answered before is safe; whoever gave the input has to know where the rest of it begins.
    package init(_ error: SpoolError, hasBegun: Bool, verb: String, from line: Int, of source: String) {
        self.init(error, hasBegun: hasBegun)
        messages[0].text = "cannot \(verb) line \(line) of '\(source)' and what follows: \(error)"
    }

    package init(_ error: UsageError) {
        self.init(.usage, error.message, hint: error.hint)
    }

    package init(_ errors: ConfigurationErrors) {
        status = .configuration
        messages = errors.errors.map { Message(text: $0.description, hint: $0.hint) }
        if errors.omitted > 0 { messages.append(Message(text: "and \(errors.omitted) more", hint: nil)) }
    }
}

/// Runs the work and turns what the other rooms throw into what a command says.
func failing<Result>(_ work: () throws -> Result) throws(CommandFailure) -> Result {
    do {
        return try work()
    } catch let error as SpoolError {
        throw CommandFailure(error)
    } catch let error as CommandFailure {
        throw error
    } catch let error as UsageError {
        throw CommandFailure(error)
    } catch let error as ConfigurationErrors {
        throw CommandFailure(error)
    } catch {
        throw CommandFailure(.internalError, "\(error)")
    }
}
