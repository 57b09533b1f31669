/// Returns the candidate that `word` most likely means; `nil` if none is near.
///
/// A candidate is near if at most three edits turn `word` into it (insert, delete, replace, swap neighbours), and at
/// most one edit per three letters, but one is always allowed. One of four letters or more is near as well if `word` is
/// another form of it: `retries` means `retry`. So is the only one that begins with a `word` of three letters or more.
package func nearest(to word: String, in candidates: [String]) -> String? {
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
        let distance = editDistance(word, candidate)
        if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    if let best, best.distance <= min(3, max(1, word.utf8.count / 3)) || word.isInflected(best.candidate) {
        return best.candidate
    }
    let extended = candidates.filter { $0.begins(with: word) }
    return word.utf8.count >= 3 && extended.count == 1 ? extended[0] : nil
}

extension String {
    /// Whether the word begins like the stem, up to its last letter, and is at most three letters longer.
    fileprivate func isInflected(_ stem: String) -> Bool {
        stem.utf8.count >= 4 && utf8.count <= stem.utf8.count + 3 && utf8.starts(with: stem.utf8.dropLast())
    }
}

/// Returns the Damerau–Levenshtein distance in its restricted form: no part is edited twice.
func editDistance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for i in 1...left.count {
        var row = [i]
        for j in 1...right.count {
            let replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1)
            var cost = min(replaced, last[j] + 1, row[j - 1] + 1)
            if i > 1, j > 1, left[i - 1] == right[j - 2], left[i - 2] == right[j - 1] {
                cost = min(cost, beforeLast[j - 2] + 1)
            }
            row.append(cost)
        }
        (beforeLast, last) = (last, row)
    }
    return last[right.count]
}
