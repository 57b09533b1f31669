import CSystem
import Policy

/// The evidence that an operation was delivered: the receipt of its answer, or the mark of a run that died after it.
package struct Delivery: ~Copyable {
    let file: DepartingFile
    fileprivate let name: EntryName
    fileprivate let directory: QueuePath

    fileprivate init(of claim: Claim) {
        directory = claim.directory
        (file, name) = (DepartingFile(claim), claim.name)
    }
}

extension SpoolRun {
    /// Returns the evidence of a delivery by this run. The receipt covers the claim.
    func delivery(of claim: Claim, by receipt: Receipt?) -> Delivery {
        precondition(receipt?.covers(claim) == true, "a delivery has a receipt")
        return Delivery(of: claim)
    }

    /// Returns the evidence of a delivery by a dead run; `nil` if the run's mark says nothing of one.
    func delivery(of claim: Claim, marked meaning: ClaimMarks.Meaning?) -> Delivery? {
        guard case .delivered? = meaning else { return nil }
        return Delivery(of: claim)
    }

    /// Row C → gone or K, for an operation that was delivered. `loss` is the error that kept the answer from the copy.
    /// Throws `notRemovedAfterDelivery` if the file cannot be removed.
    ///
    /// Removes the file if its copy cannot be kept: the operation must not be sent again for the sake of a copy.
    func finish(_ delivery: consuming Delivery, keep: Bool, loss: SpoolError? = nil) throws(SpoolError) -> Settled {
        guard keep else {
            try remove(delivery)
            return .gone
        }
        var name = delivery.name
        (name.interruptions, name.unknowns, name.isHeld, name.gate) = (0, 0, false, .open)
        let entry = Entry(state: .delivered, name: name)
        do throws(Errno) {
            do throws(Errno) {
                try queue.move(delivery.file.path, QueuePath(entry.path))
            } catch let error where error == .exists {
                // The copy of an earlier life: the operation came back by an import, and was delivered again.
                try queue.replace(delivery.file.path, QueuePath(entry.path))
            }
            noteAddition(in: entry.state.path)
            noteRemoval(in: delivery.directory)
            return if let loss { .unkept(loss) } else { .moved(entry) }
        } catch {
            try remove(delivery)
            return .unkept(SpoolError(error, "keep a copy in", QueuePath(entry.path)))
        }
    }

    private func remove(_ delivery: consuming Delivery) throws(SpoolError) {
        let place = delivery.directory
        do throws(SpoolError) { _ = try queue.depart("remove", .delivered(delivery)) } catch {
            throw SpoolError(kind: .notRemovedAfterDelivery, verb: error.verb, path: error.path, code: error.code)
        }
        noteRemoval(in: place)
    }
}
