import CSystem
import Policy

/// The environment variables with which this process was started. ProcessInfo has them too, but takes a tenth of
/// drainq's start time.
package enum OwnEnvironment {
    /// Returns the variables by name. Of two variables with one name, the first counts, as in getenv(3).
    package static func read() -> [String: String] {
        var own: [String: String] = [:]
        for variable in variables() where own[variable.name] == nil { own[variable.name] = variable.value }
        return own
    }

    static func variables() -> [(name: String, value: String)] {
        var variables: [(name: String, value: String)] = []
        guard var place = csystem_environment() else { return [] }
        while let text = place.pointee {
            if let end = strchr(text, Int32(UInt8(ascii: "="))) {
                let name = UnsafeRawBufferPointer(start: text, count: end - text)
                let value = UnsafeRawBufferPointer(start: end + 1, count: strlen(end + 1))
                variables.append((String(raw: name), String(raw: value)))
            }
            place += 1
        }
        return variables
    }
}
