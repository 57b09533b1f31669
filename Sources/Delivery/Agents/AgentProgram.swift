import CSystem
package import Policy

/// The program that is started as a delivery agent.
package struct AgentProgram: Hashable, Sendable {
    /// Its path; a name alone where this program could not find out where it is.
    package var executable: String
    /// From the name of the program on.
    package var arguments: [String]

    package init(executable: String, arguments: [String]) {
        self.executable = executable
        self.arguments = arguments
    }

    /// The program whose agents make attempts by a transport.
    ///
    /// libcurl's is the running binary itself, even if another has been installed over it meanwhile (which only /proc knows).
    /// URLSession's is a
    /// program of its own, beside this one or where packages put it: `bin/../libexec/drainq`.
    package static func own(for transport: Transport) -> AgentProgram {
        switch transport {
        case .libcurl:
            #if os(Linux)
                let running = "/proc/self/exe"
                let executable = access(running, X_OK) == 0 ? running : Installation.program
            #else
                let executable = Installation.program
            #endif
            return AgentProgram(executable: executable, arguments: ["drainq", "agent"])
        case .urlsession:
            let name = "drainq-urlsession"
            guard let slash = Installation.program.lastIndex(of: "/") else {
                return AgentProgram(executable: name, arguments: [name])
            }
            let directory = Installation.program[...slash]
            let packaged = "\(directory)../libexec/drainq/\(name)"
            let program = AgentProgram(executable: packaged, arguments: [name])
            return program.isInstalled ? program : AgentProgram(executable: "\(directory)\(name)", arguments: [name])
        }
    }

    /// Whether it is there.
    private var isInstalled: Bool { executable.contains("/") && access(executable.rawCString, X_OK) == 0 }

    /// Whether it can make attempts. On Linux Foundation ends a program that cannot find out where it is, which it asks /proc.
    package var canRun: Bool {
        #if os(Linux)
            isInstalled && access("/proc/self/exe", F_OK) == 0
        #else
            isInstalled
        #endif
    }
}
