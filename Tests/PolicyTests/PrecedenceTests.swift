import Testing

@testable import Policy

struct PrecedenceTests {
    static let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
    static let place = Destination(named: "https://a.example")

    struct Row {
        var name: EntryName
        var standing: Precedence.Standing
        var route: Route
        var destination = PrecedenceTests.place
    }

    /// Reads `ID@SECOND=STATE` or `ID@SECOND:KEY=STATE`. States: `due deferred held later claimed passed late`.
    static func row(_ text: String, _ route: Route) -> Row {
        let parts = text.split { "@:=".contains($0) }.map(String.init)
        let key = text.contains(":") ? Digest(of: parts[2]) : nil
        var name = EntryName(
            createdAt: Timestamp(microseconds: Int64(parts[1])! * 1_000_000), id: OperationID(parts[0])!,
            keyDigest: key)
        let later = now + .seconds(60)
        let standing: Precedence.Standing
        switch parts.last! {
        case "due": standing = .waiting(.due)
        case "deferred":
            name.gate = .retryAt(later)
            standing = .waiting(.deferred(until: later))
        case "later":
            name.gate = .notBefore(later)
            standing = .waiting(.deferred(until: later))
        case "held":
            name.isHeld = true
            standing = .waiting(.held)
        case "passed": standing = .passedOver(.due)
        case "late": standing = .late(.due)
        default: standing = .untouchable
        }
        return Row(name: name, standing: standing, route: route)
    }

    private func turns(_ texts: [String], _ route: Route) -> [String] {
        let rows = texts.map { Self.row($0, route) }
        var precedence = Precedence(rows.reversed())
        return rows.map { row in
            switch precedence.position(of: row.name, of: route.order, to: row.destination) {
            case .free: "free"
            case .inLine: "in line"
            case .blocked(let id): "blocked by \(id)"
            case .superseded(let id): "superseded by \(id)"
            }
        }
    }

    // MARK: - Late operations

    @Test func `a late operation supersedes nothing, and no newer operation overtakes a late operation`() {
        #expect(turns(["a@1:k=due", "b@2:k=late"], Route(coalesce: true)) == ["free", "free"])
        #expect(turns(["a@1:k=late", "b@2:k=due"], Route(coalesce: true)) == ["superseded by b", "free"])
        let each = ["a@1:k=late", "b@2:k=due", "c@2:m=due"]
        #expect(turns(each, Route(ordering: .key)) == ["free", "blocked by a", "free"])
        #expect(turns(each, Route(ordering: .strict)) == ["free", "blocked by a", "blocked by a"])
        let between = ["a@1=due", "b@2=late", "c@3=due"]
        #expect(turns(between, Route(ordering: .strict)) == ["free", "in line", "blocked by b"])
        let newest = ["a@1:k=due", "b@2:m=due", "c@3:k=late"]
        #expect(turns(newest, Route(coalesce: true, ordering: .strict)) == ["free", "in line", "in line"])
    }

    // MARK: - Many sequences

    @Test func `a sequence of several operations beyond knownAtOnce needs a second listing`() {
        let route = Route(ordering: .key)
        let rows = ["a@1:k=due", "b@2:m=due", "c@3:n=due", "d@4:m=due"].map { Self.row($0, route) }
        for (knownAtOnce, count) in [(0, 2), (1, 2), (2, 1), (1000, 1)] {
            var listings = 0
            var precedence = Precedence(rows, knownAtOnce: knownAtOnce) { listings += 1 }
            let turns = rows.map { precedence.position(of: $0.name, of: route.order, to: $0.destination) }
            #expect(turns == [.free, .free, .free, .inLine] && listings == count)
        }
    }

    @Test func `a claimed operation met twice is still alone in its sequence`() {
        let route = Route(ordering: .key)
        let row = Self.row("a@1:k=claimed", route)
        var listings = 0
        _ = Precedence([row, row], knownAtOnce: 0) { listings += 1 }
        #expect(listings == 1)
    }

    @Test func `a hundred thousand sequences of a single operation are distinguished`() {
        let route = Route(ordering: .key)
        var precedence = Precedence(knownAtOnce: 0)
        let rows = (0..<100_000).map { Self.row("i\($0)@1:k\($0)=due", route) }
        precedence.note(rows)
        let isCrowded = precedence.beginSecondListing()
        #expect(!isCrowded)
        #expect(rows.allSatisfy { precedence.position(of: $0.name, of: route.order, to: $0.destination) == .free })
    }

