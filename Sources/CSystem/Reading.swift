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
