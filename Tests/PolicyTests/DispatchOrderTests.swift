import Policy
import Testing

/// A dispatch order of names. The first letter of a name is its destination.
private struct NamedOrder {
    private var order = DispatchOrder()
    private var names: [String] = []
    private let concurrency: Int

    init(concurrency: Int) { self.concurrency = concurrency }

    var waiting: Int { order.waiting }

    mutating func append(_ name: String, sequence: SequenceKey? = nil) {
        order.append(to: Self.line(name.first!), sequence: sequence)
        names.append(name)
    }

    mutating func putBack(_ name: String) { order.putBack(names.firstIndex(of: name)!) }

    func isEmpty(of destination: Character) -> Bool { order.isEmpty(Self.line(destination)) }

    mutating func next(_ inFlight: [Character: Int] = [:], allowing concurrencyLimit: [Character: Int] = [:]) -> String?
    {
        let next = order.next(
            free: concurrency - inFlight.values.reduce(0, +), inFlight: { inFlight[Self.letter($0), default: 0] },
            turn: { .ready(upTo: concurrencyLimit[Self.letter($0), default: .max]) })
        return next.map { names[$0] }
    }

    mutating func next(_ inFlight: [Character: Int], failing: String, share: Int) -> String? {
        let room = share - inFlight.filter { failing.contains($0.key) }.values.reduce(0, +)
        let next = order.next(
            free: concurrency - inFlight.values.reduce(0, +), inFlight: { inFlight[Self.letter($0), default: 0] },
            trust: { failing.contains(Self.letter($0)) ? .fails : .unknown }, room: .init(failing: room))
        return next.map { names[$0] }
    }

    mutating func next(of destination: Character, where fits: (String) -> Bool) -> String? {
        let names = names
        return order.next(of: Self.line(destination), where: { fits(names[$0]) }).map { names[$0] }
    }

    mutating func newest(of destination: Character, upTo limit: Int) -> [String] {
        order.takeNewest(of: Self.line(destination), upTo: limit).map { names[$0] }
    }

    mutating func advance(_ key: SequenceKey, continues: Bool) -> [String] {
        order.advance(key, continues: continues).map { names[$0] }
    }

    private static func line(_ letter: Character) -> Int { Int(letter.asciiValue!) - 0x61 }
    private static func letter(_ line: Int) -> Character { Character(Unicode.Scalar(UInt8(line + 0x61))) }
}

struct DispatchOrderTests {
    private func order(_ concurrency: Int, _ destinations: String) -> NamedOrder {
        var order = NamedOrder(concurrency: concurrency)
        for (index, destination) in destinations.enumerated() { order.append("\(destination)\(index)") }
        return order
    }

    /// Takes operations until no further operation may start.
    private func fill(
        _ order: inout NamedOrder, _ inFlight: [Character: Int] = [:], allowing concurrencyLimit: [Character: Int] = [:]
    ) -> [String] {
        var inFlight = inFlight
        var started: [String] = []
        while let name = order.next(inFlight, allowing: concurrencyLimit) {
            started.append(name)
            inFlight[name.first!, default: 0] += 1
        }
        return started
    }

    @Test func `failing destinations share a fifth of the slots while a healthy destination has operations`() {
        #expect([1, 2, 5, 9, 10, 64].map(DispatchOrder.failingShare(of:)) == [1, 1, 1, 1, 2, 12])
        var order = order(5, "abcdabcdz")
        #expect(order.next([:], failing: "abcd", share: 1) == "a0")
        #expect(order.next(["a": 1], failing: "abcd", share: 1) == "z8")
        #expect(order.next(["a": 1, "z": 1], failing: "abcd", share: 1) == "b1", "nothing else is left to send")
        #expect(order.next(["a": 1, "b": 1], failing: "abcd", share: 1) == "c2")
    }

