import Foundation

/// A queue of an old format, read from `Fixtures/format-N.txt`; `record-format-N.py` beside the fixture documents the
/// text.
struct RecordedQueue {
    struct Item {
        var isDirectory: Bool
        var mode: Int
        /// The time of the last change; only for a file.
        var changed = Date.distantPast
        var path: String
        var bytes: [UInt8] = []
    }

    var items: [Item] = []

    init(format: Int) throws {
        let text = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "Fixtures/format-\(format).txt"), encoding: .utf8)
        for line in text.split(separator: "\n") {
            if line.first == "|" || line.first == ">" {
                items[items.count - 1].bytes += Self.bytes(line.dropFirst()) + (line.first == "|" ? [10] : [])
                continue
            }
            let words = line.split(separator: " ", maxSplits: line.hasPrefix("file") ? 3 : 2).map(String.init)
            var item = Item(isDirectory: words[0] == "directory", mode: Int(words[1], radix: 8)!, path: words.last!)
            if !item.isDirectory { item.changed = try Date(words[2], strategy: .iso8601) }
            items.append(item)
        }
    }

    /// `\xNN` is a byte.
    private static func bytes(_ text: Substring) -> [UInt8] {
        let parts = text.components(separatedBy: "\\x")
        return parts.dropFirst().reduce(Array(parts[0].utf8)) {
            $0 + [UInt8($1.prefix(2), radix: 16)!] + $1.dropFirst(2).utf8
        }
    }

    /// The files of operations, by id.
    var operations: [String: Item] {
        let files = items.filter { $0.path.contains("/2026") && $0.path.hasSuffix(".json") }
        let ids = files.map { $0.path.split(separator: "/").last!.dropFirst(24).prefix { $0 != "," && $0 != "." } }
        return Dictionary(uniqueKeysWithValues: zip(ids.map(String.init), files))
    }

    /// Writes the queue to the disk.
    func write(to queue: URL) throws {
        let files = FileManager.default
        try files.createDirectory(at: queue, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for item in items {
            let path = queue.appending(path: item.path).path
            if item.isDirectory {
                try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            } else {
                try Data(item.bytes).write(to: URL(filePath: path))
                try files.setAttributes([.modificationDate: item.changed], ofItemAtPath: path)
            }
            try files.setAttributes([.posixPermissions: item.mode], ofItemAtPath: path)
        }
    }
}
