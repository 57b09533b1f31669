/// What brings switches and power cuts to the moments that matter.
extension PlanMaker {
    /// Counts change points by calls that tell or change what others see, and cuts the power when somebody relies on what
    /// was just said.
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
