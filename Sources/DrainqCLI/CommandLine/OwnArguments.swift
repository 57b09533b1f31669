import CSystem
import Policy

/// Returns the arguments of this process, without its name: bytes, kept by `String(raw:)`.
package func ownArguments() -> [String] {
    guard var place = csystem_arguments() else { return Array(CommandLine.arguments.dropFirst()) }
    var arguments: [String] = []
    while let text = place.pointee {
        arguments.append(String(raw: UnsafeRawBufferPointer(start: text, count: strlen(text))))
        place += 1
    }
    return Array(arguments.dropFirst())
}
