/// How the processes of a history take turns.
package struct SchedulePlan: Hashable, Sendable {
    package enum Style: Hashable, Sendable {
        /// The process with the highest priority continues; at each change point the present process gets the lowest
        /// priority (PCT, Burckhardt et al. 2010: few change points find most coincidences of few processes).
        case priorities
        /// Another process continues: with the first probability at calls that tell or change shared names and locks,
        /// with the second probability at other calls.
        case random(often: Double, seldom: Double)
        /// A process continues until the process waits.
        case turns

        /// The name of the style in a table.
        package var words: String {
            switch self {
            case .priorities: "priority"
            case .random: "chance"
            case .turns: "until wait"
            }
        }
    }

    package var style = Style.priorities
    /// The numbers of system calls at which the present process gets the lowest priority.
    package var changePoints: [Int] = []
    /// Whether change points count only the calls that tell or change shared names and locks.
    package var countsTelling = false
    package var seed: UInt64 = 0
    /// The typical duration of a system call.
    package var pace: Duration = .microseconds(30)
    /// The typical duration of a sync.
    package var syncPace: Duration = .milliseconds(1)
    /// The number of system calls after which a history is broken off, because a process does not end.
    package var mostSteps = 1_000_000

    package init() {}

    func cost(of call: Call.Name, _ chance: inout Chance) -> Duration {
        switch call {
        case .fsync, .syncfs: syncPace
        case .rename, .renameNoReplace, .unlink, .link, .makeDirectory, .open, .list, .listPart: pace
        case .close, .write, .read, .chmod, .removeDirectory, .status, .statusAt, .realPath, .lock, .unlock,
            .freeBytes:
            pace / 4
        }
    }
}
