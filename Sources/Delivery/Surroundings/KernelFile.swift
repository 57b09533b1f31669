import CSystem
import Policy

/// Reads the small text files in /sys and /proc.
enum KernelFile {
    /// Returns the first line of a file; `nil` if the file cannot be read.
    static func word(_ path: String) -> String? {
        text(path).map { String($0.upTo("\n")) }
    }

    static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return (try? contents(of: descriptor, upTo: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the sorted names in a directory, without those that begin with a dot; none if the directory is missing.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.begins(with: ".") { names.append(name) }
        }
        return names.sorted()
    }
}
