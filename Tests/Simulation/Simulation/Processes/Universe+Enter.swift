internal import Drain
internal import Foundation
internal import Policy
internal import Spool
internal import SpoolWriter

/// `add`, `import`, and programs that embed the writer.
extension Universe {
    func enter(_ plan: Plan.EnterPlan, _ spool: SpoolDirectory, _ process: SimulatedProcess) throws(SpoolError) {
        if plan.way == .writer { return write(plan, process) }
        let replaces = plan.way == .importing(replaces: true)
        var open: [Label] = []
        var adder = Adder(
            to: spool, { [unowned self] in configuration },
            Adder.Options(Reading(replaces ? .replacement : .export), isAtomic: plan.isAtomic, replaces: replaces),
            clock: clock(of: process)
        ) { [unowned self] in take($0, of: process, &open) }
        var status: Int32 = 0
        do throws(AdderError) {
            for (index, planned) in plan.offers.enumerated() {
                if let pause = plan.pauses[index] {
                    try adder.pause()
                    process.sleep(until: scheduler.time + pause)
                }
                guard let (offer, taken) = given(planned, plan, spool, process) else { continue }
                note(process.id, .offers(offer))
                open.append(offer.label)
                let value = GivenValue(
                    Array(offer.payload.utf8), GivenValue.Place(source: "\(process.id)", line: offer.label))
                switch taken {
                case .added(let operation):
                    try adder.take(
                        Submission(
                            operation, hasOwnID: offer.id != nil, at: process.lastOffer,
                            isDated: offer.createdAt != nil), value)
                case .imported(let operation): try adder.take(operation, value)
                }
            }
            if try !adder.end() { status = 65 }
        } catch {
            throw error.error
        }
        // A batch with a refused operation has no separate answers for its other operations.
        for label in open { note(process.id, .answers(label, .notAttempted)) }
        note(process.id, .ends(status: status))
    }

    /// An operation as read by a command.
    private enum Given {
        case added(Policy.Operation)
        case imported(PortableOperation)
    }

    private func given(
        _ planned: Plan.PlannedOffer, _ plan: Plan.EnterPlan, _ spool: SpoolDirectory, _ process: SimulatedProcess
    ) -> (Offer, Given)? {
        let way: Offer.Way =
            switch plan.way {
            case _ where plan.isAtomic: .atomic(batch: process.id.number)
            case .add, .writer: .add
            case .importing(let replaces): replaces ? .replacing : .importing
            }
        var (offer, operation) = offer(planned, way, process)
        guard case .importing(let replaces) = plan.way else { return (offer, .added(operation)) }
        offer.isReplacing = replaces
        var entry = Entry(state: .new, name: EntryName(naming: operation.header))
        if let target = planned.idOf {
            // As `export ID | edit | import --replace`: the line has all but the payload of the old operation.
            guard let id = ids(of: target, process).first, let old = exported(id, spool) else { return nil }
            if planned.edit > .zero { process.sleep(until: scheduler.time + planned.edit) }
            operation = Policy.Operation(header: old.header, body: operation.body)
            entry = old.entry
            offer.type = old.header.type
            offer.key = old.header.key
            offer.notBefore = old.header.notBefore
            offer.expiresAt = old.header.expiresAt
            offer.isDeadLetter = entry.state == .failed
        }
        offer.id = operation.header.id
        offer.createdAt = operation.header.createdAt
        do throws(OperationFileError) {
            let line = try PortableOperation(entry, file: OperationFile.encode(operation)).line()
            return (offer, .imported(try PortableOperation(json: line, file: "-", line: planned.label)))
        } catch {
            preconditionFailure("an export cannot be read: \(error)")
        }
    }

