extension Contract {
    /// A run sends an operation of a sequence only when the preceding operation is delivered, has failed or is removed.
    static func order(_ record: Record) -> [Breach] {
        let waits = Waits(record)
        return record.sequences.flatMap { sequence, members -> [Breach] in
            let merges = members.contains { record.lives[$0].kind.coalescing == .merge }
            guard !sequence.isValue || merges else { return [] }
            return (sequence.isValue ? [] : cameBack(members, record))
                + waits.overtakings(in: members, isWithinValues: sequence.isValue).map { older, newer, exchange in
                    Breach(
                        .order,
                        [
                            record.lives[older].entered, record.lives[newer].offered,
                            record.exchanges[exchange].received,
                        ],
                        "request \(record.exchanges[exchange].request.number) carried operation \(record.lives[newer].label) while the older \(record.lives[older].label) of its sequence waited"
                    )
                }
        }
    }

    /// A delivered operation does not come back once a newer operation of its sequence has been sent.
    private static func cameBack(_ members: [Int], _ record: Record) -> [Breach] {
        members.compactMap { index in
            let older = record.lives[index]
            // A value of a coalescing kind has the place of the newest value of its key.
            if older.kind.coalescing != .none { return nil }
            let exchanges = older.exchanges.map { record.exchanges[$0] }
            let taken = exchanges.first { exchange in
                exchange.body(of: older.label).flatMap { exchange.delivered(body: $0) } != nil
            }
            guard let learned = taken?.learned,
                let again = exchanges.first(where: { $0.received > learned && !record.isExcusedSender(of: $0) }),
                !older.touches.contains(where: { $0.began < again.received && $0.told ?? .max > learned })
            else { return nil }
            let between = members.lazy.filter { older.precedes(record.lives[$0]) }.flatMap {
                record.lives[$0].exchanges
            }
            .map { record.exchanges[$0] }.first { $0.received > learned && $0.received < again.received }
            guard let between else { return nil }
            return Breach(
                .order, [learned, between.received, again.received],
                "operation \(older.label) was sent again after request \(between.request.number), which is behind it")
        }
    }

    /// Behind a dead letter, or a file in quarantine, with `onFailure: "hold"` no request of the sequence goes out. What
    /// has expired holds nothing: nothing of it has failed.
    static func deadLetterHolds(_ record: Record) -> [Breach] {
        record.lives.flatMap { life -> [Breach] in
            let deaths = life.deaths.filter { death in
                !life.leaves.contains { $0.at == death.at && $0.leave == .failed(isExpired: true) }
            }
            guard life.kind.holdsBehindFailed, !deaths.isEmpty else { return [] }
            record.judging.meets(.life(life.label))
            if record.sharesID(life) {
                record.judging.excuses(.life(life.label))
                return []
            }
            let followers = record.heldBehind(life)
            return deaths.indices.flatMap { place -> [Breach] in
                let (failed, since) = deaths[place]
                let again = place + 1 < deaths.count ? deaths[place + 1].at : .max
                let freed = min(record.freed(life, after: failed) ?? .max, again)
                return followers.flatMap { follower in
                    record.lives[follower].exchanges.compactMap { place -> Breach? in
                        let exchange = record.exchanges[place]
                        guard exchange.received > failed, exchange.received < freed,
                            !record.isPruned(since: since, at: exchange.received)
                        else { return nil }
                        return Breach(
                            .deadLetterHolds, [failed, exchange.received],
                            "operation \(record.lives[follower].label) was sent behind the failed \(life.label), which holds it"
                        )
                    }
                }
            }
        }
    }

