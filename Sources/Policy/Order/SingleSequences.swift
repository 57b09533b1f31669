/// The sequences of which a listing has met one operation, in 16 bytes each. A queue may have a million keys, most of
/// them with one operation, which waits for no other. A sequence with a second operation is `crowded`: its names must
/// be noted again to find out which comes first.
///
/// Tells sequences apart by 62 bits of a hash seeded anew in each process. Two sequences with the same bits are
/// crowded, so both are noted in full.
struct SingleSequences: Sendable {
    private struct Slot {
        /// The hash with `taken` set, and with `crowded` if a second operation was met; 0 is a free slot.
        var tag: UInt64 = 0
        /// The mark of the first operation.
        var mark: UInt64 = 0

        static let crowded: UInt64 = 1
        static let taken: UInt64 = 2
        var isTaken: Bool { tag != 0 }
        var isCrowded: Bool { tag & Self.crowded != 0 }
    }

    /// The hash table. Its size is a power of two, or 0; at most three quarters of the slots are taken.
    private var slots: [Slot] = []
    private var count = 0
    private(set) var hasCrowded = false

    /// Takes in an operation of a sequence. The same mark again counts as the same operation.
    mutating func note(_ sequence: SequenceKey, mark: UInt64) {
        if count >= slots.count / 4 * 3 { grow() }
        let tag = Self.tag(of: sequence)
        let index = index(of: tag)
        if !slots[index].isTaken {
            slots[index] = Slot(tag: tag, mark: mark)
            count += 1
        } else if slots[index].mark != mark {
            slots[index].tag |= Slot.crowded
            hasCrowded = true
        }
    }

    func isCrowded(_ sequence: SequenceKey) -> Bool {
        !slots.isEmpty && slots[index(of: Self.tag(of: sequence))].isCrowded
    }

    private static func tag(of sequence: SequenceKey) -> UInt64 {
        UInt64(truncatingIfNeeded: sequence.hashValue) & ~Slot.crowded | Slot.taken
    }

    /// Returns the slot that a hash has or would get.
    private func index(of tag: UInt64) -> Int {
        let mask = slots.count - 1
        // Chooses by the upper bits: of the lower ones, two carry no hash.
        var index = Int(truncatingIfNeeded: tag >> 20) & mask
        while slots[index].isTaken, slots[index].tag | Slot.crowded != tag | Slot.crowded { index = (index + 1) & mask }
        return index
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Slot(), count: max(1024, old.count * 2))
        for slot in old where slot.isTaken { slots[index(of: slot.tag)] = slot }
    }
}
