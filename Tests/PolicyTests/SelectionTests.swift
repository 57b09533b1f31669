import Policy
import Testing

struct SelectionTests {
    private func name(_ second: Int, _ id: String = "a") -> EntryName {
        EntryName(createdAt: Timestamp(microseconds: Int64(second) * 1_000_000), id: OperationID(id)!)
    }

    private func choose(_ limit: Int, _ offers: [(destination: String, second: Int)]) -> [String] {
        var selection = Selection<String, Int>(limit: limit)
        for offer in offers {
            selection.offer(name(offer.second), destination: offer.destination, element: offer.second)
        }
        return selection.chosen().map { "\($0.destination)\($0.element)" }
    }

    @Test func `the oldest operations are chosen in order of age, whatever the order of offers`() {
        #expect(choose(5, (1...12).shuffled().map { ("a", $0) }) == ["a1", "a2", "a3", "a4", "a5"])
    }

    @Test func `all operations are chosen if the limit suffices`() {
        #expect(choose(4, [("a", 3), ("b", 4), ("a", 1), ("a", 2)]) == ["a1", "a2", "a3", "b4"])
    }

    @Test func `ten operations of a live destination are chosen beside ten thousand of a dead destination`() {
        let dead = (1...10_000).map { (destination: "dead", second: $0) }
        let live = (20_001...20_010).map { (destination: "live", second: $0) }
        let chosen = choose(20, dead + live)
        #expect(chosen == (1...10).map { "dead\($0)" } + (20_001...20_010).map { "live\($0)" })
        #expect(choose(20, live + dead) == chosen)
    }

