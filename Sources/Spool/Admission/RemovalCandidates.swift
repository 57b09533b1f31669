import Policy

/// Finds removable operations, to make room for a newer operation: superseded operations if files take up the room, and
/// under `dropOldest` the oldest. The candidates are in the queue, or in the same batch and not written yet. A key that
/// counts once goes whole: with all its operations, and not while a run has one of them.
///
/// Lists the queue when a limit first needs the list, and keeps a bounded number of candidates from one batch of the
/// process to the next, whatever the queue's size. The candidates only propose: the removal claims each operation.
struct RemovalCandidates {
    /// A removable operation, or the removable operations of a key that counts once.
    struct Victim {
        /// One of its files.
        struct Part {
            var entry: Entry
            /// Whether the batch brings it.
            var isMember = false
            /// The bytes of its file; `nil` until they are known.
            var size: Int?
        }

        /// The files, the newest last.
        var parts: [Part]
        /// The key that goes whole; `nil` for one operation.
        var key: SequenceKey?
        /// The newer operation of its key that replaces it, and by which rule; `nil` for an eviction.
        var newer: (name: EntryName, rule: ReplacementRule)?

        fileprivate init(_ part: Part, key: SequenceKey? = nil, newer: (EntryName, ReplacementRule)? = nil) {
            parts = [part]
            self.key = key
            self.newer = newer
        }

        fileprivate var name: EntryName { parts[parts.count - 1].entry.name }
        /// A key is as old as its newest operation.
        fileprivate var age: (Timestamp, OperationID) { (name.createdAt, name.id) }
    }

    private static let bound = 4096
    /// The most keys whose values are kept. Of a queue with more, keeps the values of the batch's keys, and lists for
    /// each batch.
    private static let mostValues = 65_536

    private let rule: AdmissionRule
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
    /// The oldest of the queue, the very oldest last. `listsOldest`: there may be more than `bound`.
    private var oldest: [Victim] = []
    private var listsOldest = true
    /// What the batch has admitted, and the keys of the queue that it adds to.
    private var members: [Victim] = []
    /// The keys of `members` that may have more operations in the queue.
    private var partial: Set<SequenceKey> = []
    /// Operations that are not, or no longer, candidates.
    private var gone: Set<EntryName>
    /// The oldest admitted name.
    private var oldestIn: EntryName?

    /// `names` are the names of the batch's operations; `replaced` are the names of operations to be replaced by the
    /// batch.
    init(
        _ rule: AdmissionRule, for names: [EntryName], besides replaced: [EntryName], isWhole: Bool, at now: Timestamp
    ) {
        self.rule = rule
        let configuration = rule.configuration
        gone = Set(replaced)
        dropsOldest = configuration.limits.whenFull == .dropOldest
        self.isWhole = isWhole
        guard configuration.hasReplacingRoutes else { return }
        let coalescing = Coalescing(ReplacementRule(configuration, at: now))
        groups = Set(names.compactMap(coalescing.rule.group))
        self.coalescing = coalescing
    }

    /// Begins the next batch of the same process: the operations of the last batch, and nothing else, have come.
    /// Returns false if the candidates have to be made anew, because they know too little of the values in the queue.
    mutating func beginBatch(for names: [EntryName], besides replaced: [EntryName], isWhole: Bool) -> Bool {
        if let coalescing {
            guard hasAllValues ?? false, !self.isWhole, superseded.count < Self.bound, values.count < Self.mostValues
            else { return false }
            // The members of the last batch are in the queue now.
            for index in superseded.indices { superseded[index].parts[0].isMember = false }
            for group in Set(members.flatMap(\.parts).compactMap { coalescing.rule.group(of: $0.entry.name) }) {
                for index in (values[group] ?? []).indices { values[group]![index].parts[0].isMember = false }
            }
            groups = Set(names.compactMap(coalescing.rule.group))
        }
        self.isWhole = isWhole
        gone = Set(replaced)
        if let oldestIn, let last = oldest.first?.name, oldestIn.isOlder(than: last) { oldest = [] }
        (members, partial, oldestIn, listsOldest) = ([], [], nil, true)
        return true
    }

