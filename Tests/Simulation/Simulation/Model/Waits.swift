/// Operations that wait in the queue by time, and operations that overtake older operations.
struct Waits {
    private let record: Record

    init(_ record: Record) { self.record = record }

    /// Returns the requests that carried a newer operation of a sequence while an older operation certainly waited. The
    /// older operation was in the queue when the run decided to send the request.
    ///
    /// Between different kinds and keys, a coalescing operation has the place of the newest value of its key.
    func overtakings(in members: [Int], isWithinValues: Bool) -> [(older: Int, newer: Int, exchange: Int)] {
        enum Step {
            case leaves(Int)
            case enters(Int)
            case sends(Carried)
        }
        var steps: [(at: Int, step: Step)] = []
        for member in members {
            for span in spans(of: member) {
                steps.append((span.from, .enters(member)))
                if let to = span.to { steps.append((to, .leaves(member))) }
            }
        }
        for carried in record.bodies(of: members) {
            steps.append((record.exchanges[carried.exchange].received, .sends(carried)))
        }
        // Departures come first: a command that removes an operation may have removed it already.
        steps.sort { $0.at < $1.at }
        var waiting: [(member: Int, since: Int)] = []
        var found: [(older: Int, newer: Int, exchange: Int)] = []
        for (at, step) in steps {
            switch step {
            case .enters(let member):
                let place =
                    waiting.firstIndex { record.lives[member].precedes(record.lives[$0.member]) } ?? waiting.count
                waiting.insert((member, at), at: place)
            case .leaves(let member): waiting.removeAll { $0.member == member }
            case .sends(let carried):
                let subject = Judging.Subject.request(carried.exchange)
                record.judging.meets(subject)
                guard !record.isExcusedSender(of: carried.exchange) else {
                    record.judging.excuses(subject)
                    continue
                }
                let newer = record.lives[carried.newest]
                let cut = record.cut(of: newer, in: carried.exchange)
                let candidates = waiting.filter {
                    $0.since < cut && record.lives[$0.member].precedes(newer) && !isCarried($0.member, by: carried)
                }
                let older = candidates.first {
                    isSeen($0.member, after: at)
                        && !(isRefused($0.member, before: at)
                            && (record.exchanges[carried.exchange].delivered(body: carried.body) == nil
                                || diesSoon(carried, after: at)))
                        && (isWithinValues || !isBehindNewer($0.member, than: newer, in: members, cut, at))
                }
                if older == nil, !candidates.isEmpty { record.judging.excuses(subject) }
                if let older { found.append((older.member, carried.newest, carried.exchange)) }
            }
        }
        return found
    }

    /// Returns the times in which an operation certainly was in the queue: from the promise, or the answer to a
    /// `retry`, until the first sign of a departure.
    func spans(of member: Int) -> [(from: Int, to: Int?)] {
        let life = record.lives[member]
        // A retry takes effect at some moment before its answer. An operation that left meanwhile may have left after
        // that moment. A retry of an id that several contents share may be about another content.
        let retries = life.touches.filter { touch in
            touch.verb == .retry && !record.sharesID(life)
                && !life.leaves.contains { $0.at > touch.began && $0.at < touch.told ?? .max }
        }
        let starts = [life.entered].compactMap(\.self) + retries.compactMap(\.told)
        let leaves = life.leaves.sorted { $0.at < $1.at }
        var spans: [(from: Int, to: Int?)] = []
        for start in starts {
            if let last = spans.last, last.to.map({ $0 > start }) ?? true { continue }
            // A report may come a moment before the answer to the submitter.
            if start == life.entered, leaves.contains(where: { $0.at < start }) { continue }
            let left = [leaves.first { $0.at >= start }?.since, life.damaged].compactMap(\.self).min()
            spans.append((start, left.map { max($0, start) }))
        }
        return spans
    }

