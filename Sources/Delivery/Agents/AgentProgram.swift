import CSystem
package import Policy

/// The program of a delivery agent.
package struct AgentProgram: Hashable, Sendable {
    /// The program's path; only its name if this process could not find its own path.
    package var executable: String
    /// All arguments, beginning with the program's name.
    package var arguments: [String]

    /// Returns the program of a transport's agents.
    ///
    /// For libcurl, the running binary itself, even if another has been installed over it since (only /proc knows). For
    /// URLSession, a separate program: in `bin/../libexec/drainq`, where packages put it, or beside this one.
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
            guard let slash = Installation.program.utf8.lastIndex(of: UInt8(ascii: "/")) else {
                return AgentProgram(executable: name, arguments: [name])
            }
            let directory = Installation.program[...slash]
            let packaged = "\(directory)../libexec/drainq/\(name)"
            let program = AgentProgram(executable: packaged, arguments: [name])
            return program.isInstalled ? program : AgentProgram(executable: "\(directory)\(name)", arguments: [name])
        }
    }

    /// Whether the program exists and is executable.
    private var isInstalled: Bool { executable.contains("/") && access(executable.rawCString, X_OK) == 0 }

    /// Whether the program can make attempts. On Linux Foundation ends a program that cannot find its path in /proc.
    package var canRun: Bool {
        #if os(Linux)
            isInstalled && access("/proc/self/exe", F_OK) == 0
        #else
            isInstalled
        #endif
    }
}