    @Test func `a blocked destination keeps no slot from failing destinations`() {
        var order = DispatchOrder()
        for line in [0, 1, 2] { order.append(to: line) }
        let next = order.next(
            free: 1, inFlight: { $0 == 0 ? 1 : 0 }, turn: { $0 == 2 ? .never : .ready(upTo: 5) },
            trust: { $0 < 2 ? .fails : .unknown }, room: .init(failing: 0))
        #expect(next == 1)
    }

    @Test func `a slot is kept for a destination whose rate lets it send in a moment`() {
        var order = DispatchOrder()
        for line in [0, 0, 1] { order.append(to: line) }
        func next(_ free: Int, _ inFlight: Int, _ rated: DispatchOrder.Turn) -> Int? {
            order.next(free: free, inFlight: { $0 == 0 ? inFlight : 0 }, turn: { $0 == 1 ? rated : .ready(upTo: 5) })
        }
        #expect(next(1, 1, .soon) == nil)
        #expect(next(2, 1, .soon) == 0)
        #expect(next(1, 1, .never) == 1)
    }

    @Test func `failing destinations get no slot of a destination whose rate lets it send in a moment`() {
        var order = DispatchOrder()
        for line in [0, 1] { order.append(to: line) }
        let next = order.next(
            free: 5, inFlight: { _ in 0 }, turn: { $0 == 1 ? .soon : .ready(upTo: 5) },
            trust: { $0 == 0 ? .fails : .delivers }, room: .init(failing: 0))
        #expect(next == nil)
    }

    @Test func `one slot is for destinations that deliver, and of a single slot every other attempt`() {
        typealias Room = DispatchOrder.Room
        #expect(Room(of: 5, failing: 1, unproven: 4, lastWasUnproven: true) == Room(failing: 0, unproven: 0))
        #expect(Room(of: 1, failing: 0, unproven: 0, lastWasUnproven: true).unproven == 0)
        #expect(Room(of: 1, failing: 0, unproven: 0, lastWasUnproven: false).unproven == 1)
        var order = DispatchOrder()
        for line in [0, 1, 2] { order.append(to: line) }
        func next(_ room: Int) -> Int? {
            order.next(
                free: 1, inFlight: { _ in 0 }, trust: { $0 == 2 ? .delivers : .unknown }, room: .init(unproven: room))
        }
        #expect(next(0) == 2)
        // No other destination has operations.
        #expect(next(0) == 0)
    }

    @Test(arguments: [DispatchOrder.Trust.unknown, .fails])
    func `destinations without a delivery take turns, whatever the age of their operations`(trust: DispatchOrder.Trust)
    {
        var order = DispatchOrder()
        // 0 and 1 do not answer, and have the older operations. 2 is new, 3 delivers.
        for line in [0, 0, 0, 1, 1, 2, 3, 3] { order.append(to: line) }
        let turns = (0..<8).compactMap { _ in
            order.next(free: 1, inFlight: { _ in 0 }, trust: { $0 == 3 ? .delivers : $0 == 2 ? .unknown : trust })
        }.map { order.line(of: $0) }
        #expect(turns.prefix(3) == [0, 1, 2])
        #expect(turns.filter { $0 < 3 } == [0, 1, 2, 0, 1, 0])
    }

    @Test func `a single destination uses every slot in its order`() {
        var order = order(3, "aaaaa")
        #expect(fill(&order) == ["a0", "a1", "a2"])
        #expect(fill(&order, ["a": 2]) == ["a3"])
        #expect(fill(&order) == ["a4"])
        #expect(order.waiting == 0)
        #expect(fill(&order) == [])
    }

    @Test func `a busy destination leaves a slot for each idle destination`() {
        var order = order(5, "aaaaaaaabbbc")
        #expect(fill(&order) == ["a0", "a1", "a2", "b8", "c11"])
        #expect(fill(&order, ["a": 3, "c": 1]) == ["b9"])
        #expect(fill(&order, ["a": 3, "b": 1]) == ["a3"])
    }

