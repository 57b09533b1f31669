import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// Rows W → N, D, X, K: exported operations come back.
struct RestoreTests {
    /// Returns an operation for each state.
    private func operations(_ queue: TemporaryQueue) throws -> [PortableOperation] {
        try [QueueState.new, .deferred, .failed, .delivered].enumerated().map { index, state in
            var operation = queue.operation("\(state)", index)
            operation.attempts = state == .new ? [] : [TemporaryQueue.record()]
            var name = EntryName(naming: operation.header)
            if state != .new { name.attempts = 1 }
            return try PortableOperation(Entry(state: state, name: name), file: OperationFile.encode(operation))
        }
    }

    private func restore(
        _ operations: [PortableOperation], _ open: SpoolDirectory, _ limits: Limits = Limits(), allOrNone: Bool = false
    ) throws(SpoolError) -> Accepted {
        var control = AdmissionControl(limits)
        return try open.accept(
            TemporaryQueue.portable(operations), within: &control, allOrNone: allOrNone)
    }

    @Test func `import syncs every file before its rename, and every directory before the answer`() throws {
        let queue = try TemporaryQueue()
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset()
        _ = try restore(try operations(queue), open)
        let log = calls.log.filter { ["write", "fsync", "renameNoReplace"].contains($0) }
        let writes = Array(repeating: ["write", "fsync"], count: 4).flatMap(\.self)
        #expect(
            log == writes + Array(repeating: "renameNoReplace", count: 4) + Array(repeating: "fsync", count: 4))
    }

    @Test(arguments: [true, false])
    func `after a crash or an error at any call, each operation is whole and in its place, or absent`(isCrash: Bool)
        throws
    {
        for links in [false, true] {
            for index in 1... {
                let queue = try TemporaryQueue()
                let operations = try operations(queue)
                let calls = InterceptedCalls()
                var isAnswered = false
                do {
                    var system = calls.calls
                    if links { system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) } }
                    let open = try queue.open(system)
                    calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                    isAnswered = (try? restore(operations, open)) != nil
                }
                #expect(calls.descriptors.isEmpty)
                try queue.recover()
                let entries = try queue.entries()
                for entry in entries {
                    let operation = try #require(operations.first { $0.entry == entry })
                    #expect(queue.bytes(entry.path) == operation.file)
                }
                #expect(queue.names("tmp").isEmpty)
                if isAnswered { #expect(Set(entries) == Set(operations.map(\.entry))) }
                if !isAnswered, !isCrash { #expect(entries.isEmpty, "call \(index): nothing was promised") }
                if calls.count < index { break }
            }
        }
    }

    @Test func `import leaves an operation that is already in the queue unchanged`() throws {
        let queue = try TemporaryQueue()
        let entry = try queue.add(["failed"])[0]
        let before = queue.bytes(entry.path)
        let results = try restore(try operations(queue), try queue.open()).results
        #expect(results[2] == .duplicate(of: .new))
        #expect(queue.bytes(entry.path) == before && queue.names("failed").isEmpty)
        let again = try restore(try operations(queue), try queue.open()).results
        #expect(
            again == [
                .duplicate(of: .new), .duplicate(of: .deferred), .duplicate(of: .new), .duplicate(of: .delivered),
            ])
    }

    @Test func `imported waiting operations count against the limits, failed and delivered operations do not`() throws {
        let queue = try TemporaryQueue()
        let operations = try operations(queue)
        let results = try restore(operations, try queue.open(), Limits(operations: 1)).results
        #expect(results[1] == .rejected(.operations(1)))
        #expect(queue.names("failed").count == 1 && queue.names("delivered").count == 1)
        let other = try TemporaryQueue()
        let none = try restore(operations, try other.open(), Limits(operations: 1), allOrNone: true).results
        #expect(none == [.notAttempted, .rejected(.operations(1)), .notAttempted, .notAttempted])
        #expect(try other.entries().isEmpty)
    }

    @Test func `many attempts do not count as a long header`() throws {
        let queue = try TemporaryQueue()
        var operation = queue.operation("a")
        operation.attempts = Array(repeating: TemporaryQueue.record(), count: 2000)
        let file = OperationFile.encode(operation)
        #expect(file.count > OperationFile.headerLimit)
        let portable = try PortableOperation(
            Entry(state: .failed, name: EntryName(naming: operation.header)), file: file)
        guard case .accepted = try restore([portable], try queue.open()).results[0] else { throw Errno(0) }
        #expect(queue.bytes(portable.entry.path) == file)
    }

    private func portable(_ queue: TemporaryQueue, _ state: QueueState, body: String) throws -> PortableOperation {
        let operation = queue.operation("x", body: body)
        var name = EntryName(naming: operation.header)
        if state != .new { name.attempts = 1 }
        return try PortableOperation(Entry(state: state, name: name), file: OperationFile.encode(operation))
    }

    @Test(arguments: [false, true])
    func `after a crash or an error during a replacement the old or the new operation is there`(isCrash: Bool) throws {
        let states: [(QueueState, QueueState)] = [(.new, .new), (.failed, .failed), (.deferred, .new)]
        for (state, new) in states {
            for index in 1... {
                let queue = try TemporaryQueue()
                _ = try restore([portable(queue, state, body: "1")], queue.open())
                let calls = InterceptedCalls()
                var isAnswered = false
                do {
                    let open = try queue.open(calls.calls)
                    calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                    var control = AdmissionControl(Limits(operations: 1))
                    let submissions = TemporaryQueue.portable([try portable(queue, new, body: "2")])
                    let accepted = try? open.accept(submissions, within: &control, replacing: true)
                    if case .accepted? = accepted?.results.first { isAnswered = true }
                }
                try queue.recover()
                var bodies: [String] = []
                for entry in try queue.entries() {
                    guard case .operation(let stored)? = try queue.open().read(entry) else { continue }
                    bodies.append(String(decoding: stored.operation.body, as: UTF8.self))
                }
                #expect(bodies == ["1"] || bodies == ["2"], "\(state) \(new) \(index): \(bodies)")
                if isAnswered { #expect(bodies == ["2"], "\(state) \(new) \(index)") }
                #expect(queue.names("tmp").isEmpty)
                if calls.count < index { break }
            }
        }
    }

    @Test func `a replacement keeps the name of the replaced operation`() throws {
        let queue = try TemporaryQueue()
        var old = try portable(queue, .deferred, body: "1").entry.name
        old.attempts = 4
        old.interruptions = 1
        old.gate = .retryAt((TemporaryQueue.now + .seconds(60)).roundedUpToMilliseconds)
        let entry = Entry(state: .deferred, name: old)
        _ = try restore(
            [PortableOperation(entry, file: OperationFile.encode(queue.operation("x", body: "1")))], queue.open())
        var control = AdmissionControl(Limits())
        let new = try portable(queue, .new, body: "2")
        let accepted = try queue.open().accept(TemporaryQueue.portable([new]), within: &control, replacing: true)
        #expect(accepted.results == [.accepted(old)] && accepted.replaced == [entry])
        #expect(try queue.entries() == [entry] && isEdited(entry, to: new, queue))
        #expect(queue.names("claimed").isEmpty && queue.names("tmp").isEmpty)
    }

    @Test(arguments: [QueueState.new, .deferred, .failed], [QueueState.new, .deferred, .failed])
    func `import replaces an operation although its state or hold has changed since the export`(
        state: QueueState, exported: QueueState
    ) throws {
        for isHeld in [false, true] {
            let queue = try TemporaryQueue()
            var old = try portable(queue, state, body: "1").entry
            old.name.isHeld = isHeld && state != .failed
            let file = OperationFile.encode(queue.operation("x", body: "1"))
            _ = try restore([PortableOperation(old, file: file)], queue.open())
            var new = try portable(queue, exported, body: "2")
            if exported != .failed {
                var name = new.entry.name
                name.isHeld = !isHeld
                new = try PortableOperation(Entry(state: exported, name: name), file: new.file)
            }
            var control = AdmissionControl(Limits())
            let accepted = try queue.open().accept(TemporaryQueue.portable([new]), within: &control, replacing: true)
            #expect(accepted.results == [.accepted(old.name)] && accepted.replaced == [old])
            #expect(try queue.entries() == [old])
            #expect(try isEdited(old, to: new, queue))
        }
    }

    /// Adds an operation, exports it, and has a run claim it.
    private func claimed(
        in queue: TemporaryQueue, _ open: SpoolDirectory
    ) throws -> (exported: PortableOperation, run: SpoolRun, claim: Claim) {
        let entry = try queue.add(["x"])[0]
        let exported = try #require(try open.portable(entry)).get()
        let run = try open.beginRun(now: TemporaryQueue.now)
        return (exported, run, try #require(try run.claim(entry)))
    }

    @Test func `a replacement keeps the records of attempts that a run has made since the export`() throws {
        let queue = try TemporaryQueue()
        let open = try queue.open()
        let (exported, run, claim) = try claimed(in: queue, open)
        _ = try run.settle(claim, as: .failed(countsAttempt: true), record: TemporaryQueue.record(.failed))
        run.haveTold()
        try run.end()
        var control = AdmissionControl(Limits())
        let accepted = try open.accept(TemporaryQueue.portable([exported]), within: &control, replacing: true)
        #expect(accepted.replaced.map(\.state) == [.failed])
        let kept = try #require(try open.portable(accepted.replaced[0])).get()
        #expect(kept.attempts == [TemporaryQueue.record(.failed)])
    }

    @Test func `import does not replace a failed operation that its run may take back`() throws {
        let queue = try TemporaryQueue()
        let open = try queue.open()
        let (exported, run, claim) = try claimed(in: queue, open)
        let disposal = SpoolRun.Disposal(claim, .failed(countsAttempt: true), record: TemporaryQueue.record(.failed))
        _ = try run.withhold(disposal, now: TemporaryQueue.now)
        func replace() throws -> [Acceptance] {
            var control = AdmissionControl(Limits())
            return try open.accept(TemporaryQueue.portable([exported]), within: &control, replacing: true).results
        }
        #expect(try replace() == [.inFlight])
        run.endWithholding(claim)
        #expect(try replace().count { $0 == .inFlight } == 0)
    }

    /// Whether an operation has the content of its replacement, under an idempotency key of its own.
    private func isEdited(_ entry: Entry, to new: PortableOperation, _ queue: TemporaryQueue) throws -> Bool {
        guard case .operation(let stored)? = try queue.open().read(entry) else { return false }
        return stored.operation.body == new.body && stored.operation.header.hasKeyOfEdit
    }

    @Test func `an edit is a new request, although no request of the old one may have begun`() throws {
        let queue = try TemporaryQueue()
        let open = try queue.open()
        try queue.add(["x"])
        func key() throws -> String? {
            guard case .operation(let stored)? = try open.read(try queue.entries()[0]) else { return "unreadable" }
            return stored.operation.header.idempotencyKey
        }
        func edit(_ body: String, _ key: String? = nil) throws {
            var operation = queue.operation("x", body: body)
            operation.header.idempotencyKey = key
            let line = try PortableOperation(
                Entry(state: .new, name: EntryName(naming: operation.header)), file: OperationFile.encode(operation))
            var control = AdmissionControl(Limits())
            let accepted = try open.accept(TemporaryQueue.portable([line]), within: &control, replacing: true)
            #expect(accepted.replaced.count == 1)
        }
        try edit("1")
        let first = try #require(try key())
        #expect(first.hasPrefix(OperationHeader.keyOfEdit))
        // The same again, from an export before the edit.
        try edit("1")
        #expect(try key() == first)
        try edit("2")
        let second = try #require(try key())
        #expect(second != first && second.hasPrefix(OperationHeader.keyOfEdit))
        try edit("3", first)
        #expect(try key() != first && key() != second)
        try edit("4", "mine")
        #expect(try key() == "mine")
        guard case .operation(let stored)? = try open.read(try queue.entries()[0]) else { throw Errno(0) }
        #expect(stored.operation.header.edited == OperationHeader.Edit(attempts: 0, interruptions: 0))
    }

    @Test func `a url of other bytes and equal characters makes an edit a new request`() throws {
        let queue = try TemporaryQueue()
        let open = try queue.open()
        var operation = queue.operation("x")
        operation.header.url = "http://a.example/cafe\u{301}"
        _ = try open.accept([operation], limits: Limits(), durable: false)
        let run = try open.beginRun(now: TemporaryQueue.now)
        let claim = try #require(try run.claim(try queue.entries()[0]))
        run.begin([claim])
        _ = try run.settle(claim, .putBack, record: nil, now: TemporaryQueue.now)
        try run.end()
        operation.header.url = "http://a.example/caf\u{E9}"
        let line = try PortableOperation(
            Entry(state: .new, name: EntryName(naming: operation.header)), file: OperationFile.encode(operation))
        var control = AdmissionControl(Limits())
        let accepted = try open.accept(TemporaryQueue.portable([line]), within: &control, replacing: true)
        #expect(accepted.replaced.count == 1)
        guard case .operation(let stored)? = try open.read(try queue.entries()[0]) else { throw Errno(0) }
        #expect(stored.operation.header.hasKeyOfEdit)
        #expect(stored.operation.header.url?.utf8.elementsEqual("http://a.example/caf\u{E9}".utf8) == true)
    }

    @Test func `import does not replace an operation in quarantine`() throws {
        let queue = try TemporaryQueue()
        _ = try restore([portable(queue, .new, body: "1")], queue.open())
        let entry = try #require(queue.entries().first)
        let run = try queue.open().beginRun(now: TemporaryQueue.now)
        let claim = try #require(try run.claim(entry))
        _ = try run.settle(claim, .quarantined(reason: "no reason"), record: nil, now: TemporaryQueue.now)
        try run.end()
        var control = AdmissionControl(Limits())
        let new = TemporaryQueue.portable([try portable(queue, .new, body: "2")])
        guard case .refused(let reason) = try queue.open().accept(new, within: &control, replacing: true).results[0]
        else { throw Errno(0) }
        #expect(reason.contains("in quarantine; drop the operation in the queue, then import this one"))
    }

    @Test(arguments: ["type", "key", "createdAt", "url"])
    func `import refuses a replacement with a different type, key, time of creation or URL`(difference: String) throws {
        let queue = try TemporaryQueue()
        _ = try restore([portable(queue, .deferred, body: "1")], queue.open())
        let before = try queue.entries()
        var operation = queue.operation("x", body: "2")
        switch difference {
        case "type": operation.header.type = TypeName("other")!
        case "key": operation.header.key = "k"
        case "createdAt": operation.header.createdAt = operation.header.createdAt + .seconds(1)
        case "url": operation.header.url = "http://localhost/"
        default: break
        }
        let entry = Entry(state: .new, name: EntryName(naming: operation.header))
        let new = try PortableOperation(entry, file: OperationFile.encode(operation))
        var control = AdmissionControl(Limits())
        let accepted = try queue.open().accept(TemporaryQueue.portable([new]), within: &control, replacing: true)
        guard case .refused(let reason) = accepted.results[0] else { throw Errno(0) }
        #expect(reason.contains("drop the operation in the queue, then import this one"))
        #expect(try queue.entries() == before)
    }

    @Test(arguments: [false, true])
    func `all or none: a batch of replacements enters whole or not at all, whatever call fails`(isCrash: Bool) throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            func batch(_ body: String) throws -> [PortableOperation] {
                try [("a", QueueState.new), ("b", .deferred), ("c", .failed)].enumerated().map { number, item in
                    let operation = queue.operation(item.0, number, body: body)
                    var name = EntryName(naming: operation.header)
                    if item.1 != .new { name.attempts = 1 }
                    return try PortableOperation(
                        Entry(state: item.1, name: name), file: OperationFile.encode(operation))
                }
            }
            _ = try restore(batch("1"), queue.open())
            let calls = InterceptedCalls()
            var isAnswered = false
            do {
                let open = try queue.open(calls.calls)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                var control = AdmissionControl(Limits())
                let submissions = TemporaryQueue.portable(try batch("2"))
                let accepted = try? open.accept(submissions, within: &control, allOrNone: true, replacing: true)
                isAnswered = accepted?.replaced.count == 3
            }
            #expect(calls.descriptors.isEmpty)
            try queue.recover()
            var bodies: [String] = []
            for entry in try queue.entries() {
                guard case .operation(let stored)? = try queue.open().read(entry) else { continue }
                bodies.append(String(decoding: stored.operation.body, as: UTF8.self))
            }
            #expect(bodies.count == 3 && Set(bodies).count == 1, "\(index): \(bodies)")
            if isAnswered { #expect(bodies.first == "2", "\(index)") }
            #expect(queue.names("tmp").isEmpty && queue.names("claimed").isEmpty, "\(index)")
            if calls.count < index { break }
        }
    }

    @Test func `all or none: nothing of a batch enters if a run has claimed an operation to be replaced`() throws {
        let queue = try TemporaryQueue()
        let old = [try portable(queue, "a", 0, size: 300), try portable(queue, "b", 1, size: 300)]
        _ = try restore(old, queue.open())
        let run = try queue.open().beginRun(now: TemporaryQueue.now)
        var control = AdmissionControl(Limits())
        let new = [try portable(queue, "a", 0, size: 400), try portable(queue, "b", 1, size: 400)]
        // The claim comes after the search for the ids.
        var system = SystemCalls.real
        let real = system
        system.makeDirectory = { (directory, path, mode) throws(Errno) in
            if String(cString: path).hasSuffix(".entering") { _ = try? run.claim(old[1].entry) }
            try real.makeDirectory(directory, path, mode)
        }
        let accepted = try queue.open(system).accept(
            TemporaryQueue.portable(new), within: &control, allOrNone: true, replacing: true)
        #expect(accepted.results == [.notAttempted, .inFlight] && accepted.replaced.isEmpty)
        #expect(queue.bytes(old[0].entry.path) == old[0].file)
        try run.end()
        #expect(queue.bytes(old[1].entry.path) == old[1].file)
    }

    @Test func `import does not replace a claimed operation`() throws {
        let queue = try TemporaryQueue()
        _ = try restore([portable(queue, .new, body: "1")], queue.open())
        let run = try queue.open().beginRun(now: TemporaryQueue.now)
        let entry = try #require(queue.entries().first)
        _ = try #require(try run.claim(entry))
        var control = AdmissionControl(Limits())
        let submissions = TemporaryQueue.portable([try portable(queue, .new, body: "2")])
        let accepted = try queue.open().accept(submissions, within: &control, replacing: true)
        #expect(accepted.results == [.inFlight] && accepted.replaced.isEmpty)
        try run.end()
        #expect(try queue.entries().map(\.name.interruptions) == [0])
    }

    /// Returns an operation to import, created `number` microseconds after `now`, with a file of `size` bytes.
    private func portable(_ queue: TemporaryQueue, _ id: String, _ number: Int, size: Int) throws -> PortableOperation {
        func make(_ length: Int) throws -> PortableOperation {
            let operation = queue.operation(id, number, body: "\"\(String(repeating: "x", count: length))\"")
            return try PortableOperation(
                Entry(state: .new, name: EntryName(naming: operation.header)), file: OperationFile.encode(operation))
        }
        let length = 100 + size - (try make(100).file.count)
        let made = try make(length)
        #expect(made.file.count == size)
        return made
    }

    @Test func `a replacement evicts older operations, never newer operations or itself`() throws {
        let queue = try TemporaryQueue()
        let open = try queue.open()
        let limits = Limits(bytes: 1000, whenFull: .dropOldest)
        let old = [try portable(queue, "y", 0, size: 400), try portable(queue, "x", 1, size: 400)]
        _ = try restore(old, open)
        var control = AdmissionControl(limits)
        func replace(_ operations: PortableOperation...) throws -> Accepted {
            try open.accept(TemporaryQueue.portable(operations), within: &control, replacing: true)
        }
        // The oldest operation may not grow at the cost of a newer operation.
        #expect(try replace(portable(queue, "y", 0, size: 700)).results == [.rejected(.bytes(1000))])
        let replacing = try portable(queue, "x", 1, size: 700)
        let accepted = try replace(replacing)
        #expect(accepted.evicted == [old[0].entry] && accepted.replaced == [old[1].entry])
        #expect(try queue.entries() == [replacing.entry] && isEdited(replacing.entry, to: replacing, queue))
        // An operation that has no other to replace does not enter: the other may have been delivered.
        let batch = [
            try portable(queue, "z", 2, size: 300), try portable(queue, "x", 1, size: 600),
            try portable(queue, "w", 3, size: 300),
        ]
        let more = try replace(batch[0], batch[1], batch[2])
        #expect(more.results == [.isGone, .accepted(batch[1].entry.name), .isGone] && more.evicted.isEmpty)
        #expect(try queue.entries() == [batch[1].entry] && isEdited(batch[1].entry, to: batch[1], queue))
    }

    @Test func `an imported operation evicts no newer operation`() throws {
        let queue = try TemporaryQueue()
        let old = [try portable(queue, "x", 2, size: 400), try portable(queue, "y", 3, size: 400)]
        _ = try restore(old, queue.open())
        let limits = Limits(operations: 2, whenFull: .dropOldest)
        let late = try restore([portable(queue, "a", 1, size: 400)], queue.open(), limits)
        #expect(late.results == [.rejected(.operations(2))] && late.evicted.isEmpty)
        // A newer operation of the same batch finds room.
        let both = [try portable(queue, "a", 1, size: 400), try portable(queue, "z", 4, size: 400)]
        let accepted = try restore(both, queue.open(), limits)
        #expect(accepted.results == [.rejected(.operations(2)), .accepted(both[1].entry.name)])
        #expect(accepted.evicted == [old[0].entry])
    }

    @Test func `a replaced operation makes room, also after a recount of the queue`() throws {
        let queue = try TemporaryQueue()
        let open = try queue.open()
        var control = AdmissionControl(Limits(operations: 3))
        func give(_ ids: String..., replacing: Bool = true) throws -> [Acceptance] {
            let batch = try ids.map { try portable(queue, $0, 0, size: 400) }
            return try open.accept(TemporaryQueue.portable(batch), within: &control, replacing: replacing).results
        }
        _ = try give("a", "b", "c", replacing: false)
        let other = try #require(try queue.entries().first { $0.name.id.description == "c" })
        #expect(try queue.open().drop(other))
        let results = try give("a") + give("d", replacing: false)
        #expect(results.allSatisfy { if case .accepted = $0 { true } else { false } })
        #expect(try give("e", replacing: false) == [.rejected(.operations(3))])
        #expect(try give("e") == [.isGone])
    }

    @Test(arguments: [false, true])
    func `a process that decides an order finds exactly the old or the new operation during a replacement`(
        isCrash: Bool
    ) throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            _ = try restore([portable(queue, .deferred, body: "1")], queue.open())
            var system = SystemCalls.real
            system.sleep = { _ in }
            let lister = try queue.open(system)
            let calls = InterceptedCalls()
            var listings: [Int] = []
            func list() {
                var names: Set<EntryName> = []
                // While the lock is taken, no run decides an order.
                try? lister.withNamesLock(patience: .zero) { () throws(SpoolError) in
                    try lister.forEachStandingName { name, _ in names.insert(EntryName(name)) }
                    listings.append(names.count)
                }
            }
            do {
                var system = calls.calls
                let real = system
                system.renameNoReplace = { (directory, from, to) throws(Errno) in
                    list()
                    try real.renameNoReplace(directory, from, to)
                    list()
                }
                system.unlink = { (directory, path) throws(Errno) in
                    list()
                    try real.unlink(directory, path)
                }
                let open = try queue.open(system)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                var control = AdmissionControl(Limits())
                let submissions = TemporaryQueue.portable([try portable(queue, .new, body: "2")])
                _ = try? open.accept(submissions, within: &control, replacing: true)
            }
            list()
            #expect(!listings.isEmpty && listings.allSatisfy { $0 == 1 }, "\(index): \(listings)")
            if calls.count < index { break }
        }
    }

    @Test func `recovery completes the batch of a dead writer under the names lock`() throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            let second = try portable(queue, "y", 1, size: 300)
            _ = try restore([portable(queue, .new, body: "1"), second], queue.open())
            let calls = InterceptedCalls()
            do {
                let open = try queue.open(calls.calls)
                calls.reset(.crash(at: index))
                var control = AdmissionControl(Limits())
                let batch = [try portable(queue, .new, body: "2"), second]
                _ = try? open.accept(
                    TemporaryQueue.portable(batch), within: &control, allOrNone: true, replacing: true)
            }
            let other = try queue.open()
            var system = SystemCalls.real
            let real = system
            var isFree = false
            system.renameNoReplace = { (directory, from, to) throws(Errno) in
                if (try? other.withNamesLock(patience: .zero) { () throws(SpoolError) in }) != nil { isFree = true }
                try real.renameNoReplace(directory, from, to)
            }
            let run = try queue.open(system).beginRun(now: TemporaryQueue.now)
            isFree = false
            _ = try run.recover(now: TemporaryQueue.now)
            #expect(!isFree, "\(index)")
            #expect([1, 2].contains(try queue.entries().count))
            try run.end()
            if calls.count < index { break }
        }
    }
}