    /// With coalescing an older value never follows a newer value that was in the queue at the same time.
    static func newestValueWins(_ record: Record) -> [Breach] {
        record.sequences.filter(\.key.isValue).values.flatMap { members -> [Breach] in
            let requests = record.bodies(of: members)
            return requests.enumerated().compactMap { place, request in
                let older = record.lives[request.newest]
                let received = record.exchanges[request.exchange].received
                record.judging.meets(.request(request.exchange))
                guard let entered = older.entered, !record.isExcusedSender(of: request.exchange) else {
                    record.judging.excuses(.request(request.exchange))
                    return nil
                }
                let newer = requests[..<place].last { earlier in
                    guard let effect = record.effect(of: earlier), effect < received, effect > entered else {
                        return false
                    }
                    let life = record.lives[earlier.newest]
                    guard older.precedes(life), entered < record.cut(of: life, in: earlier.exchange) else {
                        return false
                    }
                    let isExcused = record.isExcused(older, request.exchange, after: life, effect, in: requests)
                    if isExcused { record.judging.excuses(.request(request.exchange)) }
                    return !isExcused
                }
                guard let newer else { return nil }
                return Breach(
                    .newestValueWins, [record.exchanges[newer.exchange].received, record.effect(of: newer), received],
                    "request \(record.exchanges[request.exchange].request.number) carried the value of \(older.label) after the newer \(record.lives[newer.newest].label) had taken effect"
                )
            }
        }
    }
}

/// A body of a request, with the newest operation in the body.
struct Carried {
    var exchange: Int
    var body: Int
    var newest: Int
}

extension Life {
    /// The event that told of the operation's end as a dead letter or in quarantine; `nil` without such an event. A
    /// file with an id of another operation in the queue goes to quarantine without ever having been an operation.
    var deadFrom: Int? { dead?.at }

    /// The same event, and the earliest moment at which the file may have come there: a run tells of a failure later if
    /// the storm guard withholds the answer.
    var dead: (at: Int, since: Int)? { deaths.first }

    /// All such events, in order: an operation may come back and fail again.
    var deaths: [(at: Int, since: Int)] {
        let ends = leaves.filter { leave in
            switch leave.leave {
            case .failed: true
            case .quarantined: !exchanges.isEmpty || offer.way != .foreign
            case .delivered, .superseded, .evicted, .dropped, .replaced, .refused: false
            }
        }
        return ends.map { ($0.at, $0.since) }.sorted { $0.at < $1.at }
    }
}

extension Record {
    /// Returns the earliest listing by which a process may have decided to send an operation. Operations that were in
    /// the queue before the listing were there together with the operation. A replacement goes by the listing of the
    /// replaced content.
    func cut(of life: Life, in place: Int) -> Int {
        let exchange = exchanges[place]
        let course = course(of: exchange.process)
        return min(course.listing(from: max(course.began, firstOffer(of: life))), exchange.received)
    }

    /// Returns the operations behind a dead letter, by their places.
    fileprivate func heldBehind(_ life: Life) -> [Int] {
        let followers = life.sequences.filter { !$0.isValue }.flatMap { sequences[$0] ?? [] }
        // A newer value replaces the dead letter of its key, and is not held by it.
        let replacing = life.kind.coalescing == .replace ? life.sequences.filter(\.isValue) : []
        return Set(followers).subtracting(replacing.flatMap { sequences[$0] ?? [] }).sorted()
            .filter { life.precedes(lives[$0]) }
    }

    /// Returns the first event after the failure of an operation from which on the operation may hold nothing.
    fileprivate func freed(_ life: Life, after failed: Int) -> Int? {
        let touched = life.touches.filter { ($0.verb == .retry || $0.verb.drops) && ($0.told ?? .max) > failed }
            .map(\.began)
        // An edited content in place of the operation is no dead letter.
        let replaced = life.leaves.filter { $0.leave == .replaced && $0.at > failed }.map(\.since)
        // A power cut may take the failure, and the operation is then delivered, or has expired, or a run says that it
        // has come back.
        let undone = life.leaves.filter { $0.leave == .delivered || $0.leave == .failed(isExpired: true) }.map(\.at)
        let recovered = events.indices.filter { index in
            guard case .reports(.recovered(let ids)) = events[index].what else { return false }
            return life.id.map(ids.contains) ?? false
        }
        let back = (undone + recovered).filter { $0 > failed && mayBeUndone(failed, before: $0) }
        // The delivery of a newer value of its key removes the dead letter.
        let followed = life.kind.coalescing == .replace ? delivery(ofNewerThan: life, after: failed) : nil
        return (touched + replaced + back + [followed].compactMap(\.self)).min()
    }

