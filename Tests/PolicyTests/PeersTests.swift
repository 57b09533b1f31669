import Testing

@testable import Policy

struct PeersTests {
    private let runs = (0..<8).map { "20261121T091500.12345\($0)Z-9f86d081884c7d6\($0)" }

    private func peers(of run: String, in runs: [String]) -> Peers {
        Peers(of: run, others: runs.filter { $0 != run }.shuffled())
    }

    /// Returns the marks of `count` operations.
    private func marks(_ count: Int, seed: UInt64 = 1) -> [UInt64] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in generator.next() }
    }

    @Test func `a single run has the first rank for every operation`() {
        #expect(marks(100).allSatisfy { Peers.none.rank(of: $0) == 0 })
        #expect(Peers.none.count == 1)
    }

    @Test(arguments: [2, 3, 8])
    func `each operation has exactly one run of each rank`(count: Int) {
        let all = runs.prefix(count).map { self.peers(of: $0, in: Array(runs.prefix(count))) }
        for mark in marks(1_000) {
            #expect(all.map { $0.rank(of: mark) }.sorted() == Array(0..<count))
        }
    }

    @Test func `shares are about equal, even of consecutive marks`() {
        for marks in [marks(16_000), Array(0..<16_000)] {
            for run in runs {
                let peers = self.peers(of: run, in: runs)
                let share = marks.count { peers.rank(of: $0) == 0 }
                #expect((1_800...2_200).contains(share), "\(share) of 16,000 for one of eight")
            }
        }
    }

    @Test func `when a run leaves, only its operations get another first run`() {
        let gone = runs[3]
        let left = runs.filter { $0 != gone }
        let before = Dictionary(uniqueKeysWithValues: runs.map { ($0, peers(of: $0, in: runs)) })
        let after = Dictionary(uniqueKeysWithValues: left.map { ($0, peers(of: $0, in: left)) })
        for mark in marks(2_000) {
            let first = before.first { $0.value.rank(of: mark) == 0 }!.key
            let next = after.first { $0.value.rank(of: mark) == 0 }!.key
            if first == gone {
                #expect(before[next]!.rank(of: mark) == 1, "whoever was second follows")
            } else {
                #expect(next == first)
            }
        }
    }

    @Test func `a name has the same rank in every listing, whatever the order of the runs`() {
        for number in 0..<100 {
            let name = EntryName(
                createdAt: Timestamp(microseconds: Int64(number)), id: OperationID("operation-\(number)")!)
            for run in runs {
                let others = runs.filter { $0 != run }
                let ranks = [others, others.reversed(), Array(others[3...] + others[..<3])].map { order in
                    let peers = Peers(of: run, others: order)
                    return Array(name.description.utf8).withUnsafeBufferPointer {
                        ListedName($0).map { peers.rank(of: $0) }
                    }
                }
                #expect(ranks[0] != nil && Set(ranks).count == 1)
            }
        }
    }
}