    /// Returns the operation in the form that `export` prints; `nil` if the operation is unreadable or not in the
    /// queue.
    private func exported(_ id: OperationID, _ spool: SpoolDirectory) -> PortableOperation? {
        do throws(SpoolError) {
            guard case .operation(let entry)? = try spool.found([.id(id)])[.id(id)]?.first, entry.state != .delivered,
                case .success(let operation)? = try spool.portable(entry)
            else { return nil }
            return operation
        } catch {
            return nil
        }
    }

    private func take(_ event: AdderEvent, of process: SimulatedProcess, _ open: inout [Label]) {
        switch event {
        case .answered(_, let result, let place, replaces: _):
            open.removeAll { $0 == place.line }
            note(process.id, .answers(place.line, answer(result)))
        case .refused(let place, reason: _, keptAs: _, lostBy: _):
            open.removeAll { $0 == place.line }
            note(process.id, .answers(place.line, .refused))
        case .added(let accepted):
            // Reports the operations replaced by newer operations first, then the oldest operations (drainq-queue(5),
            // PROMISES AND THEIR LIMITS).
            for older in accepted.superseded {
                note(process.id, .reports(.superseded(older.entry.name.id, by: older.newer)))
            }
            for entry in accepted.evicted { note(process.id, .reports(.evicted(entry.name.id))) }
        case .batchEnded: break
        }
    }

    private func answer(_ acceptance: Acceptance) -> Answer {
        switch acceptance {
        case .accepted(let name): .accepted(name)
        case .duplicate: .duplicate
        case .inFlight: .inFlight
        case .isBeingSent, .isGone: .notAttempted
        case .rejected: .full
        case .refused: .refused
        case .notAttempted: .notAttempted
        }
    }

    // MARK: - SpoolWriter

    /// Adds operations in the way of a program with SpoolWriter: all at once, or each when it is there.
    private func write(_ plan: Plan.EnterPlan, _ process: SimulatedProcess) {
        let text = Array(plan.offers.isEmpty ? "".utf8 : self.plan.setup.text.utf8)
        nonisolated(unsafe) let surroundings = WriterSurroundings(
            system: calls(of: process), now: { [unowned self] in now(on: process.host) }, contents: { _, _ in text })
        do throws(WriteError) {
            let queue = try WritableQueue(at: Self.queue, in: surroundings)
            var batch: [(Offer, NewOperation)] = []
            for (index, planned) in plan.offers.enumerated() {
                if let pause = plan.pauses[index] { process.sleep(until: scheduler.time + pause) }
                let way: Offer.Way = plan.isAtomic ? .atomic(batch: process.id.number) : .writer
                var offer = offer(planned, way, process).offer
                offer.isQuiet = true
                note(process.id, .offers(offer))
                var operation = NewOperation(
                    json: offer.payload, type: offer.type.description, key: offer.key, id: offer.id?.description)
                operation.notBefore = offer.notBefore.map(Date.init)
                operation.expiresAt = offer.expiresAt.map(Date.init)
                batch.append((offer, operation))
                if !plan.isAtomic || index == plan.offers.count - 1 {
                    add(batch, to: queue, process)
                    batch = []
                }
            }
            note(process.id, .ends(status: 0))
        } catch {
            note(process.id, .reports(.error("\(error)")))
            note(process.id, .ends(status: 74))
        }
    }

    private func add(
        _ batch: [(offer: Offer, operation: NewOperation)], to queue: WritableQueue, _ process: SimulatedProcess
    ) {
        do throws(WriteError) {
            _ = try queue.add(batch.map(\.operation))
            for (offer, _) in batch {
                // The writer answers an id already in the queue as if the writer had added the operation.
                note(process.id, .answers(offer.label, names[offer.label].map { .accepted($0) } ?? .duplicate))
            }
        } catch {
            for (offer, _) in batch {
                let answer: Answer =
                    switch error.kind {
                    case .full: .full
                    case .invalid: .refused
                    default: .error("\(error)")
                    }
                note(process.id, .answers(offer.label, answer))
            }
        }
    }
}

extension Date {
    fileprivate init(_ time: Timestamp) {
        self.init(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
    }
}
