import CSystem

/// The small text files in /sys and /proc.
enum KernelFile {
    /// The content without the line break at its end; `nil` where there is none to be read.
    static func word(_ path: String) -> String? {
        text(path).map { String($0.prefix { $0 != "\n" }) }
    }

    static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return (try? bytes(of: descriptor, limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The names in a directory, sorted; none where it is not there.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
