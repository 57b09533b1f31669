package import Policy

/// A configuration whose file may change while a program goes on. The one answer to whether the file has changed: runs
/// that stay, `add`, `import` and SpoolWriter ask it with the bytes of the file as it is now.
package struct FollowedConfiguration: Sendable {
    /// The configuration in force.
    package private(set) var configuration: Configuration
    private let file: String
    private let directory: String
    /// The bytes of `configuration`; `nil` stands for a queue without a file.
    private var bytes: [UInt8]?

    /// Reads the bytes of `file`, whose relative paths start at `directory`. Without bytes it has the defaults.
    package init(_ bytes: [UInt8]?, of file: String, directory: String) throws(ConfigurationErrors) {
        configuration = try Self.read(bytes, file, directory)
        (self.bytes, self.file, self.directory) = (bytes, file, directory)
    }

    /// Takes over the bytes that the file has now. Returns whether they differ from those in force. Throws the errors
    /// in the bytes, at each call until the file is mended; the configuration before stays in force.
    package mutating func follow(_ bytes: [UInt8]?) throws(ConfigurationErrors) -> Bool {
        if bytes == self.bytes { return false }
        configuration = try Self.read(bytes, file, directory)
        self.bytes = bytes
        return true
    }

    private static func read(
        _ bytes: [UInt8]?, _ file: String, _ directory: String
    ) throws(ConfigurationErrors) -> Configuration {
        guard let bytes else { return Configuration() }
        var configuration = try ConfigurationFile.read(bytes, name: file, directory: directory)
        configuration.digest = Digest(hashing: bytes)
        return configuration
    }
}
