/// The ways out of this machine, as Linux tells them in /proc and /sys.
struct DefaultRoutes {
    /// Whether there is one, over an interface that is up; `true` where the kernel does not tell.
    let areThere: Bool
    /// Those interfaces, that of the preferred route first.
    let interfaces: [String]

    init(root: String) {
        let tables = [
            KernelFile.text("\(root)/proc/net/route").map(Self.inIPv4),
            KernelFile.text("\(root)/proc/net/ipv6_route").map(Self.inIPv6),
        ].compactMap { $0 }
        interfaces = tables.joined().sorted { $0.metric < $1.metric }.map(\.interface)
            .filter { Self.isUp($0, root: root) }
        areThere = tables.isEmpty || !interfaces.isEmpty
    }

    private typealias Route = (interface: String, metric: UInt32)

    /// Lines of: interface, destination, gateway, flags, reference count, use, metric, mask, …; addresses and flags in
    /// hexadecimal, under a line of headings.
    private static func inIPv4(_ table: String) -> [Route] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split { $0 == "\t" || $0 == " " }
            guard fields.count >= 8, fields[1] == "00000000", fields[7] == "00000000", isUsable(fields[3]) else {
                return nil
            }
            return (String(fields[0]), UInt32(fields[6]) ?? 0)
        }
    }

    /// Lines of: destination, its prefix length, source, its prefix length, next hop, metric, reference count, use,
    /// flags, interface; all but the last in hexadecimal.
    private static func inIPv6(_ table: String) -> [Route] {
        table.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count >= 10, fields[0].allSatisfy({ $0 == "0" }), fields[1] == "00", isUsable(fields[8]) else {
                return nil
            }
            return (String(fields[9]), UInt32(fields[5], radix: 16) ?? 0)
        }
    }

    /// RTF_UP without RTF_REJECT, which are routes that say that there is none.
    private static func isUsable(_ flags: Substring) -> Bool {
        guard let bits = UInt32(flags, radix: 16) else { return false }
        return bits & 0x0001 != 0 && bits & 0x0200 == 0
    }

    /// Tunnels and some drivers do not know their state: for them the carrier decides, which can only be read while the
    /// interface is set up.
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
