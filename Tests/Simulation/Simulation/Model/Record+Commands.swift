import Policy

extension Record {
    /// Whether `send` handed in the operation, or an older content of its id.
    func wasSent(_ life: Life) -> Bool {
        life.offer.way == .send || life.isReplacing && contents(of: life).contains { $0.offer.way == .send }
    }

    /// Whether another operation of the id was handed in before.
    func hasOlderContent(_ life: Life) -> Bool { contents(of: life).contains { $0.offered < life.offered } }

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
