import Policy

extension Contract {
    /// A server receives only operations of submitters: no refused operation, and no operation stopped by an operator
    /// before.
    static func nothingFromNowhere(_ record: Record) -> [Breach] {
        var breaches: [Breach] = []
        let pauses = Pauses(record)
        for exchange in record.exchanges {
            if let pause = pauses.forbidding(exchange, in: record) {
                breaches.append(
                    Breach(
                        .nothingFromNowhere, [pause, exchange.received],
                        "request \(exchange.request.number) went out after a pause or hold had answered"))
            }
            for label in exchange.labels {
                guard let life = record.life(label), life.offered < exchange.received else {
                    breaches.append(
                        Breach(.nothingFromNowhere, [exchange.received], "nobody had handed in operation \(label)"))
                    continue
                }
                if record.sharesID(life) { record.judging.excuses(.life(label)) }
                record.judging.meets(.life(label))
                if !record.sharesID(life), let (at, reason) = prohibition(of: life, for: exchange, in: record) {
                    breaches.append(
                        Breach(
                            .nothingFromNowhere, [life.offered, at, exchange.received],
                            "operation \(label) was sent although \(reason)"))
                }
            }
        }
        // A file that nobody had synced may be short or empty after a power cut.
        var damaged = record.lives.count { life in
            life.damaged != nil
                || !life.offer.isDurable && life.left.isEmpty && record.powerCuts.contains { $0 > life.offered }
        }
        let spoilt = Set(record.lives.filter { $0.damaged != nil }.compactMap(\.id))
        var damages: Set<[UInt8]> = []
        for place in record.strays {
            if let id = place.name?.id, spoilt.contains(id) { continue }
            if place.payload == nil {
                // Between a link and an unlink a file has two names.
                if !damages.insert(place.bytes).inserted { continue }
                damaged -= 1
                if damaged >= 0 { continue }
            }
            breaches.append(Breach(.nothingFromNowhere, [], "nobody handed in the content of \(place.path)"))
        }
        for life in record.lives {
            for place in life.left where place.isInQueue && place.directory != .quarantine {
                let refusal = life.isRejected ? life.answers.last?.at : nil
                let drop = life.touches.first { $0.verb.drops && $0.told != nil && life.isMeant(since: $0.began) }?
                    .told
                guard let at = refusal ?? drop else { continue }
                breaches.append(
                    Breach(
                        .nothingFromNowhere, [life.offered, at],
                        "operation \(life.label) is in \(place.path), but was \(refusal == nil ? "dropped" : "not accepted")"
                    ))
            }
        }
        return breaches
    }

    /// Returns the event that forbade the operation, and the reason in words.
    private static func prohibition(of life: Life, for exchange: Exchange, in record: Record) -> (Int, String)? {
        let index = exchange.received
        if life.isRejected, let answer = life.answers.first, answer.at < index {
            return (answer.at, "it was not accepted")
        }
        let touches = life.touches.filter { touch in
            touch.told.map { $0 < index } == true && life.isMeant(since: touch.began)
        }
        if let told = touches.first(where: \.verb.drops)?.told { return (told, "it was dropped") }
        if let hold = touches.last(where: { $0.verb == .hold }),
            !life.touches.contains(where: { $0.verb.frees && $0.began < index && ($0.told ?? .max) > hold.began }),
            // A run may claim an operation by its new name before the release has removed the old one. The operator is
            // told then that the operation is in flight.
            !life.leftAlone.contains(where: { $0.verb.frees && $0.began < index && $0.at > hold.began })
        {
            return (hold.told!, "it was held")
        }
        let failure = life.leaves.last {
            if case .failed = $0.leave { $0.at < index && life.isMeant(since: $0.since) } else { false }
        }
        if let failure,
            !life.touches.contains(where: { $0.verb.frees && $0.began < index && ($0.told ?? .max) > failure.since }),
            !record.mayBeUndone(failure.at, before: index)
        {
            return (failure.at, "it had failed for good")
        }
        return nil
    }
}

extension Command.Verb {
    /// Whether the command lets a run send the operation again.
    var frees: Bool { self == .retry || self == .release }

    /// Whether the command removes the operation.
    var drops: Bool { self == .drop || self == .exportAndDrop }
}

extension Record {
    /// Whether a process died between two events.
    func isKilled(between first: Int, and last: Int) -> Bool {
        kills.contains { $0 > first && $0 < last }
    }
}

/// The times without requests to a destination, or to any destination.
struct Pauses {
    private struct Pause {
        /// The event that told the operator.
        var told: Int
        /// The event at which the ending command began.
        var end: Int
        var host: String?
        /// The verb that ends the pause.
        var ending: Command.Verb

        func ends(by command: Command) -> Bool {
            command.verb == ending && (command.host == host || command.host == nil && ending != .resume)
        }
    }

    private var pauses: [Pause] = []

    init(_ record: Record) {
        var running: [ProcessID: (at: Int, command: Command)] = [:]
        var begun: [(at: Int, command: Command)] = []
        for (index, event) in record.events.enumerated() {
            switch event.what {
            case .commands(let command):
                running[event.process] = (index, command)
                begun.append((index, command))
                for place in pauses.indices where pauses[place].end == .max && pauses[place].ends(by: command) {
                    pauses[place].end = index
                }
            case .done:
                guard let (began, command) = running.removeValue(forKey: event.process) else { continue }
                let ending: Command.Verb
                switch command.verb {
                case .pause: ending = .resume
                case .holdDestination: ending = .releaseDestination
                case .retry, .hold, .release, .drop, .resume, .releaseDestination, .repair, .exportAndDrop: continue
                }
                var pause = Pause(told: index, end: .max, host: command.host, ending: ending)
                // A command that ran beside this command may have ended the pause.
                if begun.contains(where: { $0.at > began && pause.ends(by: $0.command) }) { pause.end = index }
                pauses.append(pause)
            default: break
            }
        }
    }

    /// Returns the end of the command that forbade the request, if the process had the time to notice before it handed
    /// the request over. The way of the request to its server is nobody's.
    func forbidding(_ exchange: Exchange, in record: Record) -> Int? {
        let now = record.events[exchange.submitted].time
        let course = record.course(of: exchange.process)
        if course.wakes.contains(where: { $0 < exchange.submitted && now - record.events[$0].time <= Contract.notice })
        {
            return nil
        }
        return pauses.first { pause in
            pause.told < exchange.submitted && exchange.submitted < pause.end
                && (pause.host == nil || pause.host == exchange.request.host)
                && now - record.events[pause.told].time > Contract.notice
        }?.told
    }
}