    // MARK: - Coalescing

    @Test func `the newest operation of a key supersedes the older operations`() {
        let turns = turns(["a@1:k=due", "b@2:k=due", "c@3:k=due", "d@1:m=due", "e@9=due"], Route(coalesce: true))
        #expect(turns == ["superseded by c", "superseded by c", "free", "free", "free"])
    }

    @Test func `if two operations have the same creation time, the greater id is newer`() {
        #expect(turns(["b@1:k=due", "a@1:k=due"], Route(coalesce: true)) == ["free", "superseded by b"])
    }

    @Test func `operations without a key are never superseded and block nothing`() {
        let turns = turns(["a@1=deferred", "b@2=due", "c@3=held", "d@4=due"], Route(coalesce: true, ordering: .key))
        #expect(turns == ["free", "free", "free", "free"])
    }

    @Test(arguments: ["deferred", "held", "claimed"])
    func `a newer operation supersedes even while deferred, held or claimed`(state: String) {
        #expect(turns(["a@1:k=due", "b@2:k=\(state)"], Route(coalesce: true))[0] == "superseded by b")
    }

    @Test func `a newer operation with a notBefore does not supersede an older operation`() {
        #expect(turns(["a@1:k=due", "b@2:k=later"], Route(coalesce: true)) == ["free", "free"])
        // A third, due operation supersedes both.
        let three = turns(["a@1:k=due", "b@2:k=later", "c@3:k=due"], Route(coalesce: true))
        #expect(three == ["superseded by c", "superseded by c", "free"])
    }

    @Test(arguments: ["deferred", "held", "later"])
    func `an older waiting operation is superseded and blocks nothing`(state: String) {
        for ordering in Ordering.allCases {
            let turns = turns(["a@1:k=\(state)", "b@2:k=due"], Route(coalesce: true, ordering: ordering))
            #expect(turns == ["superseded by b", "free"])
        }
    }

    @Test func `an older claimed operation blocks the newer operation`() {
        for ordering in Ordering.allCases {
            let turns = turns(["a@1:k=claimed", "b@2:k=due"], Route(coalesce: true, ordering: ordering))
            #expect(turns[1] == "blocked by a")
        }
    }

    // MARK: - Ordering

    @Test(arguments: ["deferred", "held", "later", "claimed"])
    func `in key order, an older deferred, held or claimed operation blocks its key`(state: String) {
        let turns = turns(["a@1:k=\(state)", "b@2:k=due", "c@3:m=due", "d@4:k=due"], Route(ordering: .key))
        #expect(turns[1...] == ["blocked by a", "free", "blocked by a"])
    }