    @Test func `a single slot goes to the oldest operation`() {
        var order = order(1, "aabab")
        var started: [String] = []
        while let element = order.next() { started.append(element) }
        #expect(started == ["a0", "a1", "b2", "a3", "b4"])
    }

    @Test func `with more destinations than slots, an idle destination precedes a second attempt`() {
        var order = order(2, "aabbc")
        #expect(fill(&order) == ["a0", "b2"])
        #expect(fill(&order, ["a": 1]) == ["b3"])
        #expect(fill(&order, ["a": 1]) == ["c4"])
        #expect(fill(&order, ["a": 1]) == ["a1"])
    }

    // MARK: - Concurrency limit

    @Test func `a destination does not exceed its concurrency limit`() {
        var order = order(5, "aaaaabb")
        #expect(fill(&order, allowing: ["a": 2]) == ["a0", "a1", "b5", "b6"])
        #expect(fill(&order, ["a": 1], allowing: ["a": 2]) == ["a2"])
    }

    @Test func `a destination with a limit of zero takes no slot from the rest`() {
        var order = order(3, "xabaaa")
        #expect(fill(&order, allowing: ["x": 0]) == ["a1", "b2", "a3"])
        #expect(fill(&order, allowing: ["x": 0, "a": 1]) == ["a4"])
        #expect(order.waiting == 2)
        #expect(!order.isEmpty(of: "x") && order.isEmpty(of: "b"))
        #expect(fill(&order, allowing: ["x": 1]) == ["x0", "a5"])
        #expect(order.isEmpty(of: "x"))
    }

    // MARK: - Sequences

    private static func key(_ text: String) -> SequenceKey {
        .key(Digest(of: text), of: .default, to: Digest(of: "a"))
    }

    @Test func `a sequence hands out its next operation only after advance`() {
        var order = NamedOrder(concurrency: 4)
        for (index, sequence) in ["k", "k", nil, "m", "k"].enumerated() {
            order.append("a\(index)", sequence: sequence.map(Self.key))
        }
        #expect(fill(&order) == ["a0", "a2", "a3"])
        #expect(order.waiting == 2)
        #expect(order.advance(Self.key("m"), continues: true) == [])
        #expect(fill(&order) == [])
        #expect(order.advance(Self.key("k"), continues: true) == [])
        #expect(fill(&order) == ["a1"])
        #expect(order.advance(Self.key("k"), continues: true) == [])
        #expect(fill(&order) == ["a4"])
        #expect(order.advance(Self.key("k"), continues: true) == [])
        order.append("a5", sequence: Self.key("k"))
        #expect(fill(&order) == ["a5"])
    }

    @Test func `an operation that waited in its sequence precedes younger operations`() {
        var order = NamedOrder(concurrency: 1)
        for (index, sequence) in ["k", "k", nil, nil].enumerated() {
            order.append("a\(index)", sequence: sequence.map(Self.key))
        }
        #expect(fill(&order) == ["a0"])
        #expect(order.next() == "a2")
        #expect(order.advance(Self.key("k"), continues: true) == [])
        #expect(fill(&order) == ["a1"])
    }

    @Test func `a sequence without continuation is removed, and the rest stays`() {
        var order = NamedOrder(concurrency: 1)
        for (index, sequence) in ["k", "m", "k", "m", "k", nil].enumerated() {
            order.append("a\(index)", sequence: sequence.map(Self.key))
        }
        #expect(order.next() == "a0")
        #expect(order.advance(Self.key("k"), continues: false) == ["a2", "a4"])
        #expect(order.advance(Self.key("k"), continues: false) == [])
        #expect(order.waiting == 3)
        // A sequence of which no operation was handed out is removed as a whole.
        #expect(order.advance(Self.key("m"), continues: false) == ["a1", "a3"])
        #expect(order.next() == "a5")
        #expect(order.isEmpty(of: "a"))
    }

    // MARK: - Batches and samples

