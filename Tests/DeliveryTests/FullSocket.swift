import CSystem

/// A listening socket with a full queue that accepts nothing: the next connection is never established.
final class FullSocket {
    let port: UInt16
    private var descriptors: [Int32] = []

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, length)
                _ = listen(listener, 0)
                _ = getsockname(listener, address, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        descriptors = [listener]
        for _ in 0..<4 {
            let client = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: address) { place in
                place.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(client, $0, length) }
            }
            descriptors.append(client)
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
