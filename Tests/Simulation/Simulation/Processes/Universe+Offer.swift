internal import Policy
internal import Spool

extension Universe {
    /// Makes the operation of a planned offer at the present moment.
    func offer(
        _ planned: Plan.PlannedOffer, _ way: Offer.Way, _ process: SimulatedProcess
    ) -> (offer: Offer, operation: Policy.Operation) {
        if planned.wait > .zero { process.sleep(until: scheduler.time + planned.wait) }
        let now = process.times.next(now: now(on: process.host))
        process.lastOffer = now
        var offer = Offer(
            label: planned.label, way: way, type: planned.type,
            payload: #"{"\#(planned.member)":\#(planned.label)}"#)
        offer.key = planned.key
        offer.createdAt = planned.age.map { now - $0 }
        offer.notBefore = planned.notBefore.map { now + $0 }
        offer.expiresAt = planned.expires.map { now + $0 }
        offer.isDurable = planned.isDurable
        offer.isStranger = process.user != 0
        if planned.hasOwnID { offer.id = OperationID("own-\(planned.sharesIDWith ?? planned.label)") }
        let header = OperationHeader(
            id: offer.id ?? .random(using: &process.chance), type: offer.type, createdAt: offer.createdAt ?? now,
            contentType: "application/json", key: offer.key, notBefore: offer.notBefore, expiresAt: offer.expiresAt)
        return (offer, Policy.Operation(header: header, body: Array(offer.payload.utf8)))
    }
}
