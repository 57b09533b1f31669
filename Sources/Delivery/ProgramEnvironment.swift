/// The environment variables that a child process inherits: those that any program may need, and no variable that was
/// set for another program, such as a credential.
package struct InheritedVariables: Sendable {
    private let names: Set<String>
    /// Prefixes of further names.
    private let beginnings: [String]

    /// Returns the variables of programs that the configuration names: user, directories, language, time and network.
    ///
    /// - Parameter passed: the names that `passEnvironment` adds.
    package static func forCommands(passing passed: [String] = []) -> InheritedVariables {
        InheritedVariables(names: forAll.union(ofUsers).union(passed), beginnings: ["LC_"])
    }

    /// The variables of delivery agents: no user and no directories, but those that libcurl, its TLS library, the
    /// resolver, the dynamic linker and test tools (coverage, sanitizers, another clock) read.
    static let forAgents = InheritedVariables(
        names: forAll.union(ofAgents), beginnings: ["LC_", "LD_", "DYLD_", "FAKETIME"])

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

    func contains(_ name: some StringProtocol) -> Bool {
        names.contains(String(name)) || beginnings.contains { name.hasPrefix($0) }
    }
}
