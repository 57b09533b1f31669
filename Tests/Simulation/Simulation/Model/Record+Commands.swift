import Policy

extension Record {
    /// Returns the operations that a command may have changed. If several contents had the id, a command changes a
    /// content that had its name before the command began, and had not left the queue then.
    func meant(by id: OperationID, since began: Int, told: Int) -> [Int] {
        let places = lives(of: id, before: told)
        if places.count < 2 { return places }
        let there = places.filter { place in
            let life = lives[place]
            return life.named.map { $0 < began } ?? false
                && !life.leaves.contains { $0.leave == .delivered && $0.at < began }
        }
        return there.isEmpty ? places : there
    }
}
