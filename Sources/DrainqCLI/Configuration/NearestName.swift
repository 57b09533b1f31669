/// Which known name a mistyped one was meant to be.
enum NearestName {
    /// The nearest of `names`; `nil` where none is near enough to be worth a question.
    static func of(_ written: String, in names: [String]) -> String? {
        let text = written.lowercased()
        let ranked = names.map { name in (name: name, distance: distance(text, name.lowercased())) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        let beginsAlike = zip(text, best.name.lowercased()).prefix { $0 == $1 }.count >= 4
        return best.distance <= max(1, text.count / 3) || beginsAlike ? best.name : nil
    }

    /// How many letters must be put in, taken out, replaced or swapped with their neighbour (optimal string alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.unicodeScalars.prefix(64))
        let right = Array(right.unicodeScalars.prefix(64))
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let same = left[row] == right[column]
                var cost = min(last[column] + (same ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
