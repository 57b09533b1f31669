/// The times for which kept values and the files of finished operations stay. `nil` for `failed`: files stay for ever.
/// `.zero` for `delivered`: delivered operations leave no file.
package struct Retention: Hashable, Sendable {
    package var delivered: Duration = .zero
    package var failed: Duration?
    /// The time for which a kept value stays while no operation of its key is in the queue.
    package var kept: Duration = Self.defaultKept

    /// The time for which answers are kept if `delivered` is zero.
    package static let answers = Duration.seconds(86_400)
    package static let defaultKept = Duration.seconds(7 * 86_400)

    /// One search for files in `failed/`, and for kept values without operations, that are too old.
    package struct Search: Hashable, Sendable {
        /// What is older than `limit` is too old. `isTwice`: only what the search before has found, too, is removed.
        package struct Age: Hashable, Sendable {
            package var limit: Timestamp
            package var isTwice: Bool
        }

        /// For files that came to `failed/`; `nil` removes none.
        package var failed: Age?
        /// For kept values without operations; `nil` removes none.
        package var kept: Age?

        /// Whether the run must store its findings for the next search.
        package var isRemembered: Bool { failed?.isTwice ?? false || kept?.isTwice ?? false }
    }

    /// Returns the search that a run makes now; `nil` if no search is due. `last` is the time of the last remembered
    /// search.
    ///
    /// What is kept for a day or longer is searched for once a day, and removed when two searches have found it. So a
    /// clock that is wrong for less than a day, by however much, removes nothing early. `keepsValues` says whether
    /// values are kept for keys.
    package func search(last: Timestamp?, keepsValues: Bool = false, now: Timestamp) -> Search? {
        let search = Search(
            failed: failed.flatMap { Self.age($0, last, now) },
            kept: keepsValues ? Self.age(kept, last, now) : nil)
        return search == Search() ? nil : search
    }

    private static func age(_ time: Duration, _ last: Timestamp?, _ now: Timestamp) -> Search.Age? {
        let isTwice = time >= searchInterval
        if isTwice, let last, last <= now, now - last < searchInterval { return nil }
        return Search.Age(limit: now - time, isTwice: isTwice)
    }

    private static let searchInterval = Duration.seconds(86_400)
}

/// The findings of a search for files that are too old: the content of `state/retention`.
///
/// The first line is the time of the search, as in RFC 3339. Each other line is the `Digest` of a file's path.
package struct RetentionFindings: Hashable, Sendable {
    package let at: Timestamp
    private var found: Set<Digest> = []
    private let before: Set<Digest>
    /// Bounds the file: what was found beyond this number counts as found by the next search.
    private static let most = 100_000

    /// Begins a search. A search of a clock that was ahead says nothing about this search.
    package init(at now: Timestamp, after last: RetentionFindings?) {
        at = now
        before = if let last, last.at <= now { last.found } else { [] }
    }

    /// Reads a file; `nil` if the file does not begin with a time.
    package init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard let first = lines.first, let at = Timestamp(rfc3339: first) else { return nil }
        self.at = at
        before = []
        found = Set(lines.dropFirst().compactMap { Digest($0) })
    }

    package var encoded: [UInt8] {
        Array(([at.rfc3339] + found.map(\.description).sorted()).map { $0 + "\n" }.joined().utf8)
    }

    /// Notes a file that is too old. Returns whether the previous search found the file, too.
    package mutating func find(_ path: String) -> Bool {
        let digest = Digest(of: path)
        if before.contains(digest) { return true }
        if found.count < Self.most { found.insert(digest) }
        return false
    }
}
