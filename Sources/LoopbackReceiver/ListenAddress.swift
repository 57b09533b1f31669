import CSystem

/// The address of a receiver, always on this machine.
package enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// 127.0.0.1. Port 0 takes a free port.
    case loopback(port: UInt16)
    /// `[::1]`. Port 0 takes a free port.
    case loopbackIPv6(port: UInt16)
    /// A socket in the file system, which must not exist yet; at most 107 bytes. It stays after the receiver has
    /// stopped: only `Spool` unlinks, and the owner of the directory removes it.
    case unix(path: String)

    /// `http://127.0.0.1:8080`, or the path of a unix socket.
    package var description: String {
        switch self {
        case .loopback(let port): "http://127.0.0.1:\(port)"
        case .loopbackIPv6(let port): "http://[::1]:\(port)"
        case .unix(let path): path
        }
    }

    func with(port: UInt16) -> ListenAddress {
        switch self {
        case .loopback: .loopback(port: port)
        case .loopbackIPv6: .loopbackIPv6(port: port)
        case .unix: self
        }
    }

    var family: Int32 {
        switch self {
        case .loopback: AF_INET
        case .loopbackIPv6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    func withSocketAddress(_ use: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
        func pass<Address>(_ address: Address) -> Bool {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    use($0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
        switch self {
        case .loopback(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            return pass(address)
        case .loopbackIPv6(let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return pass(address)
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
                if path.utf8.count >= room.count { return false }
                room.copyBytes(from: path.utf8)
                return true
            }
            if !fits {
                errno = ENAMETOOLONG
                return false
            }
            return pass(address)
        }
    }
}
