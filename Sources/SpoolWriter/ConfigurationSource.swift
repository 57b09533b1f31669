internal import Configuration
internal import Policy
internal import Spool

/// The file that a queue's configuration is read from, again and again.
struct ConfigurationSource {
    private let file: String
    /// A queue without a file of its own has the defaults.
    private let isOptional: Bool
    /// What the file had when it was read last; `nil` before.
    private var last: [UInt8]?

    /// - Parameter file: `nil` is the queue's own.
    init(_ file: String?, ofQueue queue: String) {
        self.file = file ?? "\(queue)/drainq.json"
        isOptional = file == nil
    }

    /// Returns the configuration if its file is not as it was at the last call; else `nil`. Throws what is wrong with it,
    /// then and at each call until it is mended.
    mutating func readIfChanged() throws(WriteError) -> Policy.Configuration? {
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try contents(of: file, upTo: ConfigurationFile.maximumBytes + 1)
        } catch {
            guard isOptional, error == .missing else { throw WriteError(reading: file, error) }
            bytes = Array("{}".utf8)
        }
        if bytes == last { return nil }
        do throws(ConfigurationErrors) {
            let configuration = try ConfigurationFile.read(bytes, name: file, directory: absoluteDirectory(of: file))
            last = bytes
            return configuration
        } catch {
            throw WriteError(error)
        }
    }
}