    private func key(of name: EntryName) -> SequenceKey? { rule.keyOfRequest(of: name) }

    /// Notes the admission of an operation of the batch. `isNewKey`: no other operation counts for its key. Unless it
    /// is a candidate, neither the operation nor its key can be removed for this batch.
    mutating func letIn(_ entry: Entry, size: Int, isNewKey: Bool, isCandidate: Bool) {
        let part = Victim.Part(entry: entry, isMember: true, size: size)
        let isCandidate = isCandidate && !isWhole
        if oldestIn.map({ entry.name.isOlder(than: $0) }) ?? true { oldestIn = entry.name }
        if let key = key(of: entry.name) {
            var victim = Victim(part, key: key)
            if let index = members.firstIndex(where: { $0.key == key }) {
                victim.parts = (members.remove(at: index).parts + [part]).sorted {
                    $0.entry.name.isOlder(than: $1.entry.name)
                }
            } else if let index = oldest.firstIndex(where: { $0.key == key }) {
                victim.parts = (oldest.remove(at: index).parts + [part]).sorted {
                    $0.entry.name.isOlder(than: $1.entry.name)
                }
            } else if !isNewKey {
                partial.insert(key)
            }
            if !isCandidate { partial.insert(key) }
            members.append(victim)
        } else if isCandidate {
            members.append(Victim(part))
        }
        guard let group = coalescing?.rule.group(of: entry.name) else { return }
        coalescing?.note(entry.name)
        while let older = takeValue(of: group, before: entry.name) { superseded.append(older) }
        if isCandidate { values[group, default: []].append(Victim(part)) }
    }

    /// Notes that these operations stay, because the operation that needed their room did not get in.
    mutating func giveBack(_ victims: [Victim]) {
        for victim in victims.reversed() {
            for part in victim.parts { gone.remove(part.entry.name) }
            if victim.newer == nil {
                if !victim.parts.contains(where: \.isMember) { oldest.append(victim) }
            } else if coalescing?.isSuperseded(victim.name) ?? false {
                superseded.append(victim)
            } else if let group = coalescing?.rule.group(of: victim.name) {
                values[group, default: []].append(victim)
            }
        }
    }

    // MARK: - Superseded

    /// Returns the superseded operation to remove next for the operation of this name; `nil` if there is none.
    mutating func nextSuperseded(for name: EntryName, _ queue: SpoolDirectory) throws(SpoolError) -> Victim? {
        guard let coalescing else { return nil }
        if superseded.isEmpty, listsSuperseded { try listSuperseded(queue) }
        var found: Victim?
        while found == nil, let victim = superseded.popLast() {
            if !gone.contains(victim.name) { found = victim }
        }
        found = found ?? coalescing.rule.group(of: name).flatMap { takeValue(of: $0, before: name) }
        if let found { gone.insert(found.name) }
        return found
    }

    private mutating func takeValue(of group: SequenceKey, before name: EntryName) -> Victim? {
        guard let coalescing,
            let index = values[group]?.firstIndex(where: {
                !gone.contains($0.name) && coalescing.rule.replaces(name, $0.name)
            })
        else { return nil }
        var victim = values[group]!.remove(at: index)
        victim.newer = (name, coalescing.rule)
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
        for group in values.keys { values[group]?.removeAll { !$0.parts[0].isMember } }
        for state in [QueueState.new, .deferred] {
            try queue.forEachEntry(in: state) { entry in
                if gone.contains(entry.name) { return }
                if let newer = coalescing.newer(than: entry.name) {
                    if superseded.count == Self.bound { return listsSuperseded = true }
                    superseded.append(Victim(.init(entry: entry), newer: (newer, coalescing.rule)))
                } else if let group = coalescing.rule.group(of: entry.name) {
                    if values.count >= Self.mostValues { hasAllValues = false }
                    guard hasAllValues ?? false || groups.contains(group) else { return }
                    values[group, default: []].append(Victim(.init(entry: entry)))
                }
            }
        }
        self.coalescing = coalescing
    }

