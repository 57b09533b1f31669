/// The JSON that a value of the configuration may be, as far as JSON Schema can express it.
///
/// A shape may admit what the reader refuses, never the reverse: an editor must not mark a valid value.
package indirect enum ConfigurationShape: Sendable {
    case any
    case null
    case boolean
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    /// Text in which the ECMA 262 expression matches somewhere.
    case text(pattern: String? = nil)
    case words([String])
    case list(ConfigurationShape, atLeast: Int)
    /// An object with these members and no others.
    case object([Member])
    /// An object whose names are the user's.
    case map(ConfigurationShape)
    case oneOf([ConfigurationShape])

    /// A key of a table. Dots in its path stand for objects within objects.
    package struct Member: Sendable {
        package var entry: ConfigurationEntry
        package var shape: ConfigurationShape
    }

    /// The shape of the whole file.
    package static var file: ConfigurationShape { .object(of: ConfigurationKeys.file) }

    static func object<Draft>(of keys: [ConfigurationKey<Draft>]) -> ConfigurationShape {
        .object(keys.map { Member(entry: $0.entry, shape: $0.shape()) })
    }
}
