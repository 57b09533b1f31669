package import CSystem
import Policy

/// Returns the first `limit` bytes of a file, a pipe or a device.
package func contents(of path: String, upTo limit: Int) throws(Errno) -> [UInt8] {
    var descriptor: Int32
    repeat { descriptor = open(path.rawCString, O_RDONLY | O_CLOEXEC) } while descriptor < 0 && errno == EINTR
    if descriptor < 0 { throw Errno(errno) }
    defer { close(descriptor) }
    return try contents(of: descriptor, upTo: limit)
}

/// Returns the next `limit` bytes of an open file, a pipe or a socket; fewer at its end.
package func contents(of descriptor: Int32, upTo limit: Int) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit {
        let more = try someBytes(of: descriptor, atMost: min(limit - bytes.count, 16_384))
        if more.isEmpty { break }
        bytes += more
    }
    return bytes
}

/// Returns the next bytes, at least one; none at the end. Repeats read(2) after a signal (EINTR).
package func someBytes(of descriptor: Int32, atMost count: Int) throws(Errno) -> [UInt8] {
    while true {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            result = read(descriptor, buffer.baseAddress, count)
            initialized = max(0, result)
        }
        if result >= 0 { return bytes }
        if errno != EINTR { throw Errno(errno) }
    }
}

/// Returns the path from the root, without symbolic links; the path itself if nothing is there.
package func absolutePath(_ path: String) -> String {
    guard let real = realpath(path.rawCString, nil) else { return path }
    defer { free(real) }
    return String(raw: UnsafeRawBufferPointer(start: real, count: strlen(real)))
}

/// Returns the absolute path of the directory that relative paths in a file start from.
package func absoluteDirectory(of file: String) -> String {
    guard let slash = file.utf8.lastIndex(of: UInt8(ascii: "/")) else { return absolutePath(".") }
    if slash == file.startIndex { return "/" }
    return file.utf8.first == UInt8(ascii: "/") ? String(file[..<slash]) : "\(absolutePath("."))/\(file[..<slash])"
}
