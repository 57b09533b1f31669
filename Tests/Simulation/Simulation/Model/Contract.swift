/// The promises of drainq, written from the sentences of the manual. The model shares no decision with the judged code
/// and uses only the value types of names and times from Policy.
package enum Contract {
    /// The longest time from an operator's pause or hold of a destination to the last request of a run: a run re-reads
    /// pauses once a second, and a request takes a moment to arrive.
    static let notice = Duration.seconds(3)
    /// The longest time from an answer to the durable removal of the operation: drainq-queue(5) says a second.
    static let removal = Duration.seconds(2)

    /// The longest time from a run's decision to send to the arrival of the request.
    static let arrival = Duration.seconds(3)
    /// The longest time from a change of a destination's state to the last request of a process that has not noticed
    /// the change: the process re-reads the state once a second, may wait for a processor, and the request travels.
    static let lateness = Duration.seconds(12)

    /// Returns the broken sentences, in the order of `Property`.
    package static func broken(by history: History) -> [Breach] {
        broken(by: history, of: Property.allCases)
    }

    /// Returns the breaches of the given properties alone.
    package static func broken(by history: History, of properties: [Property]) -> [Breach] {
        judgement(of: history, by: properties).breaches
    }

    /// Returns the breaches of the given properties, and how many subjects each judged and excused.
    package static func judgement(
        of history: History, by properties: [Property]
    ) -> (breaches: [Breach], counts: [Property: Judging.Count]) {
        let record = Record(of: history)
        var counts: [Property: Judging.Count] = [:]
        let breaches = properties.flatMap { property in
            defer { counts[property] = record.judging.end() }
            return Set(property.judge(record)).sorted()
        }
        return (breaches, counts)
    }
}
