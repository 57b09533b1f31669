import CSystem
package import Policy

/// Returns the arguments of this process without its name.
package func ownArguments() -> [RawText] {
    guard var place = csystem_arguments() else { return CommandLine.arguments.dropFirst().map { RawText($0) } }
    var arguments: [RawText] = []
    while let text = place.pointee {
        arguments.append(RawText(UnsafeRawBufferPointer(start: text, count: strlen(text))))
        place += 1
    }
    return Array(arguments.dropFirst())
}
