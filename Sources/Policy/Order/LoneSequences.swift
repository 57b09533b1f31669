/// Sequences that a listing has met one operation of, in 16 bytes each: a queue may have a million keys, and of most of them
/// there is only one operation, which waits for no other. A sequence with a second operation is `crowded`: to know which of
/// them comes first, their names have to be noted again.
///
/// Sequences are told apart by 62 bits of a hash that is another one in each process. Two that share them are crowded, so they
/// are noted with all that belongs to them.
struct LoneSequences: Sendable {
    private struct Slot {
        /// The hash with `taken` set, and `crowded` where it was met twice; 0 is a free slot.
        var tag: UInt64 = 0
        /// The mark of the first one, less those that have been met since.
        var unmet: UInt64 = 0

        static let crowded: UInt64 = 1
        static let taken: UInt64 = 2
        var isTaken: Bool { tag != 0 }
        var isCrowded: Bool { tag & Self.crowded != 0 }
    }

    /// A power of two of them, of which no more than three quarters are taken.
    private var slots: [Slot] = []
    private var count = 0
    private(set) var hasCrowded = false

    /// Takes in one operation of a sequence. The same one with the same mark is still one.
    mutating func note(_ sequence: SequenceKey, mark: UInt64) {
        if count >= slots.count / 4 * 3 { grow() }
        let tag = Self.tag(of: sequence)
        let index = index(of: tag)
        if !slots[index].isTaken {
            slots[index] = Slot(tag: tag, unmet: mark)
            count += 1
        } else if slots[index].unmet != mark {
            slots[index].tag |= Slot.crowded
            hasCrowded = true
        }
    }

    func isCrowded(_ sequence: SequenceKey) -> Bool {
        !slots.isEmpty && slots[index(of: Self.tag(of: sequence))].isCrowded
    }

    /// Takes note that an operation is met in a later listing.
    mutating func meet(_ sequence: SequenceKey, mark: UInt64) {
        if slots.isEmpty { return }
        let index = index(of: Self.tag(of: sequence))
        if slots[index].isTaken { slots[index].unmet &-= mark }
    }

    /// Whether the one operation of a sequence has been met again, and no other. False for a sequence that was not noted.
    func isSettled(_ sequence: SequenceKey) -> Bool {
        if slots.isEmpty { return false }
        let slot = slots[index(of: Self.tag(of: sequence))]
        return slot.isTaken && slot.unmet == 0
    }

    private static func tag(of sequence: SequenceKey) -> UInt64 {
        UInt64(truncatingIfNeeded: sequence.hashValue) & ~Slot.crowded | Slot.taken
    }

    /// The slot that a hash has or would get.
    private func index(of tag: UInt64) -> Int {
        let mask = slots.count - 1
        // The upper bits choose: two of the lower ones are the same in all.
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
