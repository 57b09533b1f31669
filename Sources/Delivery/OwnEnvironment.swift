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
        var own: [String: String] = [:]
        for variable in variables() where own[variable.name] == nil { own[variable.name] = variable.value }
        return own
    }

    static func variables() -> [(name: String, value: String)] {
        var variables: [(name: String, value: String)] = []
        #if canImport(Darwin)
            var place = _NSGetEnviron().pointee!
        #else
            var place = environ
        #endif
        while let text = place.pointee {
            if let end = strchr(text, Int32(UInt8(ascii: "="))) {
                let name = UnsafeRawBufferPointer(start: text, count: end - text)
                variables.append((String(decoding: name, as: UTF8.self), String(cString: end + 1)))
            }
            place += 1
        }
        return variables
    }
}
