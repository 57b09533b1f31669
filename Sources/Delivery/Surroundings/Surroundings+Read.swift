package import Policy

extension Surroundings {
    /// What the machine is like now, as far as the conditions ask; the rest is as it is where nobody asks.
    ///
    /// The network and the battery are told by the kernel's files, whether the network is metered by NetworkManager,
    /// through `nmcli`, where both are there; it has two seconds. What cannot be found out stops nothing. On systems
    /// other than Linux, which have no such files, a run is always online and on mains power.
    ///
    /// - Parameters:
    ///   - environment: for nmcli.
    ///   - root: where /sys and /proc are, nmcli what is run, limit the time that it has; for tests.
    package static func read(
        for conditions: Conditions, environment: [String: String], root: String = "", nmcli: String = "nmcli",
        limit: Duration = .seconds(2)
    ) -> Surroundings {
        var surroundings = Surroundings()
        if conditions.network != .any {
            let routes = DefaultRoutes(root: root)
            surroundings.isOnline = routes.areThere
            if conditions.network == .unmetered, surroundings.isOnline {
                surroundings.isMetered = isMetered(
                    through: routes.interfaces, nmcli, environment: environment, within: limit)
            }
        }
        if conditions.power != .any { surroundings.isOnBattery = isOnBattery(root: root) }
        return surroundings
    }

    // MARK: - Metered

    /// The answer of NetworkManager for the interface that the first default route goes through; where that one is none of
    /// its own, such as a tunnel, for any that it knows about.
    private static func isMetered(
        through interfaces: [String], _ nmcli: String, environment: [String: String], within limit: Duration
    ) -> Bool? {
        // Terse, with names of fields, and in English: since NetworkManager 1.2.
        let command = ExternalCommand(
            [nmcli, "-t", "-f", "GENERAL.DEVICE,GENERAL.METERED", "device", "show"], directory: "/",
            environment: environment.merging(["LC_ALL": "C"]) { $1 })
        // It fails where NetworkManager does not run.
        let ended = command.run(within: limit)
        guard ended.failure == nil else { return nil }
        var answers: [String: Bool] = [:]
        var device = ""
        for line in String(decoding: ended.output, as: UTF8.self).split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = String(line[line.index(after: colon)...])
            switch (line[..<colon], value.split(separator: " ").first) {
            case ("GENERAL.DEVICE", _): device = value
            // `yes`, `no`, `yes (guessed)`, `no (guessed)`, `unknown`.
            case ("GENERAL.METERED", "yes"): answers[device] = true
            case ("GENERAL.METERED", "no"): answers[device] = false
            default: break
            }
        }
        if let answer = interfaces.lazy.compactMap({ answers[$0] }).first { return answer }
        return answers.isEmpty ? nil : answers.values.contains(true)
    }

    // MARK: - Power

    /// A battery of the machine discharges, and no supply that is connected feeds it. Batteries of mice and keyboards do
    /// not count.
    private static func isOnBattery(root: String) -> Bool {
        let directory = "\(root)/sys/class/power_supply"
        let supplies = KernelFile.names(in: directory).map { "\(directory)/\($0)" }
        var isDischarging = false
        for supply in supplies {
            switch KernelFile.word("\(supply)/type") {
            case "Battery":
                let isMachines = KernelFile.word("\(supply)/scope") != "Device"
                if isMachines, KernelFile.word("\(supply)/status") == "Discharging" { isDischarging = true }
            default:
                if KernelFile.word("\(supply)/online") == "1" { return false }
            }
        }
        return isDischarging
    }
}
