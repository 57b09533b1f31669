import Delivery
import Foundation
import Policy
import Testing

/// A tree of kernel files that a test lays out.
private final class Machine {
    let place: SecretPlace
    var root: String { place.path }

    /// `interfaces` by name, with operstate and carrier.
    init(ipv4: [String]? = nil, ipv6: [String]? = nil, interfaces: [String: (String, String)] = [:]) throws {
        place = try SecretPlace()
        let headings = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
        try ipv4.map { try write("proc/net/route", ([headings] + $0).joined(separator: "\n") + "\n") }
        try ipv6.map { try write("proc/net/ipv6_route", $0.map { $0 + "\n" }.joined()) }
        for (name, (state, carrier)) in interfaces {
            try write("sys/class/net/\(name)/operstate", state + "\n")
            try write("sys/class/net/\(name)/carrier", carrier + "\n")
        }
    }

    func write(_ path: String, _ content: String) throws {
        let file = URL(filePath: root).appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(content.utf8).write(to: file)
    }

    func supply(_ name: String, _ files: [String: String]) throws {
        for (file, content) in files { try write("sys/class/power_supply/\(name)/\(file)", content + "\n") }
    }

    func surroundings(_ conditions: Conditions, nmcli: String = "/nonexistent/nmcli", limit: Duration = .seconds(60))
        -> Surroundings
    {
        Surroundings.read(
            for: conditions, environment: ProgramEnvironment(of: ProcessInfo.processInfo.environment), root: root,
            nmcli: nmcli,
            limit: limit)
    }

    var isOnline: Bool { surroundings(Conditions(network: .online)).isOnline }
    var isOnBattery: Bool { surroundings(Conditions(power: .mains)).isOnBattery }
}

private func route(
    _ interface: String, to destination: String = "00000000", flags: String = "0003", metric: Int = 100,
    mask: String = "00000000"
) -> String {
    "\(interface)\t\(destination)\t010200C0\t\(flags)\t0\t0\t\(metric)\t\(mask)\t0\t0\t0   "
}

private let rejectsAll = "\(zeros) 00 \(zeros) 00 \(zeros) ffffffff 00000001 00000000 00200200       lo"
private let zeros = String(repeating: "0", count: 32)

struct `The surroundings of a run` {
    // MARK: - Online

    @Test(arguments: [
        ([route("eth0")], true),
        ([route("eth0", flags: "0001")], true),
        ([route("eth0", to: "000200C0", flags: "0001", mask: "00FFFFFF")], false),
        ([route("eth0", to: "00000000", mask: "00000080")], false),
        ([route("eth0", flags: "0203")], false),
        ([route("*", flags: "0200")], false),
        ([route("lo")], false),
        ([route("down0")], false),
        ([route("down0"), route("eth0", metric: 600)], true),
        ([route("dormant0")], false),
        ([route("tun0")], true),
        ([route("tun1")], false),
        ([], false),
        (["eth0", "", "x\ty"], false),
    ])
    func `a default route over an interface that is up is a network`(routes: [String], isOnline: Bool)
        throws
    {
        let machine = try Machine(
            ipv4: routes, ipv6: [rejectsAll],
            interfaces: [
                "eth0": ("up", "1"), "lo": ("unknown", "1"), "down0": ("down", "0"), "dormant0": ("dormant", "1"),
                "tun0": ("unknown", "1"), "tun1": ("unknown", "0"),
            ])
        #expect(machine.isOnline == isOnline)
    }

    @Test(arguments: [
        ("\(zeros) 00 \(zeros) 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003     eth0", true),
        ("\(zeros) 00 \(zeros) 00 \(zeros) 00000400 00000002 00000000 00000001     eth0", true),
        ("\(zeros) 00 \(zeros) 00 \(zeros) 00000400 00000002 00000000 00000201     eth0", false),
        ("\(zeros) 80 \(zeros) 00 \(zeros) 00000000 00000002 00000000 00000001     eth0", false),
        (
            "fd000000000000000000000000000000 40 \(zeros) 00 \(zeros) 00000100 00000001 00000000 00000001     eth0",
            false
        ),
        (rejectsAll, false),
        ("\(zeros) 00 \(zeros) 00 \(zeros) 00000400 00000002 00000000 00000001       lo", false),
    ])
    func `a default route of IPv6 alone is a network`(line: String, isOnline: Bool) throws {
        let machine = try Machine(ipv4: [], ipv6: [line], interfaces: ["eth0": ("up", "1"), "lo": ("unknown", "1")])
        #expect(machine.isOnline == isOnline)
    }

