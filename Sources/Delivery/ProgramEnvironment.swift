package import Policy

/// The environment of a program started by drainq: the variables that any program may need, and no variable set for
/// another program, such as a credential. No program starts with another environment.
package struct ProgramEnvironment: Hashable, Sendable {
    private var values: [String: String]

    /// Creates the environment of a program that the configuration names, or that reads the state of the machine: this
    /// process's variables of user, directories, language, time and network, without secrets. A program that needs a
    /// variable which is also a secret must read the secret from elsewhere.
    ///
    /// - Parameters:
    ///   - process: the variables of this process.
    ///   - passed: the names added by `passEnvironment`.
    ///   - secrets: the sources of the configuration's secrets.
    package init(
        of process: [String: String] = [:], passing passed: [String] = [], without secrets: [SecretSource] = []
    ) {
        values = process.filter { name, _ in Self.isForAll(name) || Self.ofUsers.contains(name) || passed.contains(name)
        }
        for case .environment(let name) in secrets { values[name] = nil }
    }

    private init(values: [String: String]) { self.values = values }

    /// The environment of delivery agents: no user and no directories, but the variables that libcurl, its TLS library,
    /// the resolver, the dynamic linker and test tools (coverage, sanitizers, another clock) read. The backtracer is
    /// off, because it would inherit locks and hang.
    static func forAgents(of process: [String: String]) -> ProgramEnvironment {
        let inherited = process.filter { name, _ in
            isForAll(name) || ofAgents.contains(name)
                || ["LD_", "DYLD_", "FAKETIME"].contains { name.utf8.starts(with: $0.utf8) }
        }
        return ProgramEnvironment(values: inherited).adding(["SWIFT_BACKTRACE": "enable=no"])
    }

    /// Returns the environment with variables made by drainq for this program. They replace variables of the same name.
    package func adding(_ variables: [String: String]) -> ProgramEnvironment {
        ProgramEnvironment(values: values.merging(variables) { $1 })
    }

    /// `NAME=value`, in the order of the names.
    var variables: [String] { values.map { "\($0.key)=\($0.value)" }.sorted() }

    /// Returns `NAME=value` for those of the names that are set, in the order of the names.
    func variables(named names: [String]) -> [String] {
        Set(names).sorted().compactMap { name in values[name].map { "\(name)=\($0)" } }
    }

    private static func isForAll(_ name: String) -> Bool { forAll.contains(name) || name.utf8.starts(with: "LC_".utf8) }

    private static let forAll: Set<String> = [
        "PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "HTTPS_PROXY",
        "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    ]
    private static let ofUsers: Set<String> = [
        "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]
    private static let ofAgents: Set<String> = [
        "OPENSSL_CONF", "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "LLVM_PROFILE_FILE", "ASAN_OPTIONS",
        "TSAN_OPTIONS", "UBSAN_OPTIONS",
    ]
}

/// Shows only the names: variables may be credentials, such as a proxy's password.
extension ProgramEnvironment: Confidential {
    package var description: String { "ProgramEnvironment(\(values.keys.sorted().joined(separator: ", ")))" }
}
