import CSystem

/// The descriptors of a process. A new descriptor gets the lowest free number, from 3.
final class Descriptors {
    private var files: [OpenFile?] = []
    private static let first = 3

    func file(_ descriptor: Int32) throws(Errno) -> OpenFile {
        let index = Int(descriptor) - Self.first
        guard files.indices.contains(index), let file = files[index] else { throw Errno(EBADF) }
        return file
    }

    /// Throws EMFILE if the process has `limit` descriptors.
    func checkRoom(limit: Int) throws(Errno) {
        if files.count >= limit, !files.contains(where: { $0 == nil }) { throw Errno(EMFILE) }
    }

    func insert(_ file: OpenFile) -> Int32 {
        if let free = files.firstIndex(where: { $0 == nil }) {
            files[free] = file
            return Int32(free + Self.first)
        }
        files.append(file)
        return Int32(files.count - 1 + Self.first)
    }

    func remove(_ descriptor: Int32) throws(Errno) -> OpenFile {
        let file = try file(descriptor)
        files[Int(descriptor) - Self.first] = nil
        return file
    }

    func removeAll() -> [OpenFile] {
        defer { files = [] }
        return files.compactMap { $0 }
    }
}