    @Test func `a network is assumed if the kernel's files are missing`() throws {
        #expect(try Machine().isOnline)
        #expect(try Machine(ipv4: [route("eth0")]).isOnline)
        #expect(try !Machine(ipv4: []).isOnline)
    }

    @Test func `surroundings that no condition needs are not read`() throws {
        let machine = try Machine(ipv4: [])
        try machine.supply("BAT0", ["type": "Battery", "status": "Discharging"])
        #expect(machine.surroundings(Conditions()) == Surroundings())
        #expect(machine.surroundings(Conditions(power: .mains)) == Surroundings(isOnBattery: true))
        #expect(machine.surroundings(Conditions(network: .online)) == Surroundings(isOnline: false))
    }

    @Test func `two readings of this machine agree`() {
        let conditions = Conditions(network: .unmetered, power: .mains)
        let environment = ProgramEnvironment(of: ProcessInfo.processInfo.environment)
        let surroundings = Surroundings.read(for: conditions, environment: environment)
        // The state is unknown, but a second reading gives the same.
        #expect(surroundings == Surroundings.read(for: conditions, environment: environment))
    }

    // MARK: - Metered

    private func metered(
        _ answer: String, status: Int = 0, routes: [String] = [route("wlan0"), route("eth0", metric: 600)]
    ) throws -> Bool? {
        let interfaces = ["wlan0": ("up", "1"), "eth0": ("up", "1"), "tun0": ("unknown", "1")]
        let machine = try Machine(ipv4: routes, interfaces: interfaces)
        let nmcli = try script(
            """
            [ "$LC_ALL $*" = "C -t -f GENERAL.DEVICE,GENERAL.METERED device show" ] || exit 2
            cat << END
            \(answer)
            END
            exit \(status)
            """)
        return machine.surroundings(Conditions(network: .unmetered), nmcli: nmcli).isMetered
    }

    @Test func `nmcli gets the environment of started programs, without secrets`() throws {
        let machine = try Machine(ipv4: [route("eth0")], interfaces: ["eth0": ("up", "1")])
        let nmcli = try script(
            "[ -n \"$PATH\" ] && [ -z \"$TOKEN$OTHER\" ] && echo GENERAL.DEVICE:eth0 && echo GENERAL.METERED:yes")
        let environment = ProgramEnvironment(
            of: ["PATH": "/usr/bin:/bin", "TOKEN": "t", "OTHER": "o"], passing: ["TOKEN"],
            without: [.environment("TOKEN")])
        let surroundings = Surroundings.read(
            for: Conditions(network: .unmetered), environment: environment, root: machine.root, nmcli: nmcli,
            limit: .seconds(60))
        #expect(surroundings.isMetered == true)
    }

    private func devices(_ answers: KeyValuePairs<String, String>) -> String {
        answers.map { "GENERAL.DEVICE:\($0)\nGENERAL.METERED:\($1)\n" }.joined(separator: "\n")
    }

    @Test(arguments: [
        ("yes", true), ("yes (guessed)", true), ("no", false), ("no (guessed)", false), ("unknown", nil), ("", nil),
    ])
    func `NetworkManager knows whether the network is metered`(word: String, isMetered: Bool?) throws {
        #expect(try metered(devices(["wlan0": word])) == isMetered)
    }

    @Test func `the interface of the preferred default route counts`() throws {
        #expect(try metered(devices(["eth0": "no", "wlan0": "yes (guessed)", "lo": "unknown"])) == true)
        #expect(try metered(devices(["eth0": "yes", "wlan0": "no (guessed)"])) == false)
        #expect(try metered(devices(["eth0": "yes", "wlan0": "unknown"])) == true)
    }

    @Test func `every network counts under a tunnel unknown to NetworkManager`() throws {
        #expect(try metered(devices(["wlan0": "no", "eth0": "yes"]), routes: [route("tun0")]) == true)
        #expect(try metered(devices(["wlan0": "no", "eth0": "no"]), routes: [route("tun0")]) == false)
    }

