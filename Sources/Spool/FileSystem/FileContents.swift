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
