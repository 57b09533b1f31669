import CSystem
package import Policy

/// What is started to be a delivery agent.
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
                let executable = access(running, X_OK) == 0 ? running : ownPath
            #else
                let executable = ownPath
            #endif
            return AgentProgram(executable: executable, arguments: ["drainq", "agent"])
        case .urlsession:
            let name = "drainq-urlsession"
            guard let slash = ownPath.lastIndex(of: "/") else {
                return AgentProgram(executable: name, arguments: [name])
            }
            let directory = ownPath[...slash]
            let packaged = "\(directory)../libexec/drainq/\(name)"
            let program = AgentProgram(executable: packaged, arguments: [name])
            return program.isInstalled ? program : AgentProgram(executable: "\(directory)\(name)", arguments: [name])
        }
    }

    /// Whether it can be started.
    package var isInstalled: Bool { executable.contains("/") && access(executable.rawCString, X_OK) == 0 }

    /// Where the running binary is, or was; empty where that cannot be found out.
    private static let ownPath: String = {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        #if os(Linux)
            if readlink("/proc/self/exe", &path, path.count - 1) < 0, let started = csystem_executable() {
                // Without /proc it is where it was started from.
                _ = realpath(started, &path)
            }
        #else
            var size = UInt32(path.count)
            _NSGetExecutablePath(&path, &size)
        #endif
        return String(raw: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
    }()
}
