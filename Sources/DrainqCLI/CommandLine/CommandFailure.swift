package import Configuration
package import Spool

/// The reason why a command ends without doing its work: the messages on standard error, and the exit status.
package struct CommandFailure: Error, Hashable, Sendable {
    package var status: ExitStatus
    /// The messages in order, each with its hint.
    package var messages: [Message]

    package struct Message: Hashable, Sendable {
        package var text: String
        package var hint: String?
    }

    package init(_ status: ExitStatus, _ text: String, hint: String? = nil) {
        self.status = status
        messages = [Message(text: text, hint: hint)]
    }

    /// Makes a failure of an error. With `hasBegun` the status is `inputOutput`: others say that nothing was attempted.
    package init(_ error: SpoolError, hasBegun: Bool = false) {
        self.init(hasBegun ? .inputOutput : ExitStatus(of: error), error.description, hint: error.hint)
    }

    /// Makes a failure that names the line where the remaining input begins. Operations answered before it are safe.
    package init(_ error: SpoolError, hasBegun: Bool, verb: String, from line: Int, of source: String) {
        self.init(error, hasBegun: hasBegun)
        messages[0].text = "cannot \(verb) line \(line) of '\(source)' and the lines after it: \(error)"
    }

    package init(_ error: UsageError) { self.init(.usage, error.message, hint: error.hint) }

    package init(_ errors: ConfigurationErrors) {
        status = .configuration
        messages = errors.errors.map { Message(text: $0.description, hint: $0.hint) }
        if errors.omitted > 0 { messages.append(Message(text: "and \(errors.omitted) more", hint: nil)) }
    }
}

extension ExitStatus {
    /// Makes the status of a command that an error ends before it has begun.
    fileprivate init(of error: SpoolError) {
        self =
            switch error.kind {
            case .noSuchQueue, .notAQueue: .noInput
            case .permission, .untrusted: .permission
            case .newerFormat: .configuration
            case .io, .notTheFile, .damaged, .lostLedger, .notRemovedAfterDelivery, .lostLock: .inputOutput
            }
    }
}

/// Does the work, and turns errors of the other rooms into a `CommandFailure`.
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
