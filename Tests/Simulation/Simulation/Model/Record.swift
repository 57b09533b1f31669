import Policy

/// An index of a history, built once for all properties.
struct Record {
    let history: History
    let clocks: Clocks
    /// What the sentences judge and excuse.
    let judging = Judging()
    private(set) var lives: [Life] = []
    private(set) var byLabel: [Label: Int] = [:]
    private(set) var exchanges: [Exchange] = []
    private(set) var courses: [ProcessID: Course] = [:]
    private(set) var powerCuts: [Int] = []
    /// The events at which a process was killed or lost power.
    private(set) var kills: [Int] = []
    /// The times without a network, by events.
    private(set) var absences: [(from: Int, to: Int)] = []
    /// The events from which on runs find another token.
    private(set) var renewals: [Int] = []
    /// The beginning of the calm end; `nil` if the history has none.
    private(set) var calm: Int?
    /// The number of evictions whose id belongs to no known operation.
    private(set) var unknownEvictions = 0
    private(set) var sequences: [Sequence: [Int]] = [:]
    /// The operation files at the end that match no operation handed in.
    private(set) var strays: [Place] = []
    /// The places in `lives`, by id.
    private var byID: [OperationID: [Int]] = [:]

    var events: [Event] { history.events }

    init(of history: History) {
        self.history = history
        clocks = Clocks(history)
        readProcesses()
        readOffers()
        readLeft()
        readRequests()
        readIDs()
        readReports()
        readCommands()
        readReplacedDeadLetters()
        // A dead letter that was created anew has another time of creation. Only the first name of a content is told.
        for index in lives.indices where lives[index].touches.contains(where: \.insists) {
            let life = lives[index]
            let isRenewed = life.touches.contains { touch in
                touch.insists && touch.began > life.named ?? -1
                    && (life.deaths.contains { $0.since < touch.until }
                        || deaths(with: life).contains { course(of: $0.process).hasBegun(life, before: touch.until) })
            }
            if isRenewed { lives[index].created = nil }
        }
        for index in lives.indices {
            for sequence in lives[index].sequences { sequences[sequence, default: []].append(index) }
        }
    }

    func life(_ label: Label) -> Life? { byLabel[label].map { lives[$0] } }

    /// Returns the places of the operations that may have the id at an event: handed in before, and not replaced.
    func lives(of id: OperationID, before index: Int) -> [Int] {
        (byID[id] ?? []).filter { place in
            lives[place].offered < index
                && !(lives[place].isReplacing && lives[place].named.map { $0 > index } ?? false)
                && !lives[place].leaves.contains { $0.leave == .replaced && $0.at < index }
        }
    }

    /// Whether several contents that replace none were handed in with the operation's id. A report then may name any of
    /// them.
    func sharesID(_ life: Life) -> Bool {
        life.id.map { (byID[$0] ?? []).count { !lives[$0].isReplacing } > 1 } ?? false
    }

    /// Returns when an operation was handed in; for a replacement, when the first content of its id was handed in.
    func firstOffer(of life: Life) -> Int {
        guard life.isReplacing, let id = life.id else { return life.offered }
        return (byID[id] ?? []).map { lives[$0].offered }.min() ?? life.offered
    }

    /// Returns the operations with the id of an operation.
    func contents(of life: Life) -> [Life] { (life.id.flatMap { byID[$0] } ?? []).map { lives[$0] } }

    /// Returns the true time of day at an event.
    func time(at index: Int) -> Timestamp { history.began + events[index].time }

    func course(of process: ProcessID) -> Course { courses[process] ?? Course() }

    // MARK: Reading

