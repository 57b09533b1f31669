#if canImport(Glibc)
    @preconcurrency import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The variables of this process, as it was started with them. ProcessInfo has them too, for a tenth of the time in which
/// drainq begins.
package enum OwnEnvironment {
    /// A variable that is there twice counts once, as getenv(3) finds it.
    package static func read() -> [String: String] {
        Dictionary(variables().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    static func variables() -> [(name: String, value: String)] {
        var variables: [(name: String, value: String)] = []
        #if canImport(Darwin)
            var place = _NSGetEnviron().pointee!
        #else
            var place = environ
        #endif
        while let text = place.pointee {
            let variable = String(cString: text)
            if let end = variable.utf8.firstIndex(of: UInt8(ascii: "=")) {
                variables.append((String(variable[..<end]), String(variable[variable.utf8.index(after: end)...])))
            }
            place += 1
        }
        return variables
    }
}
