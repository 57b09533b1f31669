import Policy

/// Finds removable operations, to make room for a newer operation: first superseded operations, then, under
/// `dropOldest`, the oldest. The candidates are in the queue, or in the same batch and not written yet. Claimed
/// operations stay.
///
/// Lists the queue when a limit first needs the list, and keeps a bounded number of candidates from one batch of the
/// process to the next, whatever the queue's size.
struct RemovalCandidates {
    /// A removable operation.
    struct Victim {
        var entry: Entry
        /// Its number in the batch; `nil` for an operation in the queue.
        var member: Int?
        /// The bytes of its file; `nil` until they are known.
        var size: Int?
        /// The newer, superseding operation of its key; `nil` for an eviction.
        var newer: OperationID?

        fileprivate var name: EntryName { entry.name }
    }

    private static let bound = 4096
    /// The most keys whose values are kept. Of a queue with more, keeps the values of the batch's keys, and lists for
    /// each batch.
    private static let mostValues = 65_536

    private let dropsOldest: Bool
    /// Whether the batch is all or none: then none of its operations may be removed.
    private var isWhole: Bool
    private var coalescing: Coalescing?
    /// The keys of the batch.
    private var groups: Set<SequenceKey> = []
    /// Removable superseded operations. `listsSuperseded`: there may be more than `bound`.
    private var superseded: [Victim] = []
    private var listsSuperseded = true
    /// Operations by key that a later operation may supersede.
    private var values: [SequenceKey: [Victim]] = [:]
    /// Whether `values` has all values of the queue; `nil` before the queue was listed for them.
    private var hasAllValues: Bool?
    /// The oldest operations of the queue, the very oldest last. `listsOldest`: there may be more than `bound`.
    private var oldest: [Victim] = []
    private var listsOldest = true
    /// The admitted operations of the batch.
    private var members: [Victim] = []
    /// Operations that are not, or no longer, candidates.
    private var gone: Set<EntryName>
    /// The oldest admitted name.
    private var oldestIn: EntryName?

    /// `names` are the names of the batch's operations; `replaced` are the names of operations to be replaced by the
    /// batch.
    init(
        _ configuration: Configuration, for names: [EntryName], besides replaced: [EntryName], isWhole: Bool,
        at now: Timestamp
    ) {
        gone = Set(replaced)
        dropsOldest = configuration.limits.whenFull == .dropOldest
        self.isWhole = isWhole
        guard configuration.hasCoalescingRoutes else { return }
        let coalescing = Coalescing(configuration, at: now)
        groups = Set(names.compactMap(coalescing.group))
        self.coalescing = coalescing
    }

    /// Begins the next batch of the same process: the operations of the last batch, and nothing else, have come.
    /// Returns false if the candidates have to be made anew, because they know too little of the values in the queue.
    mutating func beginBatch(for names: [EntryName], besides replaced: [EntryName], isWhole: Bool) -> Bool {
        if let coalescing {
            guard hasAllValues ?? false, !self.isWhole, superseded.count < Self.bound, values.count < Self.mostValues
            else { return false }
            // The members of the last batch are in the queue now.
            for index in superseded.indices { superseded[index].member = nil }
            for group in Set(members.compactMap { coalescing.group(of: $0.name) }) {
                for index in (values[group] ?? []).indices { values[group]![index].member = nil }
            }
            groups = Set(names.compactMap(coalescing.group))
        }
        self.isWhole = isWhole
        gone = Set(replaced)
        if let oldestIn, let last = oldest.first?.name, oldestIn.isOlder(than: last) { oldest = [] }
        (members, oldestIn, listsOldest) = ([], nil, true)
        return true
    }

    /// Notes the admission of the batch's operation of this number. Without a number the operation is no candidate.
    mutating func letIn(_ number: Int?, _ entry: Entry, size: Int) {
        let member = isWhole ? nil : number.map { Victim(entry: entry, member: $0, size: size) }
        if let member { members.append(member) }
        if oldestIn.map({ entry.name.isOlder(than: $0) }) ?? true { oldestIn = entry.name }
        guard let group = coalescing?.group(of: entry.name) else { return }
        coalescing?.note(entry.name)
        while let older = takeValue(of: group, before: entry.name) { superseded.append(older) }
        if let member { values[group, default: []].append(member) }
    }

    /// Returns the operation to remove next for the operation of this name: a superseded operation, or the oldest if
    /// older than the name; `nil` if none may be removed.
    mutating func next(for name: EntryName, _ queue: SpoolDirectory) throws(SpoolError) -> Victim? {
        if let victim = try nextSuperseded(for: name, queue) {
            gone.insert(victim.name)
            if let last = oldest.first?.name, !last.isOlder(than: victim.name) {
                oldest.removeAll { $0.name == victim.name }
            }
            return victim
        }
        guard let victim = try nextOldest(before: name, queue) else { return nil }
        gone.insert(victim.name)
        if let group = coalescing?.group(of: victim.name) { values[group]?.removeAll { $0.name == victim.name } }
        return victim
    }

