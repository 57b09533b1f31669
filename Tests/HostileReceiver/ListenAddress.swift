import CSystem
package import LoopbackReceiver

/// The address of a receiver, always on this machine.
package enum ListenAddress: Hashable, Sendable {
    /// 127.0.0.1, with a port that is free.
    case loopback
    /// `[::1]`, with a port that is free.
    case loopbackIPv6
    /// A socket in the file system, which must not exist yet; at most 107 bytes. It stays after the receiver has stopped.
    case unix(path: String)
}

extension LoopbackReceiver {
    package convenience init(at address: ListenAddress, script: Script = .always(.status(204))) throws(ReceiverError) {
        let responder = Responder(script: script)
        switch address {
        case .loopback: try self.init(script: script)
        case .loopbackIPv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            try self.init(at: address, of: AF_INET6, responder: responder) { "http://[::1]:\($0 ?? 0)" }
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { room in
                precondition(path.utf8.count < room.count, "the path of a socket is too long")
                room.copyBytes(from: path.utf8)
            }
            try self.init(at: address, of: AF_UNIX, responder: responder) { _ in path }
        }
    }
}
