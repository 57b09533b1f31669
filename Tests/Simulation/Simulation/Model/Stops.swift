import Policy

/// What operators still hold or pause at the end of a history, or may: a process that died may have begun or ended a
/// stop.
struct Stops {
    private var isPaused = false
    private var hosts: Set<String> = []
    private var held: Set<Label> = []

    init(_ record: Record) {
        // A stop of a host is a pause or a hold: each has an end of its own.
        var stops: Set<Stop> = []
        var running: [ProcessID: Command] = [:]
        for event in record.events {
            switch event.what {
            case .commands(let command):
                running[event.process] = command
                if let stop = Stop(beginningWith: command) { stops.insert(stop) }
            case .done:
                guard let command = running.removeValue(forKey: event.process) else { continue }
                stops = stops.filter { !$0.ends(with: command) }
            default: break
            }
        }
        isPaused = stops.contains(Stop(host: nil, isPause: true))
        hosts = Set(stops.compactMap(\.host))
        for life in record.lives {
            let ended = life.touches.filter(\.verb.frees).compactMap(\.told).max() ?? -1
            let isHeld =
                life.touches.contains { $0.verb == .hold && $0.told ?? .max > ended }
                || life.reports.contains { if case .ambiguous = $0.report { $0.at > ended } else { false } }
                // A replacement has the hold of the replaced content, also if its import ended without an answer.
                || life.answers.contains { at, answer in
                    if case .accepted(let name) = answer { name.isHeld && at > ended } else { false }
                }
                || life.isReplacing && life.firstName?.isHeld == true && life.named! > ended
            if isHeld { held.insert(life.label) }
        }
    }

    private struct Stop: Hashable {
        /// `nil` for the queue.
        var host: String?
        var isPause: Bool

        init(host: String?, isPause: Bool) { (self.host, self.isPause) = (host, isPause) }

        init?(beginningWith command: Command) {
            switch command.verb {
            case .pause: self.init(host: command.host, isPause: true)
            case .holdDestination: self.init(host: command.host, isPause: false)
            case .retry, .hold, .release, .drop, .resume, .releaseDestination, .repair, .exportAndDrop: return nil
            }
        }

        func ends(with command: Command) -> Bool {
            switch command.verb {
            case .resume: isPause && host == command.host
            case .releaseDestination: !isPause && (command.host == nil || host == command.host)
            case .retry, .hold, .release, .drop, .pause, .holdDestination, .repair, .exportAndDrop: false
            }
        }
    }

    /// Whether no run sends the operation, whatever time passes.
    func hold(_ life: Life) -> Bool { isPaused || hosts.contains(life.kind.host) || held.contains(life.label) }

    /// Whether no run works on the queue.
    var stopRuns: Bool { isPaused }
}