    @Test func `a due operation stands in line behind older due operations`() {
        #expect(
            turns(["a@1:k=due", "b@2:k=due", "c@3:k=due"], Route(ordering: .key)) == ["free", "in line", "in line"])
        #expect(turns(["a@1:k=due", "b@2:m=due", "c@3=due"], Route(ordering: .key)) == ["free", "free", "free"])
        #expect(
            turns(["a@1:k=due", "b@2:m=due", "c@3=due"], Route(ordering: .strict)) == ["free", "in line", "in line"])
    }

    @Test func `a newer waiting operation blocks nothing`() {
        for ordering in Ordering.allCases {
            #expect(turns(["a@1:k=due", "b@2:k=deferred"], Route(ordering: ordering))[0] == "free")
        }
    }

    @Test func `in strict order, a deferred operation blocks all newer operations`() {
        let turns = turns(["a@1=due", "b@2:k=deferred", "c@3:m=due", "d@4=due"], Route(ordering: .strict))
        #expect(turns == ["free", "in line", "blocked by b", "blocked by b"])
    }

    @Test func `in strict order, a superseded operation blocks nothing`() {
        let route = Route(coalesce: true, ordering: .strict)
        let turns = turns(["a@1:k=deferred", "b@2:m=due", "c@3:k=due", "d@4=due"], route)
        #expect(turns == ["superseded by c", "free", "in line", "in line"])
    }

    @Test func `an entry met twice during a rename does not wait for itself`() {
        #expect(turns(["a@1:k=due", "a@1:k=deferred"], Route(ordering: .key)) == ["free", "free"])
        #expect(turns(["a@1:k=due", "a@1:k=claimed"], Route(coalesce: true)) == ["free", "free"])
        let merging = Route(coalesce: true, mergesPayloads: true, ordering: .key)
        for state in ["due", "claimed"] {
            let turns = turns(["a@1:k=due", "b@2:k=due", "b@2:k=\(state)"], merging)
            #expect(turns == ["superseded by b", "free", "free"])
        }
    }

    @Test func `a route in any order has no sequences`() {
        let name = Self.row("a@1:k=due", Route()).name
        #expect(Route().order.sequence(of: name, to: Self.place) == nil)
        #expect(turns(["a@1:k=deferred", "b@2:k=due"], Route()) == ["free", "free"])
    }

    @Test func `strict and key order span types, coalescing does not, and each destination has its own sequences`() {
        let elsewhere = Destination(named: "https://b.example")
        var crm = Self.row("a@1:k=due", Route()).name
        var erp = crm
        crm.type = TypeName("crm")!
        erp.type = TypeName("erp")!
        let strict = Route(ordering: .strict)
        #expect(strict.order.sequence(of: crm, to: Self.place) == strict.order.sequence(of: erp, to: Self.place))
        #expect(strict.order.sequence(of: crm, to: Self.place) != strict.order.sequence(of: crm, to: elsewhere))
        let byKey = Route(ordering: .key)
        #expect(byKey.order.sequence(of: crm, to: Self.place) == byKey.order.sequence(of: erp, to: Self.place))
        let newest = Route(coalesce: true)
        #expect(newest.order.sequence(of: crm, to: Self.place) != newest.order.sequence(of: erp, to: Self.place))
        #expect(byKey.order.sequence(of: crm, to: Self.place) != byKey.order.sequence(of: crm, to: elsewhere))
        crm.keyDigest = nil
        #expect(byKey.order.sequence(of: crm, to: Self.place) == nil)
        #expect(Route(coalesce: true, ordering: .strict).order.sequence(of: crm, to: Self.place) != nil)
    }

    @Test func `in a line of several keys a change is carried only by what stands directly behind it`() {
        let strict = Route(coalesce: true, mergesPayloads: true, ordering: .strict)
        #expect(
            turns(["a@1:k=due", "b@2:k=due", "x@3:m=due", "c@4:k=due"], strict)
                == ["superseded by b", "free", "in line", "in line"])
        #expect(turns(["a@1:k=due", "x@2:m=deferred", "c@3:k=due"], strict) == ["free", "in line", "blocked by x"])
        #expect(
            turns(["a@1:k=held", "b@2:k=due", "c@3:k=due"], strict) == ["free", "superseded by c", "blocked by a"])
    }

    // MARK: - Against a model

    private static func isOlder(_ left: EntryName, _ right: EntryName) -> Bool {
        (left.createdAt.microseconds, left.id.description) < (right.createdAt.microseconds, right.id.description)
    }

    private static func expected(_ row: Row, among rows: [Row]) -> Precedence.Position {
        func replacer(of row: Row) -> Row? {
            guard row.route.coalesce, let key = row.name.keyDigest else { return nil }
            let newer = rows.filter { (other: Row) -> Bool in
                guard other.name.keyDigest == key, other.name.type == row.name.type,
                    other.destination == row.destination, isOlder(row.name, other.name)
                else { return false }
                switch other.standing {
                case .untouchable, .waiting(.due), .passedOver(.due): return true
                case .late: return false
                case .waiting, .passedOver:
                    if case .notBefore = other.name.gate { return false }
                    return true
                }
            }
            return newer.max { isOlder($0.name, $1.name) }
        }
        func sequence(_ row: Row) -> SequenceKey? { row.route.order.sequence(of: row.name, to: row.destination) }
        func mayGiveWay(_ row: Row) -> Bool {
            switch row.standing {
            case .untouchable: false
            case .waiting(let own), .passedOver(let own), .late(let own):
                !row.route.mergesPayloads || own.mayBeMerged(gate: row.name.gate)
            }
        }
        /// Returns the row that carries a change in a line of several keys or types: what stands directly before it.
        func carrier(of row: Row) -> Row? {
            let behind = rows.filter {
                sequence($0) == sequence(row) && isOlder(row.name, $0.name)
                    && ($0.route.mergesPayloads || !mayGiveWay($0) || replacer(of: $0) == nil)
            }
            guard mayGiveWay(row), let next = behind.min(by: { isOlder($0.name, $1.name) }), next.route.mergesPayloads,
                next.name.keyDigest == row.name.keyDigest, next.name.type == row.name.type
            else { return nil }
            if let last = carrier(of: next) { return last }
            switch next.standing {
            case .late: return nil
            case .untouchable: return next
            case .waiting(let own), .passedOver(let own):
                if case .notBefore = next.name.gate { return own == .due ? next : nil }
                return next
            }
        }
        func successor(of row: Row) -> Row? {
            let order = row.route.order
            let isInLine =
                order.mergesPayloads && row.name.keyDigest != nil
                && order.group(of: row.name, to: row.destination) != sequence(row)
            return isInLine ? carrier(of: row) : replacer(of: row)
        }
        guard let line = sequence(row) else { return .free }
        if let newer = successor(of: row) { return .superseded(by: newer.name.id) }
        let older = rows.filter {
            sequence($0) == line && isOlder($0.name, row.name) && (!mayGiveWay($0) || successor(of: $0) == nil)
        }
        let blocker = older.filter { $0.standing != .waiting(.due) }.min { isOlder($0.name, $1.name) }
        if let blocker { return .blocked(by: blocker.name.id) }
        return older.isEmpty ? .free : .inLine
    }

    @Test(arguments: 0..<300 as Range<UInt64>, [0, 2, 1000])
    func `a single pass agrees with a comparison of all pairs`(seed: UInt64, knownAtOnce: Int) {
        var generator = SeededGenerator(seed: seed)
        let types = ["t", "u"].map { TypeName($0)! }
        let routes = types.map { type in
            let coalesces = Bool.random(using: &generator)
            return Route(
                method: type.description, coalesce: coalesces,
                mergesPayloads: coalesces && Bool.random(using: &generator),
                ordering: Ordering.allCases.randomElement(using: &generator)!)
        }
        let places = ["https://a", "https://b"].map { Destination(named: $0) }
        let rows = (0..<Int.random(in: 1...25, using: &generator)).map { index in
            let state = ["due", "due", "due", "deferred", "later", "held", "claimed", "passed", "late"].randomElement(
                using: &generator)!
            let second = Int.random(in: 1...12, using: &generator)
            let key = ["", ":k", ":m"].randomElement(using: &generator)!
            let type = Int.random(in: 0..<2, using: &generator)
            var row = Self.row("i\(index)@\(second)\(key)=\(state)", routes[type])
            row.name.type = types[type]
            row.destination = places[Int.random(in: 0..<5, using: &generator) == 0 ? 1 : 0]
            return row
        }
        var precedence = Precedence(rows, knownAtOnce: knownAtOnce)
        for row in rows {
            let turn = precedence.position(of: row.name, of: row.route.order, to: row.destination)
            let expected = Self.expected(row, among: rows)
            switch row.standing {
            case .waiting(.due): #expect(turn == expected)
            case .waiting(.deferred), .waiting(.held), .passedOver, .late:
                // For these operations, only a supersession matters.
                let isSuperseded = if case .superseded = turn { true } else { false }
                let shouldBe = if case .superseded = expected { true } else { false }
                #expect(isSuperseded == shouldBe)
            case .untouchable: break
            }
        }
        // Progress: a sequence of due operations has a free operation.
        let bySequence = Dictionary(grouping: rows) { $0.route.order.sequence(of: $0.name, to: $0.destination) }
        for (_, rows) in bySequence where rows.allSatisfy({ $0.standing == .waiting(.due) }) {
            #expect(rows.contains { precedence.position(of: $0.name, of: $0.route.order, to: $0.destination) == .free })
        }
    }
}

extension Precedence {
    /// Notes the rows as often as needed and calls `list` each time.
    fileprivate init(
        _ rows: [PrecedenceTests.Row], knownAtOnce: Int = 1000, _ list: () -> Void = {}
    ) {
        self.init(knownAtOnce: knownAtOnce)
        repeat {
            list()
            note(rows)
        } while beginSecondListing()
    }

    fileprivate mutating func note(_ rows: [PrecedenceTests.Row]) {
        for row in rows {
            note(row.name, row.standing, of: row.route.order, to: row.destination, mark: row.mark)
        }
    }
}

extension PrecedenceTests.Row {
    fileprivate var mark: UInt64 {
        let bytes = Array(name.description.utf8)
        return bytes.withUnsafeBufferPointer { ListedName($0)!.mark }
    }
}