    private mutating func readProcesses() {
        for (index, event) in events.enumerated() {
            switch event.what {
            case .begins: courses[event.process, default: Course()].began = index
            case .runs(let choice): courses[event.process, default: Course()].choice = choice
            case .killed:
                kills.append(index)
                courses[event.process, default: Course()].killed = index
                courses[event.process, default: Course()].ended = index
            case .ends, .endsRun: courses[event.process, default: Course()].ended = index
            case .stopped: courses[event.process, default: Course()].stops.append(index)
            case .stalled: courses[event.process, default: Course()].stalls.append(index)
            case .woken: courses[event.process, default: Course()].wakes.append(index)
            case .interrupted: courses[event.process, default: Course()].interruptions.append(index)
            case .submits(let labels):
                courses[event.process, default: Course()].submissions.append((index, Set(labels)))
            case .lists: courses[event.process, default: Course()].listings.append(index)
            case .refusedCall: courses[event.process, default: Course()].refusals.append(index)
            case .cutPower:
                powerCuts.append(index)
                kills.append(index)
                for process in courses.keys where courses[process]?.ended == nil {
                    courses[process]?.killed = index
                    courses[process]?.ended = index
                }
            case .renewsToken: renewals.append(index)
            case .network(isThere: false): if absences.last?.to != .max { absences.append((index, .max)) }
            case .network(isThere: true), .calm:
                if absences.last?.to == .max { absences[absences.count - 1].to = index }
                if event.what == .calm { calm = index }
            default: break
            }
        }
    }

    private mutating func readOffers() {
        for (index, event) in events.enumerated() {
            switch event.what {
            case .offers(let offer):
                byLabel[offer.label] = lives.count
                courses[event.process, default: Course()].ways.insert(offer.isReplacing ? .replacing : offer.way)
                lives.append(
                    Life(
                        label: offer.label, offer: offer, kind: history.setup.kind(of: offer.type),
                        submitter: event.process, offered: index, patch: Document(offer.payload), id: offer.id))
            case .answers(let label, let answer):
                guard let place = byLabel[label] else { continue }
                lives[place].answers.append((index, answer))
                switch answer {
                case .accepted(let name):
                    enter(place, at: index, as: name)
                    if lives[place].offer.isDeadLetter {
                        lives[place].leaves.append((index, .failed(isExpired: false), index))
                    }
                case .placed, .queued: lives[place].entered = lives[place].entered ?? index
                case .failed: lives[place].leaves.append((index, .refused, lives[place].offered))
                case .delivered: lives[place].leaves.append((index, .delivered, lives[place].offered))
                default: break
                }
            case .names(let label, let name):
                guard let place = byLabel[label], !isSpoilt(name, place) else { continue }
                lives[place].named = lives[place].named ?? index
                setName(place, name)
                lives[place].firstName = lives[place].firstName ?? name
            case .damaged(let label):
                guard let place = byLabel[label] else { continue }
                lives[place].damaged = lives[place].damaged ?? index
            default: break
            }
        }
    }

    private mutating func enter(_ place: Int, at index: Int, as name: EntryName) {
        lives[place].entered = lives[place].entered ?? index
        setName(place, name)
    }

    private mutating func setName(_ place: Int, _ name: EntryName) {
        lives[place].id = name.id
        lives[place].created = name.createdAt...name.createdAt
    }

    private mutating func readLeft() {
        let byPayload = Dictionary(lives.indices.map { (Array(lives[$0].offer.payload.utf8), $0) }) { first, _ in first
        }
        for file in history.left {
            let place = Place(file)
            guard let life = place.payload.flatMap({ byPayload[$0] }), !isSpoilt(place.name, life) else {
                if place.isOperation { strays.append(place) }
                continue
            }
            lives[life].left.append(place)
            if let name = place.name { setName(life, name) }
        }
    }

    private mutating func readRequests() {
        var byNumber: [Int: Int] = [:]
        for (index, event) in events.enumerated() {
            switch event.what {
            case .receives(let request):
                byNumber[request.number] = exchanges.count
                let labels = Set(request.bodies.flatMap(\.self))
                for label in labels {
                    if let place = byLabel[label] { lives[place].exchanges.append(exchanges.count) }
                }
                let sender = request.sender ?? event.process
                let submission = course(of: sender).submissions.last { $0.at < index && $0.labels == labels }
                var exchange = Exchange(request, by: sender, submitted: submission?.at, at: index)
                exchange.ended = courses[sender]?.ended.map { max($0, index) }
                exchanges.append(exchange)
            case .replies(let number, let reply):
                guard let place = byNumber[number] else { continue }
                exchanges[place].replied = index
                exchanges[place].reply = reply
            case .loses(let number):
                guard let place = byNumber[number] else { continue }
                exchanges[place].isLost = true
                exchanges[place].end(at: index)
            case .takesIn(let number):
                if let place = byNumber[number] { exchanges[place].takenIn = index }
            case .learns(let number):
                guard let place = byNumber[number] else { continue }
                exchanges[place].learned = index
                exchanges[place].end(at: index)
                for (body, labels) in exchanges[place].request.bodies.enumerated()
                where exchanges[place].delivered(body: body) != nil {
                    for label in labels {
                        if let life = byLabel[label] { lives[life].leaves.append((index, .delivered, index)) }
                    }
                }
            default: break
            }
        }
    }

