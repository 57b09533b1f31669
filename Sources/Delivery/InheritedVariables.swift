/// Which variables of this process its children get: what is there for any program, and nothing that somebody put there
/// for another one, such as a credential.
package struct InheritedVariables: Sendable {
    private let names: Set<String>
    /// What such names begin with.
    private let beginnings: [String]

    /// For programs that the configuration names: who and where they are, language and time, the network.
    ///
    /// - Parameter passed: the names that the configuration adds.
    package static func forCommands(passing passed: [String] = []) -> InheritedVariables {
        InheritedVariables(names: forAll.union(ofUsers).union(passed), beginnings: ["LC_"])
    }

    /// For delivery agents: the same but for who and where they are, and what libcurl, its TLS library, the resolver, the
    /// dynamic linker and what is put under a process to test it (coverage, sanitizers, another clock) read.
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
