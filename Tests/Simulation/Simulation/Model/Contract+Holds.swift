import Policy

extension Contract {
    /// While a run holds a destination, the destination gets no request except a probe each `holdProbe`. The delivery
    /// of a probe ends the hold; the delivery of a request sent before the hold does not. After a release the answer to
    /// an earlier request holds nothing. A parked operation waits five minutes, unless a witness is delivered or an
    /// operator asks for the operation.
    static func holds(_ record: Record) -> [Breach] {
        destinationHolds(record) + holdEnds(record) + holdsAfterRelease(record) + parkings(record)
    }

    private static func holdsAfterRelease(_ record: Record) -> [Breach] {
        let releases = Releases(record)
        return record.events.enumerated().compactMap { index, event in
            guard case .reports(.destinationHeld(let name)) = event.what,
                let release = releases.last(of: host(of: name), before: index)
            else { return nil }
            let requests = record.exchanges.filter {
                $0.process == event.process && $0.request.host == host(of: name) && $0.received < index
            }
            guard !requests.isEmpty, !record.clocks.differ(from: release.at, to: index),
                requests.allSatisfy({ $0.received < release.at && $0.learned ?? .max > release.told })
            else { return nil }
            record.judging.meets(.request(index))
            return Breach(
                .holds, [release.told, index], "\(name) was released, and is held for an answer to an earlier request")
        }
    }

    private static func holdEnds(_ record: Record) -> [Breach] {
        var holds: [String: (told: Int, process: ProcessID)] = [:]
        var breaches: [Breach] = []
        let releases = Releases(record)
        for (index, event) in record.events.enumerated() {
            switch event.what {
            case .reports(.destinationHeld(let name)):
                holds[host(of: name)] = (index, event.process)
            case .reports(.holdEnded(let name)):
                let host = host(of: name)
                guard let hold = holds.removeValue(forKey: host),
                    record.isTold(by: hold.process, since: hold.told),
                    !record.clocks.differ(from: hold.told, to: index),
                    !releases.any(of: host, from: hold.told, to: index),
                    !record.renewals.contains(where: { $0 > record.course(of: hold.process).began && $0 < index }),
                    !record.exchanges.contains(where: {
                        $0.request.host == host && $0.received > hold.told && $0.learned ?? .max < index
                    })
                else { continue }
                breaches.append(
                    Breach(.holds, [hold.told, index], "the hold of \(host) ended, and no request was sent meanwhile"))
            default: break
            }
        }
        for (host, hold) in holds {
            let probe = record.exchanges.first { exchange in
                exchange.request.host == host && exchange.received > hold.told && exchange.delivered(body: 0) != nil
                    && record.course(of: exchange.process).choice != nil
                    && record.course(of: exchange.process).began > hold.told
                    && record.isTold(by: exchange.process, since: exchange.learned!)
                    && record.course(of: exchange.process).ended != nil
                    && record.course(of: exchange.process).stops.isEmpty
            }
            guard let probe, record.isTold(by: hold.process, since: hold.told),
                !record.clocks.differ(from: hold.told, to: probe.learned!),
                // A run writes what it has learned a moment later: an operator may have released the hold before, or
                // may hold the destination, too.
                let ended = record.course(of: probe.process).ended,
                ![releases, Releases(record, by: .holdDestination)].contains(where: {
                    $0.any(of: host, from: hold.told, to: ended)
                })
            else { continue }
            breaches.append(
                Breach(
                    .holds, [hold.told, probe.received, probe.learned],
                    "request \(probe.request.number) was delivered to \(host), and its hold did not end"))
        }
        return breaches
    }

