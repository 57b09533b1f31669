extension Contract {
    /// A process has the locks of the table in drainq-queue(5) for each rename.
    static func locks(_ record: Record) -> [Breach] {
        for process in record.courses.keys { record.judging.meets(.process(process)) }
        return record.history.events.enumerated().compactMap { at, event in
            guard case .movesUnlocked(let from, let to, let lock) = event.what else { return nil }
            return Breach(.locks, [at], "'\(from)' was renamed to '\(to)' without the lock on \(lock)")
        }
    }
}