    @Test func `the unused share of a small destination goes to the oldest operations`() {
        let offers = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 5), ("c", 6), ("c", 7), ("c", 8)]
        #expect(choose(6, offers) == ["a1", "a2", "a3", "b5", "c6", "c7"])
    }

    @Test func `with more destinations than places, the destinations waiting longest get a place each`() {
        let offers = (1...50).map { ("a", $0) } + (60...90).map { ("d\($0)-", $0) }
        #expect(choose(3, offers) == ["a1", "d60-60", "d61-61"])
        #expect(choose(3, offers.reversed()) == ["a1", "d60-60", "d61-61"])
    }

    @Test(arguments: 0..<20) func `with more destinations than places, those that fail come last`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let offers = (1...40).map { (place: $0 % 20, second: $0) }.shuffled(using: &generator)
        var selection = Selection<Int, Int>(limit: 6)
        for (place, second) in offers {
            selection.offer(name(second), destination: place, fails: place < 16, element: second)
        }
        // The four that do not fail, and the oldest of the two that have waited longest of the others.
        #expect(selection.chosen().map(\.element) == [1, 2, 16, 17, 18, 19])
    }

    @Test func `equal times are ordered by id`() {
        var selection = Selection<Int, String>(limit: 2)
        for id in ["c", "a", "b"] { selection.offer(name(1, id), destination: 0, element: id) }
        #expect(selection.chosen().map(\.element) == ["a", "b"])
    }

    @Test func `with ordering newest, the newest are chosen after oldest-first operations, and shares stay equal`() {
        func choose(_ limit: Int, _ offers: [(destination: String, second: Int)]) -> [String] {
            var selection = Selection<String, Int>(limit: limit)
            var reach: [String: SortKeyBounds] = [:]
            for offer in offers {
                let ordering: Ordering = offer.destination.hasPrefix("n") ? .newest : .any
                let sortKey = ordering.sortKey(of: name(offer.second).createdAt)
                guard reach[offer.destination, default: .everything].contains(sortKey) else { continue }
                reach[offer.destination] = selection.offer(
                    name(offer.second), by: ordering, destination: offer.destination, element: offer.second)
            }
            return selection.chosen().map { "\($0.destination)\($0.element)" }
        }
        let many = (1...100).map { (destination: "n", second: $0) }
        for offers in [many, many.reversed(), many.shuffled()] {
            #expect(choose(3, offers) == ["n100", "n99", "n98"])
            let others =
                (1...10).map { (destination: "a", second: $0) } + (1...5).map { (destination: "nn", second: $0) }
            #expect(choose(6, offers + others) == ["a1", "a2", "n100", "n99", "nn5", "nn4"])
        }
        #expect(choose(200, many.reversed()) == (1...100).reversed().map { "n\($0)" })
    }

    @Test func `a limit of zero or less chooses nothing`() {
        #expect(choose(0, [("a", 1)]) == [])
        #expect(choose(-1, [("a", 1)]) == [])
    }

    /// The same rule by sorting all offers in memory.
    private func slowly(_ limit: Int, _ offers: [(destination: String, second: Int)]) -> [String] {
        let sorted = offers.sorted { $0.second < $1.second }
        if sorted.count <= limit { return sorted.map { "\($0.destination)\($0.second)" } }
        let groups = Dictionary(grouping: sorted, by: \.destination)
        var taken: [Int] = []
        if groups.count > limit {
            taken = Array(groups.values.map { $0[0].second }.sorted().prefix(limit))
        } else {
            taken = groups.values.flatMap { $0.prefix(limit / groups.count).map(\.second) }
        }
        let rest = sorted.map(\.second).filter { !taken.contains($0) }
        taken += rest.prefix(limit - taken.count)
        return sorted.filter { taken.contains($0.second) }.map { "\($0.destination)\($0.second)" }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `a single pass chooses the same operations as sorting all offers`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let destinations = Int.random(in: 1...12, using: &generator)
        let count = Int.random(in: 0...80, using: &generator)
        let offers = (0..<count).shuffled(using: &generator).map { second in
            // Skewed: the first destinations have most offers.
            let pick = Int.random(in: 0..<destinations, using: &generator)
            return (destination: "d\(Int.random(in: 0...pick, using: &generator))-", second: second)
        }
        let limit = Int.random(in: 1...30, using: &generator)
        #expect(choose(limit, offers) == slowly(limit, offers))
        // The newest unchosen operations of each destination are available too.
        var selection = Selection<String, Int>(limit: limit)
        for offer in offers {
            selection.offer(name(offer.second), destination: offer.destination, element: offer.second)
        }
        let chosen = selection.chosen()
        let taken = Set(chosen.map(\.element))
        for (destination, group) in Dictionary(grouping: offers, by: \.destination) {
            let left = group.map(\.second).filter { !taken.contains($0) }.sorted(by: >)
            #expect(selection.newest(of: destination, besides: chosen).map(\.element) == Array(left.prefix(3)))
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `an operation out of reach need not be offered`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let destinations = Int.random(in: 1...12, using: &generator)
        let offers = (0..<Int.random(in: 0...400, using: &generator)).map { number in
            // Several names have the same creation time and differ by their ids.
            let name = name(Int.random(in: 0...100, using: &generator), "id-\(number)")
            return (name: name, destination: Int.random(in: 0..<destinations, using: &generator))
        }
        let limit = Int.random(in: 0...20, using: &generator)
        var whole = Selection<Int, EntryName>(limit: limit)
        var reached = Selection<Int, EntryName>(limit: limit)
        var reaches: [Int: SortKeyBounds] = [:]
        for (name, destination) in offers {
            whole.offer(name, destination: destination, element: name)
            guard reaches[destination, default: .everything].contains(name.createdAt) else { continue }
            reaches[destination] = reached.offer(name, destination: destination, element: name)
        }
        let chosen = whole.chosen()
        let fromReach = reached.chosen()
        #expect(fromReach.map(\.element) == chosen.map(\.element))
        for destination in 0..<destinations {
            #expect(
                reached.newest(of: destination, besides: fromReach).map(\.element)
                    == whole.newest(of: destination, besides: chosen).map(\.element))
        }
    }

    @Test func `few of ten thousand shuffled operations are in reach`() {
        var selection = Selection<String, Int>(limit: 5)
        var generator = SeededGenerator(seed: 1)
        var reach = SortKeyBounds.everything
        var offered = 0
        for second in (1...10_000).shuffled(using: &generator) where reach.contains(name(second).createdAt) {
            reach = selection.offer(name(second), destination: "a", element: second)
            offered += 1
        }
        #expect(selection.chosen().map(\.element) == [1, 2, 3, 4, 5])
        #expect(offered < 200)
    }

    @Test func `the newest unchosen operations are available as samples, newest first`() {
        var selection = Selection<String, Int>(limit: 3)
        for second in (1...8).shuffled() { selection.offer(name(second), destination: "a", element: second) }
        selection.offer(name(20), destination: "b", element: 20)
        let chosen = selection.chosen()
        #expect(chosen.map(\.element) == [1, 2, 20])
        #expect(selection.newest(of: "a", besides: chosen).map(\.element) == [8, 7, 6])
        #expect(selection.newest(of: "b", besides: chosen).isEmpty)
        #expect(selection.newest(of: "c", besides: chosen).isEmpty)
    }
}