    @Test func `a batch takes the next operations of its destination until an operation does not fit`() {
        var order = NamedOrder(concurrency: 2)
        for (index, sequence) in [nil, "k", "k", nil, "m", nil].enumerated() {
            order.append("a\(index)", sequence: sequence.map(Self.key))
        }
        order.append("b6")
        #expect(order.next() == "a0")
        #expect(order.next(of: "a", where: { _ in true }) == "a1")
        #expect(order.next(of: "a", where: { $0 != "a5" }) == "a3")
        #expect(order.next(of: "a", where: { $0 != "a5" }) == "a4")
        #expect(order.next(of: "a", where: { $0 != "a5" }) == nil)
        #expect(order.next(of: "z", where: { _ in true }) == nil)
        #expect(order.advance(Self.key("k"), continues: true) == [])
        #expect(order.next(of: "a", where: { $0 != "a5" }) == "a2")
        #expect(order.waiting == 2)
    }

    @Test func `samples are the newest operations, and no sample precedes an older operation of its sequence`() {
        var order = NamedOrder(concurrency: 2)
        for (index, sequence) in [nil, nil, "k", nil, "k", "m"].enumerated() {
            order.append("a\(index)", sequence: sequence.map(Self.key))
        }
        #expect(order.newest(of: "a", upTo: 3) == ["a5", "a3", "a2"])
        #expect(order.newest(of: "a", upTo: 3) == ["a1", "a0"])
        #expect(order.newest(of: "b", upTo: 3) == [])
        #expect(order.waiting == 1)
    }

    // MARK: - Against a model

    /// The same rules over a list, walked each time.
    private struct Model {
        var concurrency: Int
        var list: [(destination: Int, sequence: Int?, element: Int)] = []
        var handedOut: Set<Int> = []

        func isReady(_ index: Int) -> Bool {
            guard let sequence = list[index].sequence else { return true }
            return !handedOut.contains(sequence) && !list[..<index].contains { $0.sequence == sequence }
        }

        mutating func take(_ index: Int) -> Int {
            let taken = list.remove(at: index)
            if let sequence = taken.sequence { handedOut.insert(sequence) }
            return taken.element
        }

        mutating func next(_ inFlight: [Int: Int], _ concurrencyLimit: [Int]) -> Int? {
            let free = concurrency - inFlight.values.reduce(0, +)
            let ready = list.indices.filter {
                isReady($0) && inFlight[list[$0].destination, default: 0] < concurrencyLimit[list[$0].destination]
            }
            let idle = Set(ready.map { list[$0].destination }.filter { inFlight[$0, default: 0] == 0 })
            guard free > 0 else { return nil }
            return ready.first { idle.contains(list[$0].destination) || free > idle.count }.map { take($0) }
        }

