import CSystem
import Policy

/// A program named by the configuration, run to its end by its argument vector, never through a shell.
package struct ExternalCommand: Sendable {
    /// The program and its arguments. A program without a slash is looked up in this process' `PATH`.
    package var arguments: [String]
    /// The child's working directory: the configuration's, so that relative paths mean the same throughout.
    package var directory: String
    package var environment: ProgramEnvironment

    package init(_ arguments: [String], directory: String, environment: ProgramEnvironment) {
        self.arguments = arguments
        self.directory = directory
        self.environment = environment
    }

    /// Runs the program and waits for its end. Returns every kind of end as a result; throws and prints nothing.
    ///
    /// The child has three pipes and no other descriptor, default signal actions, and a process group of its own, so
    /// Ctrl-C reaches only the caller. After `timeout` the whole group gets SIGTERM and, half a second later, SIGKILL.
    /// If the program ends by itself, a process that it leaves behind, such as a key agent, goes on, and `run` does not
    /// wait for it even if it has inherited the pipes.
    ///
    /// - Parameters:
    ///   - input: the program's standard input, which the program need not read.
    ///   - outputLimit: the number of kept bytes of standard output; the rest is read and dropped.
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
        /// The time was over, and the program was told to end.
        case timedOut(after: Duration)
        case notStarted(errno: Int32)
        /// The program ended, and its exit status is lost.
        case unknown
    }

    package var ending: Ending
    /// Standard output, up to the limit.
    package var output: [UInt8] = []
    /// Whether there was more output than the limit.
    package var isCut = false
    /// The beginning of standard error. It may contain a secret: no reason of a secret or a signature may quote it.
    package var errors: [UInt8] = []

    /// The number of kept bytes of standard error.
    package static let errorLimit = 4096

    /// The status by which a program that gives credentials says that they are bad (`EX_NOPERM`).
    private static let badCredentials: Int32 = 77

    /// Whether a failure may end by itself: the program was started, or this machine lacked something to start it, and
    /// the program does not say that the credentials are bad.
    var isPassing: Bool {
        switch ending {
        case .exited(let status): status != 0 && status != Self.badCredentials
        case .notStarted(let errno): NetworkError.shortage(behind: Errno(errno)) != nil
        case .killed, .timedOut, .unknown: true
        }
    }

    /// The failure, without any of the program's output: `exited with status 3`; `nil` if the program exited with 0.
    package var failure: String? {
        switch ending {
        case .exited(0): nil
        case .exited(let status): "exited with status \(status)"
        case .killed(let signal): "was killed by signal \(signal) (\(String(cString: strsignal(signal))))"
        case .timedOut(let duration): "did not end within \(duration.quantity)"
        case .notStarted(let errno): "cannot be started: \(Errno(errno))"
        case .unknown: "ended without an exit status"
        }
    }
}

/// Shows no output of a program, which may be a secret.
extension ExternalCommandResult: Confidential {
    package var description: String { "\(failure ?? "succeeded"), \(output.count) bytes of output" }
}