    // MARK: - Oldest

    /// Returns the oldest operation or key, to be evicted for the operation of this name; `nil` if none is older than
    /// the name. Never returns the name's own key.
    mutating func nextOldest(before name: EntryName, _ queue: SpoolDirectory) throws(SpoolError) -> Victim? {
        guard dropsOldest else { return nil }
        let own = key(of: name)
        func isCandidate(_ victim: Victim) -> Bool { victim.key == nil || victim.key != own }
        let before = gone
        oldest.removeAll { victim in victim.parts.allSatisfy { before.contains($0.entry.name) } }
        if !oldest.contains(where: isCandidate), listsOldest { try listOldest(queue) }
        let gone = gone
        let member = members.indices.filter { index in
            let victim = members[index]
            return isCandidate(victim) && !(victim.key.map(partial.contains) ?? false) && !gone.contains(victim.name)
        }.min { members[$0].age < members[$1].age }
        let waiting = oldest.lastIndex(where: isCandidate)
        let isMember = member.map { index in waiting.map { members[index].age < oldest[$0].age } ?? true } ?? false
        guard var victim = isMember ? member.map({ members[$0] }) : waiting.map({ oldest[$0] }),
            victim.age < (name.createdAt, name.id)
        else { return nil }
        if !isMember, let waiting { oldest.remove(at: waiting) }
        victim.parts.removeAll { gone.contains($0.entry.name) }
        for part in victim.parts { self.gone.insert(part.entry.name) }
        if let group = victim.key { values[group]?.removeAll { self.gone.contains($0.name) } }
        return victim
    }

    /// Lists the oldest operations and keys, then the operations of these keys.
    private mutating func listOldest(_ queue: SpoolDirectory) throws(SpoolError) {
        var entries: [Entry] = []
        var hasMore = false
        func keepOldest() {
            entries.sort { $0.name.isOlder(than: $1.name) }
            guard entries.count > Self.bound else { return }
            entries.removeLast(entries.count - Self.bound)
            hasMore = true
        }
        var busy: Set<SequenceKey> = []
        func noteBusy() throws(SpoolError) {
            try queue.forEachEntry(in: .claimed) { entry in if let key = key(of: entry.name) { busy.insert(key) } }
        }
        try noteBusy()
        var newest: [SequenceKey: Entry] = [:]
        for state in [QueueState.new, .deferred] {
            try queue.forEachEntry(in: state) { entry in
                if gone.contains(entry.name) { return }
                if let key = key(of: entry.name) {
                    if newest[key].map({ $0.name.isOlder(than: entry.name) }) ?? true { newest[key] = entry }
                    return
                }
                entries.append(entry)
                if entries.count == 2 * Self.bound { keepOldest() }
            }
        }
        let touched = Set(members.compactMap(\.key))
        let keys = newest.filter { !busy.contains($0.key) && !touched.contains($0.key) }
        entries += keys.values
        keepOldest()
        let names = Set(entries.map(\.name))
        var parts = keys.filter { names.contains($0.value.name) }.mapValues { _ in [Victim.Part]() }
        if !parts.isEmpty || !partial.isEmpty {
            for state in [QueueState.new, .deferred] {
                try queue.forEachEntry(in: state) { entry in
                    guard !gone.contains(entry.name), let key = key(of: entry.name) else { return }
                    parts[key]?.append(Victim.Part(entry: entry))
                }
            }
            // A part that a run has claimed since is in none of the listings, and no key goes in part.
            try noteBusy()
            entries.removeAll { key(of: $0.name).map(busy.contains) ?? false }
        }
        listsOldest = hasMore
        oldest = entries.reversed().map { entry in
            var victim = Victim(.init(entry: entry))
            if let key = key(of: entry.name), let all = parts[key], !all.isEmpty {
                victim.key = key
                victim.parts = all.sorted { $0.entry.name.isOlder(than: $1.entry.name) }
            }
            return victim
        }
    }
}
