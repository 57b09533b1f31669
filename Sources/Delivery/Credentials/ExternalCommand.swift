import CSystem
import Policy

/// A program that the configuration names: run to its end by its argument vector, never through a shell.
package struct ExternalCommand: Sendable {
    /// The program, looked for in this process' `PATH` unless there is a slash in it, and its arguments.
    package var arguments: [String]
    /// The child's working directory: that of the configuration, so that relative paths mean one thing in all of it.
    package var directory: String
    /// All variables that the child gets.
    package var environment: [String: String]

    package init(_ arguments: [String], directory: String, environment: [String: String]) {
        self.arguments = arguments
        self.directory = directory
        self.environment = environment
    }

    /// Runs the program and waits for it. However it ends is a result; nothing is thrown, and nothing is printed.
    ///
    /// The child has three pipes, no other descriptor, all signals as they were born, and a process group of its own,
    /// so that Ctrl-C is the caller's to answer. When `timeout` is over, the whole group is asked to end and, half a
    /// second later, killed. What the program leaves behind when it ends by itself, such as a key agent, goes on and
    /// not waited for, even where it has inherited the pipes.
    ///
    /// - Parameters:
    ///   - input: its standard input; it need not read it.
    ///   - outputLimit: how many bytes of its standard output are kept; the rest is read and forgotten.
    package func run(
        input: [UInt8] = [], within timeout: Duration, outputLimit: Int = 1 << 20
    ) -> ExternalCommandResult {
        do throws(Errno) {
            let child = try ExternalChild.start(self, input: input, outputLimit: outputLimit)
            return child.waitForEnd(within: timeout)
        } catch {
            return ExternalCommandResult(ending: .notStarted(errno: error.code))
        }
    }
}

/// How a program ended, and what it wrote.
package struct ExternalCommandResult: Sendable {
    package enum Ending: Hashable, Sendable {
        case exited(status: Int32)
        case killed(signal: Int32)
        /// It was made to end.
        case timedOut(after: Duration)
        case notStarted(errno: Int32)
    }

    package var ending: Ending
    /// Standard output, as far as it is kept.
    package var output: [UInt8] = []
    /// There was more output than is kept.
    package var isCut = false
    /// The beginning of standard error. A program may well write a secret there: it belongs into no reason of a secret
    /// or a signature.
    package var errors: [UInt8] = []

    /// How much of standard error is kept, in bytes.
    package static let errorLimit = 4096

    /// What went wrong, with nothing that the program wrote: `exited with status 3`; `nil` if it exited with 0.
    package var failure: String? {
        switch ending {
        case .exited(0): nil
        case .exited(let status): "exited with status \(status)"
        case .killed(let signal): "was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
        case .timedOut(let duration): "did not end within \(duration.quantity)"
        case .notStarted(let errno): "cannot be started: \(Errno(errno))"
        }
    }
}

/// What a program has written may be a secret.
extension ExternalCommandResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(failure ?? "succeeded"), \(output.count) bytes of output" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
