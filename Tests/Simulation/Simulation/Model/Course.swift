/// The course of a process. All places are indices of events.
struct Course {
    var began = 0
    /// The options of the run; `nil` if the process is none.
    var choice: RunChoice?
    /// The ways in which the process hands operations in.
    var ways: Set<Offer.Way> = []
    /// When the process ended, by itself or not; `nil` if the history ends before.
    var ended: Int?
    /// When the process was killed, or the machine lost power.
    var killed: Int?
    var stops: [Int] = []
    /// When the process got no processor for a while. The process can be killed meanwhile.
    var stalls: [Int] = []
    var wakes: [Int] = []
    var interruptions: [Int] = []
    var listings: [Int] = []
    /// When the process gave a request to its agent, and the operations of the request.
    var submissions: [(at: Int, labels: Set<Label>)] = []
    /// The injected errors of the process's calls.
    var refusals: [Int] = []

    /// Whether the process only adds: it neither claims nor changes the operations of other processes.
    var isAdder: Bool { choice == nil && !ways.isEmpty && ways.isDisjoint(with: [.send, .sendUnqueued, .replacing]) }

    /// Whether the process had begun a request with the operation before an event.
    func hasBegun(_ life: Life, before index: Int) -> Bool {
        submissions.contains { $0.at < index && $0.labels.contains(life.label) }
    }

    /// Returns the first listing from an event on; the event itself if no listing is known.
    func listing(from index: Int) -> Int { listings.first { $0 >= index } ?? index }
}