        mutating func removeAll(where isOut: (Int, Int?) -> Bool) -> [Int] {
            let removed = list.filter { isOut($0.destination, $0.sequence) }
            list.removeAll { isOut($0.destination, $0.sequence) }
            return removed.map(\.element)
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `any series of calls agrees with the model`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let destinations = Int.random(in: 1...5, using: &generator)
        let concurrency = Int.random(in: 1...5, using: &generator)
        var order = DispatchOrder()
        var model = Model(concurrency: concurrency)
        var concurrencyLimit = Array(repeating: Int.max, count: destinations)
        var flying: [(destination: Int, sequence: Int?)] = []
        var sequenceOf: [Int: Int] = [:]
        var appended = 0
        let key: (Int) -> SequenceKey = { .key(Digest(of: "\($0)"), of: .default, to: Digest(of: "a")) }
        for _ in 0..<300 {
            let destination = Int.random(in: 0..<destinations, using: &generator)
            var inFlight: [Int: Int] = [:]
            for flight in flying { inFlight[flight.destination, default: 0] += 1 }
            var expected: [Int] = []
            var got: [Int] = []
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<7:
                // A sequence belongs to a single destination.
                let sequence =
                    Bool.random(using: &generator) ? nil : destination * 3 + Int.random(in: 0..<3, using: &generator)
                order.append(to: destination, sequence: sequence.map(key))
                model.list.append((destination, sequence, appended))
                sequenceOf[appended] = sequence
                appended += 1
            case 7..<13:
                let next = order.next(
                    free: concurrency - flying.count, inFlight: { inFlight[$0, default: 0] },
                    turn: { .ready(upTo: concurrencyLimit[$0]) })
                got = next.map { [$0] } ?? []
                if let first = model.list.first(where: { got == [$0.element] }) {
                    flying.append((first.destination, first.sequence))
                }
                expected = model.next(inFlight, concurrencyLimit).map { [$0] } ?? []
            case 13..<17:
                guard let index = flying.indices.randomElement(using: &generator) else { continue }
                guard let sequence = flying.remove(at: index).sequence else { continue }
                let continues = Int.random(in: 0..<3, using: &generator) > 0
                got = order.advance(key(sequence), continues: continues)
                model.handedOut.remove(sequence)
                expected = continues ? [] : model.removeAll { $1 == sequence }
            case 17:
                concurrencyLimit[destination] = [0, 1, 2, Int.max].randomElement(using: &generator)!
            default:
                let fits: (Int) -> Bool = { $0 % 5 != 0 }
                got = order.next(of: destination, where: fits).map { [$0] } ?? []
                if let index = model.list.indices.first(where: {
                    model.list[$0].destination == destination && model.isReady($0)
                }), fits(model.list[index].element) {
                    expected = [model.take(index)]
                }
                flying += got.map { (destination, sequenceOf[$0]) }
            }
            #expect(got == expected)
            #expect(order.waiting == model.list.count)
            #expect(order.isEmpty(destination) == !model.list.contains { $0.destination == destination })
        }
    }

    @Test func `handing out an operation looks at no more destinations than there are slots`() {
        var order = DispatchOrder()
        let keys = (0..<1000).map { SequenceKey.destination(Digest(of: "\($0)")) }
        for index in 0..<100_000 {
            let sequence = index % 3 == 0 ? keys[index % 1000] : nil
            order.append(to: index % 1000, sequence: sequence)
        }
        var looked = 0
        var flying: [Int] = []
        var inFlight: [Int: Int] = [:]
        var handedOut = 0
        while order.waiting > 0 {
            while let element = order.next(
                free: 64 - flying.count, inFlight: { inFlight[$0, default: 0] },
                turn: { _ in
                    looked += 1
                    return .ready(upTo: 8)
                })
            {
                handedOut += 1
                flying.append(element)
                inFlight[element % 1000, default: 0] += 1
            }
            let element = flying.removeFirst()
            inFlight[element % 1000] = inFlight[element % 1000]! > 1 ? inFlight[element % 1000]! - 1 : nil
            if element % 3 == 0 {
                #expect(order.advance(keys[element % 1000], continues: true) == [])
            }
        }
        #expect(handedOut == 100_000)
        #expect(looked < 64 * 100_000, "a call looks at no more destinations than there are slots")
    }

    @Test func `an operation put back is the next of its destination again`() {
        var order = NamedOrder(concurrency: 4)
        for name in ["a1", "b1", "a2", "a3"] { order.append(name) }
        #expect(order.next() == "a1")
        #expect(order.next(of: "a") { _ in true } == "a2")
        order.putBack("a2")
        #expect(order.waiting == 3 && !order.isEmpty(of: "a"))
        #expect((0..<4).map { _ in order.next() } == ["b1", "a2", "a3", nil])
    }

    @Test func `an operation put back precedes the rest of its sequence`() {
        var order = NamedOrder(concurrency: 4)
        let key = SequenceKey.destination(Digest(of: "a"))
        for name in ["a1", "a2"] { order.append(name, sequence: key) }
        #expect(order.next() == "a1")
        order.putBack("a1")
        #expect(order.next() == "a1" && order.next() == nil)
        #expect(order.advance(key, continues: true).isEmpty)
        #expect(order.next() == "a2")
    }
}