    /// Whether an operation of a coalescing kind has the place of a newer value of its key in the order, and the newer
    /// value may be sent. The newer value may have left the queue before the run says so.
    private func isBehindNewer(
        _ member: Int, than sent: Life, in members: [Int], _ cut: Int, _ index: Int
    ) -> Bool {
        let life = record.lives[member]
        guard let values = life.values else { return false }
        if values == sent.values { return true }
        return members.contains { other in
            let newer = record.lives[other]
            guard newer.values == values, life.precedes(newer), newer.mayWait(from: cut, to: index)
            else { return false }
            let sender = record.events[index].process
            return newer.offer.notBefore.map {
                $0 <= record.wall(of: sender, at: index, within: Contract.lateness).upperBound
            } ?? true
        }
    }

    /// Whether the server has refused the operation for good. The storm guard may wait for samples before the file
    /// moves, and puts all refused operations back together.
    private func isRefused(_ member: Int, before index: Int) -> Bool {
        let life = record.lives[member]
        guard let last = life.exchanges.last(where: { record.exchanges[$0].received < index }) else { return false }
        let exchange = record.exchanges[last]
        guard let learned = exchange.learned, learned < index, let body = exchange.body(of: life.label),
            let status = exchange.status(ofBody: body)
        else { return false }
        return Contract.permanent.contains(status)
    }

    /// Whether the sender of a request died before it took the answer in, or before the deadline for settling it.
    private func diesSoon(_ carried: Carried, after index: Int) -> Bool {
        let exchange = record.exchanges[carried.exchange]
        guard let killed = record.course(of: exchange.process).killed, killed > index else { return false }
        return exchange.takenIn == nil
            || record.events[killed].time - record.events[index].time <= Contract.removal
    }

    private func isCarried(_ member: Int, by carried: Carried) -> Bool {
        if member == carried.newest { return true }
        let exchange = record.exchanges[carried.exchange]
        let life = record.lives[member]
        guard life.kind.coalescing == .merge, exchange.documents.indices.contains(carried.body),
            let document = exchange.documents[carried.body]
        else { return false }
        return life.sequences.filter(\.isValue) == record.lives[carried.newest].sequences.filter(\.isValue)
            && record.document(document, has: life)
    }

    /// Whether the operation is visible in the queue after an event. Only a process that died, or an import that failed,
    /// may have removed the operation without a report. A foreign file without a name is never certain.
    private func isSeen(_ member: Int, after index: Int) -> Bool {
        let life = record.lives[member]
        let mayBeReplaced = record.contents(of: life).contains {
            $0.isReplacing && $0.label != life.label && $0.entered == nil && !$0.isRejected && $0.offered < index
        }
        if life.id != nil, !mayBeReplaced, record.kills.first.map({ $0 > index }) ?? true, !mayBeRemovedUnsaid(life) {
            return true
        }
        let returned = life.touches.first { $0.verb == .retry && ($0.told ?? .max) > index }?.began ?? .max
        if life.exchanges.contains(where: { place in
            let received = record.exchanges[place].received
            return received >= index && received < returned
        }) {
            return true
        }
        return returned == .max
            && life.left.contains { $0.directory == .new || $0.directory == .deferred || $0.directory == .claimed }
    }

    /// Whether the limits of the queue may remove an operation without a report: for a newer value as it enters, or for
    /// an operation of a program with SpoolWriter, which reports no evictions.
    private func mayBeRemovedUnsaid(_ life: Life) -> Bool {
        guard record.history.setup.isLimited else { return false }
        if record.history.setup.dropsOldest,
            record.lives.contains(where: {
                $0.offer.isQuiet && $0.label != life.label && $0.answers.last?.at ?? .max > life.offered
            })
        {
            return true
        }
        guard life.kind.coalescing == .replace, let values = life.values else { return false }
        return (record.sequences[values] ?? []).contains { life.precedes(record.lives[$0]) }
    }
}

extension Life {
    /// Whether the operation may have been in the queue between two events: handed in, and not reported as gone before.
    fileprivate func mayWait(from first: Int, to last: Int) -> Bool {
        guard offered < last, !isRejected else { return false }
        guard let left = leaves.map(\.at).filter({ $0 < first }).max() else { return true }
        return touches.contains { $0.verb == .retry && ($0.told ?? .max) > left && $0.began < last }
    }
}