    /// Returns the first event after `index` that told of the delivery of a newer value of the operation's key.
    func delivery(ofNewerThan life: Life, after index: Int) -> Int? {
        guard let values = life.values else { return nil }
        return (sequences[values] ?? []).map { lives[$0] }.filter { life.precedes($0) }
            .flatMap { $0.leaves.filter { $0.leave == .delivered && $0.at > index }.map(\.at) }.min()
    }

    /// Whether retention may have removed a dead letter.
    func isPruned(since failed: Int, at index: Int) -> Bool {
        guard let kept = history.setup.keepsFailed else { return false }
        return clocks.differ(from: failed, to: index) || events[index].time - events[failed].time >= kept
    }

    /// Returns the bodies of requests that carried operations of a sequence, in the order of the requests.
    func bodies(of members: [Int]) -> [Carried] {
        let members = Set(members)
        return Set(members.flatMap { lives[$0].exchanges }).sorted().flatMap { place in
            exchanges[place].request.bodies.enumerated().compactMap { body, labels in
                newest(of: labels).flatMap {
                    members.contains($0) ? Carried(exchange: place, body: body, newest: $0) : nil
                }
            }
        }
    }

    /// Returns when the newest operation of a body took effect.
    func effect(of carried: Carried) -> Int? {
        let exchange = exchanges[carried.exchange]
        return exchange.reply?.applied.contains(lives[carried.newest].label) == true ? exchange.replied : nil
    }

    /// Whether the sender of a request was dead at the arrival, or had lost its lock to another host.
    func isExcusedSender(of place: Int) -> Bool { isExcusedSender(of: exchanges[place]) }

    func isExcusedSender(of exchange: Exchange) -> Bool {
        let course = course(of: exchange.process)
        if course.killed.map({ $0 < exchange.received }) == true { return true }
        return hasSeveralHosts
            && course.wakes.contains {
                $0 < exchange.received && events[exchange.received].time - events[$0].time <= Contract.notice
            }
    }

    /// Whether an operator has asked for the older value, or a server has refused the merged document, so that each
    /// part goes alone.
    func isExcused(_ older: Life, _ place: Int, after newer: Life, _ effect: Int, in requests: [Carried]) -> Bool {
        let received = exchanges[place].received
        let insists = older.touches.contains { $0.verb == .retry && $0.insists && $0.began < received }
        if insists { return true }
        // The name of a file in quarantine that was never in the order has no key.
        let named = min(older.named ?? .max, received)
        if older.offer.way == .foreign, older.touches.contains(where: { $0.verb == .retry && $0.began < named }) {
            return true
        }
        guard older.kind.coalescing == .merge else { return false }
        // A newer patch replaces no dead letter, so a dead letter that an operator retries goes alone.
        let isRetried = older.dead.map { dead in
            older.touches.contains { $0.verb == .retry && $0.began < received && ($0.told ?? .max) > dead.since }
        }
        if isRetried == true { return true }
        // Parts without a common document go in sequence.
        if let values = older.values, let parts = sequences[values], parts.contains(where: { lives[$0].damaged != nil })
        {
            return true
        }
        if newer.touches.contains(where: { $0.began < received && ($0.told ?? .max) > effect }) { return true }
        if newer.leaves.contains(where: { leave in
            if case .failed = leave.leave { leave.at > effect && leave.at < received } else { false }
        }) {
            return true
        }
        // After two deaths with a part in flight, or before its delivery was settled, each part goes alone, in order.
        // So does each part of a later document, whose text may have no value of the part.
        let all = older.values.flatMap { sequences[$0] }?.map { lives[$0] } ?? [older, newer]
        if all.contains(where: { deaths(with: $0).count { $0.at < received } > 1 }) { return true }
        if brokenEnds(with: newer).contains(where: { $0.at < received }) { return true }
        return requests.contains { request in
            let exchange = exchanges[request.exchange]
            guard let learned = exchange.learned, learned > effect, learned < received,
                let status = exchange.status(ofBody: request.body), (400..<500).contains(status),
                let patch = older.patch, exchange.documents.indices.contains(request.body)
            else { return false }
            return exchange.documents[request.body]?.covers(patch) == true
        }
    }
}
