package import Policy
package import Spool

extension SpoolDirectory {
    /// Returns the waiting operations that need a value which operations that are gone would have left, if no other
    /// operation in the queue can leave the value, and none has. Does not look into the chains of templates.
    package func followers(of gone: [EntryName], _ configuration: Configuration) throws(SpoolError) -> [EntryName] {
        var lost: [Digest: Set<String>] = [:]
        for name in gone {
            guard let key = name.keyDigest else { continue }
            let left = configuration.route(of: name.type).keep.keys
            if !left.isEmpty { lost[key, default: []].formUnion(left) }
        }
        if lost.isEmpty { return [] }
        for key in Array(lost.keys) { lost[key]?.subtract(try keptValues(of: key).keys) }
        var waiting: [EntryName] = []
        for state in [QueueState.new, .deferred, .claimed, .failed] {
            try forEachEntry(in: state) { entry in
                guard let key = entry.name.keyDigest, lost[key] != nil else { return }
                lost[key]?.subtract(configuration.route(of: entry.name.type).keep.keys)
                if state == .new || state == .deferred { waiting.append(entry.name) }
            }
        }
        return waiting.filter { name in
            let wanted = configuration.route(of: name.type).keptNames
            return name.keyDigest.flatMap { lost[$0] }.map { !$0.isDisjoint(with: wanted) } ?? false
        }
    }
}