    /// Notes that these operations stay, because the operation that needed their room did not get in.
    mutating func giveBack(_ victims: [Victim]) {
        for victim in victims.reversed() {
            gone.remove(victim.name)
            if victim.newer != nil, coalescing?.isSuperseded(victim.name) ?? false {
                superseded.append(victim)
            } else if victim.newer != nil, let group = coalescing?.group(of: victim.name) {
                values[group, default: []].append(victim)
            } else {
                if victim.member == nil { oldest.append(victim) }
                if let group = coalescing?.group(of: victim.name) { values[group, default: []].append(victim) }
            }
        }
    }

    // MARK: - Superseded

    private mutating func nextSuperseded(
        for name: EntryName, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Victim? {
        guard let coalescing else { return nil }
        if superseded.isEmpty, listsSuperseded { try listSuperseded(queue) }
        while let victim = superseded.popLast() {
            if !gone.contains(victim.name) { return victim }
        }
        return coalescing.group(of: name).flatMap { takeValue(of: $0, before: name) }
    }

    private mutating func takeValue(of group: SequenceKey, before name: EntryName) -> Victim? {
        guard let coalescing,
            let index = values[group]?.firstIndex(where: {
                !gone.contains($0.name) && coalescing.supersedes(name, $0.name)
            })
        else { return nil }
        var victim = values[group]!.remove(at: index)
        victim.newer = name.id
        return victim
    }

    /// Lists twice: first to find the newest value of each key, then to find the superseded operations.
    private mutating func listSuperseded(_ queue: SpoolDirectory) throws(SpoolError) {
        guard var coalescing else { return }
        for state in [QueueState.new, .deferred] {
            try queue.forEachEntry(in: state) { if !gone.contains($0.name) { coalescing.note($0.name) } }
        }
        listsSuperseded = false
        hasAllValues = true
        for group in values.keys { values[group]?.removeAll { $0.member == nil } }
        for state in [QueueState.new, .deferred] {
            try queue.forEachEntry(in: state) { entry in
                if gone.contains(entry.name) { return }
                if let newer = coalescing.newer(than: entry.name) {
                    if superseded.count == Self.bound { return listsSuperseded = true }
                    superseded.append(Victim(entry: entry, newer: newer))
                } else if let group = coalescing.group(of: entry.name) {
                    if values.count >= Self.mostValues { hasAllValues = false }
                    guard hasAllValues ?? false || groups.contains(group) else { return }
                    values[group, default: []].append(Victim(entry: entry))
                }
            }
        }
        self.coalescing = coalescing
    }

    // MARK: - Oldest

    /// Returns the oldest operation; `nil` if none is older than `name`.
    private mutating func nextOldest(
        before name: EntryName, _ queue: SpoolDirectory
    ) throws(SpoolError) -> Victim? {
        guard dropsOldest else { return nil }
        while let last = oldest.last, gone.contains(last.name) { oldest.removeLast() }
        if oldest.isEmpty, listsOldest { try listOldest(queue) }
        let gone = gone
        let own = members.lazy.filter { !gone.contains($0.name) }.min { $0.name.isOlder(than: $1.name) }
        let waiting = oldest.last
        let isOwn = own.map { own in waiting.map { own.name.isOlder(than: $0.name) } ?? true } ?? false
        guard let victim = isOwn ? own : waiting else { return nil }
        guard victim.name.isOlder(than: name) else { return nil }
        return isOwn ? own : oldest.popLast()
    }

    private mutating func listOldest(_ queue: SpoolDirectory) throws(SpoolError) {
        var entries: [Entry] = []
        var hasMore = false
        func keepOldest() {
            entries.sort { $0.name.isOlder(than: $1.name) }
            guard entries.count > Self.bound else { return }
            entries.removeLast(entries.count - Self.bound)
            hasMore = true
        }
        for state in [QueueState.new, .deferred] {
            try queue.forEachEntry(in: state) { entry in
                if gone.contains(entry.name) { return }
                entries.append(entry)
                if entries.count == 2 * Self.bound { keepOldest() }
            }
        }
        keepOldest()
        listsOldest = hasMore
        oldest = entries.reversed().map { Victim(entry: $0) }
    }
}

extension EntryName {
    fileprivate func isOlder(than other: EntryName) -> Bool {
        (createdAt, id) < (other.createdAt, other.id)
    }
}