    private static func destinationHolds(_ record: Record) -> [Breach] {
        var holds: [(host: String, told: Int, process: ProcessID)] = []
        var ends: [(host: String, at: Int)] = []
        for (index, event) in record.events.enumerated() {
            switch event.what {
            case .reports(.destinationHeld(let name)):
                record.judging.meets(.request(index))
                if !record.isTold(by: event.process, since: index) { record.judging.excuses(.request(index)) }
                if record.isTold(by: event.process, since: index) {
                    holds.append((host(of: name), index, event.process))
                }
            case .reports(.holdEnded(let name)): ends.append((host(of: name), index))
            default: break
            }
        }
        if holds.isEmpty { return [] }
        let releases = Releases(record)
        return holds.compactMap { hold in
            let told = record.time(at: hold.told)
            let probe = told + (record.history.setup.holdProbe ?? .seconds(86_400))
            // A later delivery to the destination has shown that the hold has no cause.
            let delivered = record.exchanges.compactMap { exchange in
                exchange.request.host == hold.host ? exchange.delivered(body: 0) : nil
            }.filter { $0 > hold.told }.min()
            let request = record.exchanges.first { exchange in
                let now = record.time(at: exchange.received)
                let notice = exchange.process == hold.process ? Contract.arrival : Contract.lateness
                return exchange.request.host == hold.host && now > told + notice && now < probe
                    && exchange.received < delivered ?? .max
                    && !ends.contains {
                        $0.host == hold.host && $0.at > hold.told && record.time(at: $0.at) < now + notice
                    }
                    && !releases.any(
                        of: hold.host, from: record.course(of: hold.process).began, to: exchange.received)
                    && !record.renewals.contains {
                        $0 > record.course(of: hold.process).began && $0 < exchange.received
                    }
                    && !record.isExcusedSender(of: exchange) && !record.hasJustWoken(exchange)
            }
            guard let request, !record.clocks.differ(from: hold.told, to: request.received) else { return nil }
            return Breach(
                .holds, [hold.told, request.received],
                "request \(request.request.number) went to \(hold.host), which a run holds")
        }
    }

    /// The host of a destination such as `http://one`.
    private static func host(of destination: String) -> String {
        destination.split(separator: "/").last.map(String.init) ?? destination
    }

    /// The time after which a run attempts a parked operation again, if no witness comes and no probe is due before.
    private static let parking = Duration.seconds(300)

    private static func parkings(_ record: Record) -> [Breach] {
        let releases = Releases(record)
        let parking = min(parking, record.history.setup.holdProbe ?? parking)
        return record.lives.flatMap { life in
            life.reports.compactMap { at, report -> Breach? in
                let process = record.events[at].process
                guard case .parked = report, record.isTold(by: process, since: at) else { return nil }
                record.judging.meets(.life(life.label))
                let began = record.course(of: process).began
                let others = record.exchanges.filter {
                    $0.request.host == life.kind.host && !$0.labels.contains(life.label)
                }
                // A second refusal holds the destination instead.
                let refused = others.filter { $0.status(ofBody: 0).map(refusing.contains) ?? false }
                    .compactMap(\.replied).filter { $0 > began }.min()
                let witnessed = others.compactMap { $0.delivered(body: 0) }.filter { $0 > at }.min()
                let renewed = record.renewals.first { $0 > began } ?? .max
                let end = min(refused ?? .max, witnessed ?? .max, renewed)
                let request = life.exchanges.first { place in
                    let exchange = record.exchanges[place]
                    let time = record.time(at: exchange.received) - record.time(at: at)
                    return exchange.received > at && time < parking && exchange.received < end
                        && (exchange.process == process || time > lateness)
                        && !record.isWanted(life, by: exchange.process)
                        && !releases.any(of: life.kind.host, from: began, to: exchange.received)
                        && !life.touches.contains {
                            $0.verb.frees && $0.began < exchange.received && ($0.told ?? .max) > began
                        }
                        && !record.isExcusedSender(of: exchange) && !record.hasJustWoken(exchange)
                }
                guard let request = request.map({ record.exchanges[$0] }),
                    !record.clocks.differ(from: at, to: request.received)
                else { return nil }
                return Breach(
                    .holds, [at, request.received],
                    "operation \(life.label) was sent again although it is parked")
            }
        }
    }
}
