import CSystem
package import Policy

extension NetworkState {
    /// Reads the network of this machine: interfaces by getifaddrs(3), routes and name servers from the files of kernel
    /// and resolver, as this process sees them. If getifaddrs fails, an interface counts as present; if the kernel
    /// shows no table of routes, so do the routes. Without a readable resolv.conf(5), Linux has no resolver; other
    /// systems always have one.
    ///
    /// - Parameter root: the directory of /proc, /sys and /etc, for tests. Interfaces are always those of this machine.
    package static func read(root: String = "") -> NetworkState {
        let routes = DefaultRoutes(root: root)
        return NetworkState(
            hasInterface: hasInterface, hasRoute: routes.hasAny, hasDefaultRoute: routes.hasDefault,
            hasResolver: hasResolver(root: root))
    }

    /// Whether an interface is up with an address beyond loopback and link-local (169.254.0.0/16, fe80::/10).
    private static var hasInterface: Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        let wanted = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            let flags = UInt32(entry.ifa_flags)
            guard flags & wanted == wanted, flags & UInt32(IFF_LOOPBACK) == 0, let address = entry.ifa_addr else {
                continue
            }
            if isRoutable(address) { return true }
        }
        return false
    }

    private static func isRoutable(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 16 != 0xA9FE
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { $0[0] != 0xFE || $0[1] & 0xC0 != 0x80 }
            }
        default: false
        }
    }

    /// Returns whether resolv.conf(5) names a server. The resolver's default, this machine itself, does not count.
    private static func hasResolver(root: String) -> Bool {
        #if os(Linux)
            let lines = (KernelFile.text("\(root)/etc/resolv.conf") ?? "").pieces(at: "\n")
            return lines.contains { line in
                line.utf8.split { " \t".utf8.contains($0) }.first?.elementsEqual("nameserver".utf8) ?? false
            }
        #else
            return true
        #endif
    }
}
