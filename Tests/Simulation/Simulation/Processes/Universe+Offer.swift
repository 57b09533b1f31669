internal import CSystem
internal import Policy
internal import Spool

extension Universe {
    /// Makes the operation of a planned offer at this moment, and notes that it is handed in. `nil` if its target does
    /// not exist.
    func offer(
        _ planned: Plan.PlannedOffer, _ way: Offer.Way, _ process: SimulatedProcess
    ) -> (offer: Offer, operation: Policy.Operation)? {
        if planned.wait > .zero { process.sleep(until: scheduler.time + planned.wait) }
        // As the input of the command has it: each line is later than the one before.
        let now = max(now(on: process.host), process.lastOffer + .microseconds(1))
        process.lastOffer = now
        var offer = Offer(
            label: planned.label, way: way, type: planned.type,
            payload: #"{"\#(planned.member)":\#(planned.label)}"#)
        offer.key = planned.key
        offer.createdAt = planned.age.map { now - $0 }
        offer.notBefore = planned.notBefore.map { now + $0 }
        offer.expiresAt = planned.expires.map { now + $0 }
        offer.isDurable = planned.isDurable
        offer.isStranger = process.user != 0
        if planned.hasOwnID { offer.id = OperationID("own-\(planned.label)") }
        if let target = planned.idOf {
            guard let id = ids(of: target, process).first, let old = known(id) else { return nil }
            offer.id = id
            // It takes the place of an operation only with the same type, key and time of creation.
            offer.type = old.name.type
            offer.key = old.offer.key
            offer.createdAt = old.name.createdAt
        }
        let header = OperationHeader(
            id: offer.id ?? .random(using: &process.chance), type: offer.type, createdAt: offer.createdAt ?? now,
            contentType: "application/json", key: offer.key, notBefore: offer.notBefore, expiresAt: offer.expiresAt)
        return (offer, Policy.Operation(header: header, body: Array(offer.payload.utf8)))
    }

    /// Returns the accepted operation with an id, as it was handed in and as it is named.
    private func known(_ id: OperationID) -> (offer: Offer, name: EntryName)? {
        var offers: [Label: Offer] = [:]
        for event in history.events {
            switch event.what {
            case .offers(let offer): offers[offer.label] = offer
            case .names(let label, let name), .answers(let label, .accepted(let name)):
                if name.id == id, let offer = offers[label] { return (offer, name) }
            default: break
            }
        }
        return nil
    }

    // MARK: - add, import, SpoolWriter

    func enter(_ plan: Plan.EnterPlan, _ spool: SpoolDirectory, _ process: SimulatedProcess) throws(SpoolError) {
        var control = AdmissionControl(configuration)
        var batch: [(offer: Offer, submission: Submission)] = []
        let batchNumber = process.id.number
        let way: Offer.Way =
            switch plan.way {
            case _ where plan.isAtomic: .atomic(batch: batchNumber)
            case .add: .add
            case .importing(let replaces): replaces ? .replacing : .importing
            case .writer: .writer
            }
        var last = Timestamp(microseconds: 0)
        func flush() throws(SpoolError) {
            if batch.isEmpty { return }
            let taken = batch
            batch = []
            let accepted = try spool.accept(
                taken.map(\.submission), within: &control, durable: true, allOrNone: plan.isAtomic,
                replacing: plan.way == .importing(replaces: true))
            for ((offer, _), result) in zip(taken, accepted.results) {
                note(process.id, .answers(offer.label, answer(result)))
            }
            // Operations that newer ones replace go first, then the oldest (drainq-queue(5), PROMISES AND THEIR LIMITS).
            for entry in accepted.superseded { note(process.id, .reports(.superseded(entry.name.id, by: nil))) }
            for entry in accepted.evicted { note(process.id, .reports(.evicted(entry.name.id))) }
        }
        for (index, planned) in plan.offers.enumerated() {
            if let pause = plan.pauses[index] {
                if !plan.isAtomic { try flush() }
                process.sleep(until: scheduler.time + pause)
            }
            guard case (var offer, let operation)? = offer(planned, way, process) else { continue }
            offer.isReplacing = plan.way == .importing(replaces: true)
            note(process.id, .offers(offer))
            last = max(now(on: process.host), last + .microseconds(1))
            batch.append(
                (
                    offer,
                    Submission(
                        operation, hasOwnID: offer.id != nil, at: last, isDated: offer.createdAt != nil)
                ))
        }
        try flush()
        note(process.id, .ends(status: 0))
    }

    func answer(_ acceptance: Acceptance) -> Answer {
        switch acceptance {
        case .accepted(let name): .accepted(name)
        case .duplicate: .duplicate
        case .inFlight: .inFlight
        case .rejected: .full
        case .refused: .refused
        case .notAttempted: .notAttempted
        }
    }

    // MARK: - Other programs

    /// Writes files elsewhere on the file system and renames them into `new/`.
    func putForeignFiles(_ offers: [Plan.PlannedOffer], _ process: SimulatedProcess) {
        let calls = calls(of: process)
        for planned in offers {
            guard case (var offer, let operation)? = offer(planned, .foreign, process) else { continue }
            offer.createdAt = operation.header.createdAt
            note(process.id, .offers(offer))
            let name = "\(process.id)-\(planned.label).json"
            let path = "/\(name)", target = "\(Self.queue)/new/\(name)"
            do throws(Errno) {
                let file = try calls.open(AT_FDCWD, path.rawCString, O_WRONLY | O_CREAT | O_EXCL, 0o644)
                try write(envelope(of: operation, isDated: planned.age != nil), file, calls)
                if planned.isDurable { try calls.fsync(file) }
                try calls.close(file)
                try calls.rename(AT_FDCWD, path.rawCString, target.rawCString)
                if planned.isDurable {
                    let new = try calls.open(AT_FDCWD, "\(Self.queue)/new".rawCString, O_RDONLY | O_DIRECTORY, 0)
                    try calls.fsync(new)
                    try calls.close(new)
                }
                note(process.id, .answers(planned.label, .placed))
            } catch {
                note(process.id, .answers(planned.label, .error("\(error)")))
            }
        }
        note(process.id, .ends(status: 0))
    }

    private func envelope(of operation: Policy.Operation, isDated: Bool) -> [UInt8] {
        let header = operation.header
        var members = [#""drainq":1"#, #""type":"\#(header.type)""#]
        if header.id.description.utf8.starts(with: "own-".utf8) { members.append(#""id":"\#(header.id)""#) }
        if isDated { members.append(#""createdAt":"\#(header.createdAt.rfc3339)""#) }
        if let key = header.key { members.append(#""key":"\#(key)""#) }
        if let time = header.notBefore { members.append(#""notBefore":"\#(time.rfc3339)""#) }
        if let time = header.expiresAt { members.append(#""expiresAt":"\#(time.rfc3339)""#) }
        members.append(#""payload":\#(String(decoding: operation.body, as: UTF8.self))"#)
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    private func write(_ bytes: [UInt8], _ file: Int32, _ calls: SystemCalls) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let result: Result<Int, Errno> = rest.withUnsafeBytes { buffer in
                do throws(Errno) { return .success(try calls.write(file, buffer)) } catch { return .failure(error) }
            }
            written += try result.get()
        }
    }
}