    @Test func `metering is unknown without NetworkManager`() throws {
        #expect(try metered("Error: NetworkManager is not running.", status: 8) == nil)
        #expect(try metered(devices(["wlan0": "yes"]), status: 1) == nil)
        #expect(try metered("nonsense\n:\nGENERAL.METERED:yesterday") == nil)
        let machine = try Machine(ipv4: [route("eth0")], interfaces: ["eth0": ("up", "1")])
        #expect(machine.surroundings(Conditions(network: .unmetered)) == Surroundings(isMetered: nil))
    }

    @Test func `a hanging nmcli is ended at its time limit`() throws {
        let machine = try Machine(ipv4: [route("eth0")], interfaces: ["eth0": ("up", "1")])
        let start = ContinuousClock.now
        let surroundings = machine.surroundings(
            Conditions(network: .unmetered), nmcli: try script("sleep 1000"), limit: .milliseconds(100))
        #expect(surroundings == Surroundings(isMetered: nil))
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    // MARK: - Power

    @Test(
        arguments: [
            ([:], false),
            (["BAT0": ["type": "Battery", "status": "Discharging"]], true),
            (["BAT0": ["type": "Battery", "status": "Discharging", "scope": "System"]], true),
            (["BAT0": ["type": "Battery", "status": "Not charging"]], false),
            (["BAT0": ["type": "Battery", "status": "Charging"]], false),
            (["BAT0": ["type": "Battery", "status": "Unknown"]], false),
            (["BAT0": ["type": "Battery", "status": "Full"], "AC": ["type": "Mains", "online": "1"]], false),
            (["BAT0": ["type": "Battery", "status": "Discharging"], "AC": ["type": "Mains", "online": "0"]], true),
            (["BAT0": ["type": "Battery", "status": "Discharging"], "AC": ["type": "Mains", "online": "1"]], false),
            (["BAT0": ["type": "Battery", "status": "Discharging"], "ucsi": ["type": "USB", "online": "1"]], false),
            (
                [
                    "BAT0": ["type": "Battery", "status": "Full"],
                    "BAT1": ["type": "Battery", "status": "Discharging"],
                ], true
            ),
            (["mouse": ["type": "Battery", "status": "Discharging", "scope": "Device"]], false),
            (["AC": ["type": "Mains", "online": "0"]], false),
            (["strange": [:]], false),
        ] as [([String: [String: String]], Bool)])
    func `a machine is on battery if its own battery discharges and no supply is online`(
        supplies: [String: [String: String]], isOnBattery: Bool
    ) throws {
        let machine = try Machine()
        for (name, files) in supplies { try machine.supply(name, files) }
        #expect(machine.isOnBattery == isOnBattery)
    }
}

struct `The network of this machine` {
    private func state(_ machine: Machine) -> NetworkState { NetworkState.read(root: machine.root) }

    @Test(arguments: [
        ([route("eth0")], true, true),
        ([route("eth0", to: "000200C0", flags: "0001", mask: "00FFFFFF")], true, false),
        ([route("eth0", to: "0000FEA9", flags: "0001", mask: "0000FFFF")], false, false),
        ([route("down0"), route("lo")], false, false),
        ([], false, false),
    ])
    func `a subnet route counts, and a link-local route does not`(routes: [String], any: Bool, byDefault: Bool)
        throws
    {
        let machine = try Machine(
            ipv4: routes,
            ipv6: [
                "fe800000000000000000000000000000 40 \(zeros) 00 \(zeros) 00000100 00000001 00000000 00000001     eth0",
                "febf0000000000000000000000000000 40 \(zeros) 00 \(zeros) 00000100 00000001 00000000 00000001     eth0",
            ],
            interfaces: ["eth0": ("up", "1"), "down0": ("down", "0"), "lo": ("unknown", "1")])
        #expect(state(machine).hasRoute == any && state(machine).hasDefaultRoute == byDefault)
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("search example.com\n", false), ("# nameserver 192.0.2.1\n", false),
            ("options edns0\nnameserver 127.0.0.53\n", true), ("nameserver\t2001:db8::1", true),
        ] as [(String?, Bool)])
    func `a resolver exists if resolv.conf names a name server`(content: String?, isThere: Bool) throws {
        let machine = try Machine()
        try content.map { try machine.write("etc/resolv.conf", $0) }
        #if os(Linux)
            #expect(state(machine).hasResolver == isThere)
        #endif
    }
}