    /// Finds the ids that no answer tells: the default idempotency key of an operation is its id. Without another
    /// source, the moment of the offer bounds the time of creation.
    private mutating func readIDs() {
        for index in lives.indices {
            let life = lives[index]
            if life.id == nil, let first = life.exchanges.first, exchanges[first].labels == [life.label] {
                lives[index].id = exchanges[first].operationID
            }
            let isSteady = !clocks.differ(from: 0, to: max(0, events.count - 1))
            if life.created == nil, isSteady, life.offer.way == .send || life.offer.way == .add {
                let last = life.exchanges.first.map { exchanges[$0].received } ?? life.answers.first?.at
                if let last {
                    let span = events[last].time - events[life.offered].time
                    let ends = wall(of: life.submitter, at: last, within: span)
                    lives[index].created = min(ends.lowerBound - span, ends.upperBound)...ends.upperBound
                }
            }
            if let id = lives[index].id, !life.isRejected { byID[id, default: []].append(index) }
        }
        // A new content replaces an older content when its submitter is told so. Several imports may have been handed
        // in before any of them had its name.
        for index in lives.indices where lives[index].isReplacing {
            guard let id = lives[index].id, let entered = lives[index].entered else { continue }
            for older in byID[id] ?? [] where older != index && lives[older].began < lives[index].began {
                lives[older].leaves.append((entered, .replaced, lives[index].offered))
            }
        }
    }

    private mutating func readReports() {
        for (index, event) in events.enumerated() {
            guard case .reports(let report) = event.what, let id = report.id else { continue }
            if case .evicted = report, lives(of: id, before: index).isEmpty { unknownEvictions += 1 }
            for life in lives(of: id, before: index, sentBy: event.process, report) {
                lives[life].reports.append((index, report))
                if let leave = report.leave {
                    let since = moment(of: lives[life], before: index, by: event.process)
                    lives[life].leaves.append((index, leave, since))
                }
                for exchange in lives[life].exchanges
                where exchanges[exchange].process == event.process && exchanges[exchange].received < index
                    && report.leave != .superseded
                {
                    exchanges[exchange].end(at: index)
                }
            }
        }
    }

    /// Returns the operations that a report may be about. If the process has sent several contents of the id, an
    /// attempt's report is about the last content sent.
    private func lives(of id: OperationID, before index: Int, sentBy process: ProcessID, _ report: Report) -> [Int] {
        if case .failed(_, isExpired: true) = report { return lives(of: id, before: index) }
        let sent = (byID[id] ?? []).compactMap { place -> (place: Int, exchange: Int)? in
            let last = lives[place].exchanges.last {
                exchanges[$0].process == process && exchanges[$0].received < index
            }
            return last.map { (place, $0) }
        }
        // Only a content that the process has sent can be delivered.
        let isDelivery = if case .delivered = report { true } else { false }
        guard sent.count > (isDelivery ? 0 : 1), let last = sent.max(by: { $0.exchange < $1.exchange }) else {
            return lives(of: id, before: index)
        }
        return [last.place]
    }

    /// Returns since when a report may be true. A run reports in groups, after the changes of the files: an operation
    /// in flight may have left with its answer, other operations at any time of the run. A run also reports what a dead
    /// run's answer has ended.
    private func moment(of life: Life, before index: Int, by process: ProcessID) -> Int {
        let answered = life.exchanges.filter { exchanges[$0].received < index }
        let own = answered.last { exchanges[$0].process == process }
        let others = answered.last { course(of: exchanges[$0].process).killed.map { $0 < index } ?? false }
        return (own ?? others).flatMap { exchanges[$0].learned } ?? courses[process]?.began ?? index
    }

