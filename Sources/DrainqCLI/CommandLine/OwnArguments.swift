import CSystem
import Policy

/// Returns the arguments of this process without its name, as bytes that `String(raw:)` keeps.
package func ownArguments() -> [String] {
    guard var place = csystem_arguments() else { return Array(CommandLine.arguments.dropFirst()) }
    var arguments: [String] = []
    while let text = place.pointee {
        arguments.append(String(raw: UnsafeRawBufferPointer(start: text, count: strlen(text))))
        place += 1
    }
    return Array(arguments.dropFirst())
}
