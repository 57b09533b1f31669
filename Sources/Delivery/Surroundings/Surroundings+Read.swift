package import Policy

extension Surroundings {
    /// Reads the state of the machine that the conditions ask for; the other values keep their defaults.
    ///
    /// Network and battery come from the kernel's files. Whether the network is metered comes from NetworkManager
    /// through `nmcli`, which has two seconds. An unknown value stops no run. On systems other than Linux, which have
    /// no such files, a run is always online and on mains power.
    ///
    /// - Parameters:
    ///   - environment: the environment of nmcli.
    ///   - root: the directory of /sys and /proc, for tests.
    ///   - nmcli: the program to run, for tests.
    ///   - limit: the time for nmcli, for tests.
    package static func read(
        for conditions: Conditions, environment: ProgramEnvironment, root: String = "", nmcli: String = "nmcli",
        limit: Duration = .seconds(2)
    ) -> Surroundings {
        var surroundings = Surroundings()
        if conditions.network != .any {
            let routes = DefaultRoutes(root: root)
            surroundings.isOnline = routes.hasDefault
            if conditions.network == .unmetered, surroundings.isOnline {
                surroundings.isMetered = isMetered(
                    through: routes.interfaces, nmcli, environment: environment, within: limit)
            }
        }
        if conditions.power != .any { surroundings.isOnBattery = isOnBattery(root: root) }
        return surroundings
    }

    // MARK: - Metered

    /// Returns NetworkManager's answer for the first interface known to it. If it knows none of them, such as a tunnel,
    /// returns whether any known interface is metered; `nil` without an answer.
    private static func isMetered(
        through interfaces: [String], _ nmcli: String, environment: ProgramEnvironment, within limit: Duration
    ) -> Bool? {
        // Terse, with field names, and in English: since NetworkManager 1.2.
        let command = ExternalCommand(
            [nmcli, "-t", "-f", "GENERAL.DEVICE,GENERAL.METERED", "device", "show"], directory: "/",
            environment: environment.adding(["LC_ALL": "C"]))
        // nmcli fails if NetworkManager does not run.
        let ended = command.run(within: limit)
        guard ended.failure == nil else { return nil }
        var answers: [String: Bool] = [:]
        var device = ""
        for line in String(decoding: ended.output, as: UTF8.self).pieces(at: "\n") {
            let name = line.upTo(":")
            let value = String(line[name.endIndex...].afterFirstByte)
            switch (name, value.upTo(" ")) {
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

    /// Returns whether a battery of the machine discharges and no connected supply feeds it. Ignores batteries of mice
    /// and keyboards.
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
