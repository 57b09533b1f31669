import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

struct AcceptTests {
    let queue: TemporaryQueue

    init() throws {
        queue = try TemporaryQueue()
    }

    @Test(arguments: [1, 3, 40])
    func `accept writes each operation to new, under its name, byte for byte`(count: Int) throws {
        let operations = (0..<count).map { queue.operation("id-\($0)", $0) }
        let accepted = try queue.open().accept(operations, limits: Limits())
        #expect(accepted.evicted.isEmpty && accepted.results.count == count)
        for (operation, result) in zip(operations, accepted.results) {
            guard case .accepted(let name) = result else { throw Errno(0) }
            #expect(queue.bytes("new/\(name)") == OperationFile.encode(operation))
        }
        #expect(queue.names("tmp").isEmpty && queue.names("new").count == count)
        #expect(try queue.open().accept([], limits: Limits()).results.isEmpty)
    }

    @Test func `accept syncs the file before the rename, and the directory before the answer`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset()
        _ = try open.accept([queue.operation("a")], limits: Limits())
        let log = calls.log.filter { ["write", "fsync", "syncfs", "renameNoReplace"].contains($0) }
        #expect(log == ["write", "fsync", "renameNoReplace", "fsync"])
        calls.reset()
        _ = try open.accept((0..<20).map { queue.operation("b\($0)", $0) }, limits: Limits())
        let bulk = calls.log.filter { ["write", "fsync", "syncfs", "renameNoReplace"].contains($0) }
        #expect(
            bulk == Array(repeating: "write", count: 20) + ["syncfs"] + Array(repeating: "renameNoReplace", count: 20)
                + ["fsync"])
        calls.reset()
        _ = try open.accept([queue.operation("c")], limits: Limits(), durable: false)
        #expect(!calls.log.contains("fsync"))
    }

    @Test func `the id of a failure that its run may take back is in flight, and failed once that is certain`() throws {
        let entry = try queue.add(["a"])[0]
        let run = try queue.open().beginRun(now: TemporaryQueue.now)
        let claim = try #require(try run.claim(entry))
        _ = try run.withhold(SpoolRun.Disposal(claim, .failed(countsAttempt: true)), now: TemporaryQueue.now)
        func answers() throws -> [Acceptance] {
            try queue.open().accept([queue.operation("a", 1)], limits: Limits(), givenIDs: [entry.name.id]).results
        }
        #expect(try answers() == [.duplicate(of: .claimed)])
        run.endWithholding(claim)
        #expect(try answers() == [.duplicate(of: .failed)])
        try run.end()
    }

    @Test func `accept answers an id of the queue as a duplicate, and names its state`() throws {
        let added = try queue.add(["new", "deferred", "claimed", "failed", "bad"])
        let open = try queue.open()
        let run = try open.beginRun(now: TemporaryQueue.now)
        for (index, disposition) in [
            (1, Disposition.deferred(until: .init(microseconds: 9), countsAttempt: true)),
            (3, .failed(countsAttempt: true)), (4, .quarantined(reason: "x")),
        ] {
            _ = try run.settle(
                try #require(try run.claim(added[index])), disposition, record: nil, now: TemporaryQueue.now)
        }
        _ = try run.claim(added[2])
        let ids = ["new", "deferred", "claimed", "failed", "bad", "fresh", "fresh"]
        let results = try open.accept(
            ids.enumerated().map { queue.operation($1, 100 + $0) }, limits: Limits(),
            givenIDs: ids.map { OperationID($0)! }
        ).results
        #expect(
            results.prefix(5) == [
                .duplicate(of: .new), .duplicate(of: .deferred), .duplicate(of: .claimed), .duplicate(of: .failed),
                .duplicate(of: .quarantine),
            ])
        guard case .accepted = results[5] else { throw Errno(0) }
        #expect(results[6] == .duplicate(of: .new))
        // A generated id is not looked for, but a name is never replaced.
        #expect(try open.accept([queue.operation("new")], limits: Limits()).results == [.duplicate(of: .new)])
    }

    @Test func `a reached limit rejects an operation, and the answer names the limit`() throws {
        let open = try queue.open()
        let operation = queue.operation("x", 50)
        let size = OperationFile.encode(operation).count
        func results(_ limits: Limits, _ operations: [Policy.Operation]? = nil) throws -> [Acceptance] {
            try open.accept(operations ?? [operation], limits: limits).results
        }
        try queue.add(["a", "b"])
        #expect(try results(Limits(operations: 2)) == [.rejected(.operations(2))])
        #expect(try results(Limits(bytes: size * 2)) == [.rejected(.bytes(size * 2))])
        #expect(try results(Limits(operationBytes: 3)) == [.rejected(.operationBytes(3))])
        #expect(try results(Limits(minimumFree: .max)) == [.rejected(.minimumFree(.max))])
        var long = operation
        long.header.url = String(repeating: "u", count: OperationFile.headerLimit)
        #expect(try results(Limits(), [long]) == [.rejected(.headerBytes(OperationFile.headerLimit))])
        #expect(
            try results(Limits(operations: 3), [operation, queue.operation("y", 51)]).last == .rejected(.operations(3)))
        #expect(queue.names("new").count == 3)
        let words = [FullLimit.operations(1), .bytes(1), .operationBytes(1), .headerBytes(1), .minimumFree(1)].map(
            \.description)
        #expect(Set(words).count == 5)
    }

    @Test func `all or none: a rejected operation keeps the whole batch out`() throws {
        let operations = [queue.operation("a"), queue.operation("b", 1, body: "12345678901")]
        let results = try queue.open().accept(operations, limits: Limits(operationBytes: 10), allOrNone: true).results
        #expect(results == [.notAttempted, .rejected(.operationBytes(10))])
        #expect(queue.names("new").isEmpty && queue.names("tmp").isEmpty)
    }

    @Test func `an evicted operation does not come back from a run that died between link and unlink`() throws {
        let entry = try queue.add(["a"])[0]
        do {
            let run = try queue.open().beginRun(now: TemporaryQueue.now)
            _ = try #require(try run.claim(entry))
            try FileManager.default.linkItem(
                atPath: "\(queue.path)/claimed/\(run.name)/\(entry.name)", toPath: "\(queue.path)/\(entry.path)")
        }
        let accepted = try queue.open().accept(
            [queue.operation("b", 10)], limits: Limits(operations: 1, whenFull: .dropOldest))
        #expect(accepted.evicted == [entry])
        #expect(try queue.recover().returned.isEmpty)
        #expect(try queue.entries().map(\.name.id.description) == ["b"])
    }

    @Test func `dropOldest evicts the oldest waiting operation, never a claimed operation`() throws {
        let added = try queue.add(["a", "b", "c"])
        let open = try queue.open()
        let run = try open.beginRun(now: TemporaryQueue.now)
        _ = try run.claim(added[0])
        let accepted = try open.accept(
            [queue.operation("d", 10), queue.operation("e", 11), queue.operation("f", 12)],
            limits: Limits(operations: 3, whenFull: .dropOldest))
        // The newest of the operations added together stay, as if each had been added alone.
        #expect(accepted.evicted.map(\.name.id.description) == ["b", "c", "d"])
        #expect(accepted.results.allSatisfy { if case .accepted = $0 { true } else { false } })
        #expect(try Set(queue.entries().map(\.name.id.description)) == ["a", "e", "f"])
        let size = OperationFile.encode(queue.operation("g")).count
        let bySize = try open.accept([queue.operation("g", 13)], limits: Limits(bytes: size * 3, whenFull: .dropOldest))
        #expect(bySize.evicted.map(\.name.id.description) == ["e"])
        #expect(try Set(queue.entries().map(\.name.id.description)) == ["a", "f", "g"])
    }

    @Test func `an operation that has expired enters if there is room, and displaces none`() throws {
        let limits = Limits(operations: 2, whenFull: .dropOldest)
        func expired(_ id: String, _ age: Int) -> Policy.Operation {
            var operation = queue.operation(id, age)
            operation.header.expiresAt = TemporaryQueue.now
            return operation
        }
        let open = try queue.open()
        let first = try open.accept([queue.operation("a"), expired("b", 1)], limits: limits)
        #expect(first.results.allSatisfy { if case .accepted = $0 { true } else { false } })
        let second = try open.accept([expired("c", 2)], limits: limits)
        #expect(second.evicted.isEmpty && second.results == [.rejected(.operations(2))])
        #expect(try Set(queue.entries().map(\.name.id.description)) == ["a", "b"])
    }

    @Test func `dropOldest finds the oldest of thousands of operations`() throws {
        for index in (0..<9000).reversed() {
            let name = EntryName(createdAt: TemporaryQueue.now + .microseconds(index), id: OperationID("o\(index)")!)
            close(creat("\(queue.path)/new/\(name)", 0o600))
        }
        let accepted = try queue.open().accept(
            (0..<4501).map { queue.operation("x\($0)", 10000 + $0) },
            limits: Limits(operations: 9000, whenFull: .dropOldest))
        #expect(accepted.evicted.count == 4501 && accepted.evicted.last?.name.id.description == "o4500")
        #expect(queue.names("new").count == 9000)
    }

    @Test(arguments: [true, false])
    func `dropOldest loses nothing to a crash or an error: older operations go after newer operations are in`(
        isCrash: Bool
    ) throws {
        let limits = Limits(operations: 2, whenFull: .dropOldest)
        for index in 1... {
            let fresh = try TemporaryQueue()
            let old = try fresh.add(["a", "b"])
            let calls = InterceptedCalls()
            var accepted: Accepted?
            do {
                let open = try fresh.open(calls.calls)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                // The first operation of the batch makes room for the rest.
                accepted = try? open.accept(
                    [fresh.operation("x", 9), fresh.operation("c", 10), fresh.operation("d", 11)], limits: limits)
            }
            try fresh.recover()
            let ids = try Set(fresh.entries().map(\.name.id.description))
            if accepted == nil, !isCrash { #expect(try Set(fresh.entries()) == Set(old)) }
            #expect(ids.isSuperset(of: ["c", "d"]) || ids.isSuperset(of: ["a", "b"]))
            if let accepted {
                let evicted = accepted.evicted.map(\.name.id.description)
                #expect(evicted == Array(["a", "b", "x"].prefix(evicted.count)))
                #expect(ids == Set(["a", "b", "c", "d", "x"]).subtracting(evicted))
                #expect(evicted.count == 3 || !accepted.errors.isEmpty)
            }
            // The next batch may find the queue over its limits, and makes room for itself.
            _ = try fresh.open().accept([fresh.operation("e", 12)], limits: limits, durable: false)
            #expect(try fresh.entries().count == max(2, ids.count) && fresh.names("tmp").isEmpty)
            if calls.count < index { break }
        }
    }

    @Test func `an add examines waiting operations once, not once a batch`() throws {
        try queue.add((0..<10).map { "o\($0)" })
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        var control = AdmissionControl(Limits(operations: 100, bytes: 1 << 20, minimumFree: 1))
        for batch in 0..<3 {
            calls.reset()
            let operations = (0..<5).map { queue.operation("b\(batch)-\($0)", 20 + batch * 5 + $0) }
            let accepted = try open.accept(operations, within: &control)
            #expect(accepted.results.count { if case .accepted = $0 { true } else { false } } == 5)
            let looks = calls.log.count { $0 == "statusAt" }
            // Each of the ten operations, and the modes of the queue, of its directories (tmp, state and the states')
            // and of new again.
            #expect(looks - 1 == (batch == 0 ? 10 + QueueState.allCases.count + 4 : 0))
        }
    }

    @Test func `the batches of an add share the limits, and a dropped operation makes room`() throws {
        let open = try queue.open()
        let size = OperationFile.encode(queue.operation("x")).count
        for limits in [Limits(operations: 3), Limits(bytes: size * 3)] {
            let fresh = try TemporaryQueue()
            let first = try fresh.add(["a"])[0]
            let open = try fresh.open()
            var control = AdmissionControl(limits)
            func add(_ ids: [String]) throws -> Int {
                let operations = ids.enumerated().map { fresh.operation($1, 10 + $0) }
                return try open.accept(operations, within: &control).results.count {
                    if case .accepted = $0 { true } else { false }
                }
            }
            #expect(try add(["b"]) == 1 && add(["c", "d"]) == 1 && add(["d"]) == 0)
            #expect(try open.drop(first))
            #expect(try add(["d", "e"]) == 1 && fresh.names("new").count == 3)
        }
        // A failed batch does not count.
        let calls = InterceptedCalls()
        let failing = try queue.open(calls.calls)
        var control = AdmissionControl(Limits(operations: 2))
        calls.reset(.always("write", ENOSPC))
        #expect(throws: SpoolError.self) {
            try failing.accept([queue.operation("a"), queue.operation("b", 1)], within: &control)
        }
        calls.reset()
        let results = try failing.accept(
            [queue.operation("a"), queue.operation("b", 1), queue.operation("c", 2)], within: &control
        ).results
        #expect(results.last == .rejected(.operations(2)) && queue.names("new").count == 2)
        #expect(
            try open.accept([queue.operation("d")], within: &control, allOrNone: true).results == [
                .rejected(.operations(2))
            ])
    }

    @Test func `an error at any call promises nothing, leaves no half-written file, and the next accept works`() throws
    {
        for count in [1, 20] {
            for index in 1... {
                let fresh = try TemporaryQueue()
                let calls = InterceptedCalls()
                let open = try fresh.open(calls.calls)
                calls.reset(.error(ENOSPC, at: index))
                let operations = (0..<count).map { fresh.operation("o\($0)", $0) }
                let accepted = try? open.accept(operations, limits: Limits(operations: 100, minimumFree: 1))
                let isOver = calls.count < index
                calls.reset()
                if accepted == nil {
                    #expect(fresh.names("new").isEmpty)
                    #expect(try fresh.open().accept(operations, limits: Limits()).results.count == count)
                }
                #expect(fresh.names("new").count == count)
                for name in fresh.names("new") { _ = try OperationFile.decode(fresh.bytes("new/\(name)")!, file: name) }
                _ = try fresh.recover()
                #expect(fresh.names("tmp").isEmpty)
                if isOver { break }
            }
        }
    }

    @Test func `a crash at any call leaves all promised operations, and no half-written file`() throws {
        for count in [1, 20] {
            for index in 1... {
                let fresh = try TemporaryQueue()
                let calls = InterceptedCalls()
                let operations = (0..<count).map { fresh.operation("o\($0)", $0) }
                var isPromised = false
                do {
                    let open = try fresh.open(calls.calls)
                    calls.reset(.crash(at: index))
                    isPromised = (try? open.accept(operations, limits: Limits(bytes: 1 << 20))) != nil
                }
                let names = fresh.names("new")
                if isPromised { #expect(names.count == count) }
                for name in names { _ = try OperationFile.decode(fresh.bytes("new/\(name)")!, file: name) }
                _ = try fresh.recover()
                #expect(fresh.names("tmp").isEmpty && fresh.names("new") == names)
                if calls.count < index { break }
            }
        }
    }

    @Test func `an atomic batch is taken back whole if a move by link and unlink leaves a file with both names`() throws
    {
        var (links, refusals) = (0, 0)
        var system = SystemCalls.real
        system.renameNoReplace = { (_, _, _) throws(Errno) in throw Errno(EINVAL) }
        system.link = { (directory, from, to) throws(Errno) in
            links += 1
            try SystemCalls.real.link(directory, from, to)
        }
        // Neither the old nor the new name of the second file can be removed at first.
        system.unlink = { (directory, path) throws(Errno) in
            if links == 2, refusals < 2 {
                refusals += 1
                throw Errno(EDQUOT)
            }
            try SystemCalls.real.unlink(directory, path)
        }
        let open = try queue.open(system)
        #expect(throws: SpoolError.self) {
            try open.accept([queue.operation("a"), queue.operation("b", 1)], limits: Limits(), allOrNone: true)
        }
        #expect(refusals == 2)
        try queue.open().completeCommittedBatches()
        #expect(queue.names("new").isEmpty)
    }
}
