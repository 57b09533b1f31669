import Policy

/// The routes from this machine to others, as Linux shows them in /proc and /sys.
struct DefaultRoutes {
    /// Whether there is any route over an interface that is up, except loopback, link-local and multicast routes;
    /// `true` if the kernel shows no table.
    let hasAny: Bool
    /// Whether there is a default route over an interface that is up; `true` if the kernel shows no table.
    let hasDefault: Bool
    /// The interfaces of the default routes, the preferred route's first.
    let interfaces: [String]

    init(root: String) {
        let tables = [
            KernelFile.text("\(root)/proc/net/route").map(Self.inIPv4),
            KernelFile.text("\(root)/proc/net/ipv6_route").map(Self.inIPv6),
        ].compactMap { $0 }
        let routes = tables.joined().filter { Self.isUp($0.interface, root: root) }
        hasAny = tables.isEmpty || !routes.isEmpty
        interfaces = routes.filter(\.isDefault).sorted { $0.metric < $1.metric }.map(\.interface)
        hasDefault = tables.isEmpty || !interfaces.isEmpty
    }

    private typealias Route = (interface: String, metric: UInt32, isDefault: Bool)

    /// Reads lines of: interface, destination, gateway, flags, reference count, use, metric, mask, …; addresses and
    /// flags in hexadecimal, below a line of headings.
    private static func inIPv4(_ table: String) -> [Route] {
        table.pieces(at: "\n").dropFirst().compactMap { line in
            let fields = line.utf8.split { "\t ".utf8.contains($0) }.map { Substring($0) }
            // Addresses are in the machine's byte order: 169.254.0.0 ends in FEA9.
            guard fields.count >= 8, isUsable(fields[3]), !fields[1].ends(with: "FEA9") else { return nil }
            let isDefault = fields[1] == "00000000" && fields[7] == "00000000"
            return (String(fields[0]), UInt32(fields[6]) ?? 0, isDefault)
        }
    }

    /// Reads lines of: destination, its prefix length, source, its prefix length, next hop, metric, reference count,
    /// use, flags, interface; all but the last in hexadecimal.
    private static func inIPv6(_ table: String) -> [Route] {
        table.pieces(at: "\n").compactMap { line in
            let fields = line.pieces(at: " ").filter { !$0.isEmpty }
            guard fields.count >= 10, isUsable(fields[8]), !isLinkLocal(fields[0]), !fields[0].begins(with: "ff")
            else {
                return nil
            }
            let isDefault = fields[0].allSatisfy { $0 == "0" } && fields[1] == "00"
            return (String(fields[9]), UInt32(fields[5], radix: 16) ?? 0, isDefault)
        }
    }

    /// Returns whether a destination is in fe80::/10 (RFC 4291 §2.4).
    private static func isLinkLocal(_ destination: Substring) -> Bool {
        ["fe8", "fe9", "fea", "feb"].contains(destination.prefix(3))
    }

    /// Returns whether the flags have RTF_UP and not RTF_REJECT, which marks a destination as unreachable.
    private static func isUsable(_ flags: Substring) -> Bool {
        guard let bits = UInt32(flags, radix: 16) else { return false }
        return bits & 0x0001 != 0 && bits & 0x0200 == 0
    }

    /// Returns whether an interface is up. Tunnels and some drivers do not know their state: for them the carrier
    /// decides, which can only be read while the interface is configured up.
    private static func isUp(_ interface: String, root: String) -> Bool {
        if interface == "lo" { return false }
        let place = "\(root)/sys/class/net/\(interface)"
        switch KernelFile.word("\(place)/operstate") {
        case "up", nil: return true
        case "unknown": return KernelFile.word("\(place)/carrier") != "0"
        default: return false
        }
    }
}
