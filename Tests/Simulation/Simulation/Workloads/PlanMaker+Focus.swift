/// Switches and power cuts at the moments that matter.
extension PlanMaker {
    /// Counts change points by calls that tell or change shared names and locks, and cuts the power shortly after
    /// promises.
    mutating func focus(_ plan: inout Plan) {
        if plan.schedule.style == .priorities, variety.happens(0.5) {
            plan.schedule.countsTelling = true
            plan.schedule.changePoints = plan.schedule.changePoints.map { 1 + $0 / 4 }
        }
        if variety.happens(0.1) {
            plan.faults.append(
                .cutPowerAfter(
                    promise: 1 + variety.below(20), wait: variety.pick([.zero, .milliseconds(1), .milliseconds(20)])))
        }
    }
}
