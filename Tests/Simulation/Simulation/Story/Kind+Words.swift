extension Setup.Kind {
    /// The deviations of the route from the defaults, as a user would write them.
    var words: String {
        var words = ["\(type) to \(host)"]
        if order != .any { words.append("ordering \(order.rawValue)") }
        switch coalescing {
        case .none: break
        case .replace: words.append("coalesce")
        case .merge: words.append("coalesce merge")
        }
        if holdsBehindFailed { words.append("onFailure hold") }
        if let batch { words.append("batch of \(batch)\(hasResults ? " with results" : "")") }
        if keeps { words.append("keep") }
        if needsKept { words.append("needs a kept value") }
        if hasSecret { words.append("a secret") }
        if let expiresAfter { words.append("expiresAfter \(expiresAfter)") }
        words.append("retry after \(delays.map { "\($0)" }.joined(separator: ", "))")
        return words.joined(separator: ", ")
    }
}
