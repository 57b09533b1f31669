import Policy
import Testing

struct SharedSelectionTests {
    private func choose(
        _ limit: Int, ranks: Int, _ offers: [(rank: Int, second: Int)]
    ) -> (chosen: [Int], newest: [Int]) {
        var selection = SharedSelection<String, Int>(limit: limit, ranks: ranks)
        for offer in offers {
            let time = Timestamp(microseconds: Int64(offer.second) * 1_000_000)
            selection.count(rank: offer.rank)
            _ = selection.offer(
                EntryName(createdAt: time, id: OperationID("a")!), rank: offer.rank, destination: "a",
                element: offer.second)
        }
        let chosen = selection.chosen()
        return (chosen.map(\.element), selection.newest(of: "a", besides: chosen).map(\.element))
    }

    private func all(_ rank: Int, _ seconds: some Sequence<Int>) -> [(rank: Int, second: Int)] {
        seconds.map { (rank, $0) }
    }

    @Test func `a single run chooses the same operations as Selection`() {
        let (chosen, newest) = choose(5, ranks: 1, all(0, (1...12).shuffled()))
        #expect(chosen == [1, 2, 3, 4, 5])
        #expect(newest == [12, 11, 10])
    }

    @Test func `a run chooses its own share, oldest first, and leaves older operations to their run`() {
        let (chosen, newest) = choose(20, ranks: 2, all(1, 1...5) + all(0, 6...10))
        #expect(chosen == [6, 7, 8, 9, 10])
        #expect(newest == [5, 4, 3])
        #expect(choose(2, ranks: 2, all(1, 1...9) + all(0, 3...5)).newest.first == 5, "its own sample first")
    }

    @Test func `a run without a share helps its next rank with the oldest operations, in reverse order`() {
        #expect(choose(9, ranks: 3, all(1, 1...5) + all(2, 6...9)).chosen == [5, 4, 3, 2, 1])
        #expect(choose(3, ranks: 3, all(2, 1...5)).chosen == [3, 2, 1])
        let (chosen, _) = choose(9, ranks: 3, all(1, 1...2) + all(2, 3...20))
        #expect(chosen == [2, 1, 9, 8, 7, 6, 5, 4, 3], "each rank from its end, the next rank first")
    }

    @Test func `a run helps an unserved share, however much of its own share is due`() {
        let (chosen, _) = choose(4, ranks: 2, all(0, 100...199) + all(1, 1...201))
        #expect(chosen == [100, 101, 2, 1])
        #expect(choose(4, ranks: 2, all(0, 100...199) + all(1, 1...200)).chosen == [100, 101, 102, 103])
    }

    @Test(arguments: [1, 2, 3, 7])
    func `a selection is not empty if an operation is due, and never exceeds the limit`(ranks: Int) {
        var generator = SeededGenerator(seed: UInt64(ranks))
        for _ in 0..<200 {
            let count = Int.random(in: 0...30, using: &generator)
            let limit = Int.random(in: 0...12, using: &generator)
            let offers = (0..<count).map { (rank: Int.random(in: 0..<ranks, using: &generator), second: $0) }
            let (chosen, newest) = choose(limit, ranks: ranks, offers)
            #expect(chosen.count <= limit && chosen.isEmpty == (limit == 0 || count == 0))
            #expect(Set(chosen).count == chosen.count && Set(newest).isDisjoint(with: chosen))
        }
    }
}