    private mutating func readCommands() {
        var running: [ProcessID: (at: Int, command: Command)] = [:]
        var saved: [ProcessID: Set<Label>] = [:]
        for (index, event) in events.enumerated() {
            switch event.what {
            case .commands(let command):
                running[event.process] = (index, command)
                saved[event.process] = []
            case .exports(let label): saved[event.process, default: []].insert(label)
            case .changed(let id):
                guard let (began, command) = running[event.process] else { continue }
                for life in meant(by: id, since: began, told: index)
                where command.verb != .exportAndDrop || saved[event.process]?.contains(lives[life].label) == true {
                    lives[life].touch(command, from: began, told: index, until: index)
                }
            case .changedFile(let label):
                guard let (began, command) = running[event.process], let life = byLabel[label] else { continue }
                lives[life].touch(command, from: began, told: index, until: index)
            case .leftAlone(let id):
                guard let (began, command) = running[event.process] else { continue }
                for life in lives(of: id, before: index) {
                    lives[life].leftAlone.append((index, event.process, command.verb, began))
                }
            case .ends(status: let status) where status != 0:
                if let (began, command) = running.removeValue(forKey: event.process) {
                    breakOff(command, of: event.process, from: began, at: index, saved[event.process] ?? [])
                }
            case .done, .ends: running[event.process] = nil
            case .killed, .cutPower:
                for (process, (began, command)) in running where courses[process]?.killed == index {
                    breakOff(command, of: process, from: began, at: index, saved[process] ?? [])
                    running[process] = nil
                }
            default: break
            }
        }
    }

    /// A replacement of a dead letter is a dead letter, also if the operation has failed since the export, unless an
    /// operator may have queued the dead letter again before, or a power cut or the death of its run may have undone
    /// the failure. Its records are the queue's: what has expired unsent has done so in any content.
    private mutating func readReplacedDeadLetters() {
        for index in lives.indices where lives[index].isReplacing {
            guard let id = lives[index].id, let answered = lives[index].answers.last?.at else { continue }
            let isDeadLetter = lives[index].offer.isDeadLetter
            let contents = (byID[id] ?? []).map { lives[$0] }
            let failed = contents.filter { $0.label != lives[index].label }.compactMap { other in
                other.leaves.last { leave in
                    guard case .failed = leave.leave, leave.at < answered else { return false }
                    return !mayBeUndone(leave.at, before: answered)
                }
            }.max { $0.since < $1.since }
            guard let since = isDeadLetter ? course(of: lives[index].submitter).began : failed?.since,
                case .accepted? = lives[index].answer
            else { continue }
            let wasFreed = contents.contains { content in
                content.touches.contains { $0.verb.frees && $0.began < answered && ($0.told ?? .max) > since }
            }
            lives[index].leaves.removeAll { $0.at == answered }
            if !wasFreed {
                lives[index].leaves.append((answered, failed?.leave ?? .failed(isExpired: false), answered))
            }
        }
    }

    /// Notes operations that a command may have changed without a report before it died or failed.
    private mutating func breakOff(
        _ command: Command, of process: ProcessID, from began: Int, at index: Int, _ saved: Set<Label>
    ) {
        for life in lives.indices where lives[life].isMeant(by: command) && lives[life].offered < index {
            if command.verb == .exportAndDrop, !saved.contains(lives[life].label) { continue }
            let isTold = lives[life].touches.contains { $0.began == began }
            if !isTold, !lives[life].leftAlone.contains(where: { $0.at > began && $0.by == process }) {
                lives[life].touch(command, from: began, told: nil, until: index)
            }
        }
    }
}

extension Life {
    /// When the operation was first in the queue, as far as anybody knows.
    fileprivate var began: Int { named ?? entered ?? offered }

    mutating func touch(_ command: Command, from began: Int, told: Int?, until: Int) {
        touches.append(
            Touch(verb: command.verb, began: began, told: told, until: until, insists: command.insists))
        if command.verb.drops { leaves.append((told ?? began, .dropped, began)) }
    }

    /// Whether this content of an id was in the queue before `other`.
    func isBefore(_ other: Life) -> Bool { began < other.began }

    /// Whether a command may concern the operation.
    func isMeant(by command: Command) -> Bool {
        if command.takesFollowers, kind.holdsBehindFailed { return true }
        if let ids = command.ids { return id.map(ids.contains) ?? true }
        return command.host == nil && (command.type == nil || command.type == offer.type)
    }
}

extension Exchange {
    mutating func end(at index: Int) { ended = min(ended ?? index, index) }
}
