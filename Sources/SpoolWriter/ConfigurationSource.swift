import CSystem
internal import Configuration
internal import Policy
internal import Spool

/// The configuration file of a queue, which is read again when it changes.
struct ConfigurationSource {
    private let file: String
    private let queue: String
    /// Whether a missing file stands for the defaults: true for the queue's own.
    private let isOptional: Bool
    private let contents: (_ file: String, _ limit: Int) throws(Errno) -> [UInt8]
    /// What the file said last; `nil` before the first read.
    private var followed: FollowedConfiguration?

    /// - Parameter file: the configuration file; `nil` is the queue's own.
    init(_ file: String?, ofQueue queue: String, in surroundings: WriterSurroundings) {
        self.file = file ?? "\(queue)/drainq.json"
        isOptional = file == nil
        self.queue = queue
        contents = surroundings.contents
    }

    /// Returns the configuration if its file has changed since the last call; otherwise `nil`. Throws the error in the
    /// file, at each call until it is repaired.
    mutating func readIfChanged() throws(WriteError) -> Policy.Configuration? {
        let bytes = try bytes()
        do throws(ConfigurationErrors) {
            guard var known = followed else {
                let read = try FollowedConfiguration(bytes, of: file, directory: absoluteDirectory(of: file))
                followed = read
                return read.configuration
            }
            if try !known.follow(bytes) { return nil }
            followed = known
            return known.configuration
        } catch {
            throw WriteError(error)
        }
    }

    /// Returns the bytes of the file; `nil` if the queue has none.
    private func bytes() throws(WriteError) -> [UInt8]? {
        do throws(Errno) {
            return try contents(file, ConfigurationFile.maximumBytes + 1)
        } catch {
            // A symbolic link to nothing is a configuration that is missing, and not a queue without one.
            var status = stat()
            guard isOptional, error == .missing, lstat(file.rawCString, &status) != 0,
                !SpoolDirectory.hasHadConfiguration(at: queue)
            else { throw WriteError(reading: file, error) }
            return nil
        }
    }
}
