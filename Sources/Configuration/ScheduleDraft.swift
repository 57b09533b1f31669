import Policy

/// A schedule as written: a missing member is `nil`, a member `null` is `.some(nil)`.
struct ScheduleDraft: Hashable, Sendable {
    var preset: BackoffSchedule?
    var schedule: [Duration]?
    var base: Duration?
    var multiplier: Double?
    var max: Duration?
    var attempts: Int??
    var maxAge: Duration??
    var jitter: Double?

    /// The age at which a schedule without an end of its own ends.
    static let defaultMaxAge = Duration.seconds(3 * 86_400)
    static let defaultMaximum = Duration.seconds(12 * 3_600)
    static let defaultMultiplier = 2.0
    static let defaultJitter = 0.2

    /// Returns the schedule: a preset with changes, or one of its own. Throws if members contradict each other.
    func resolved() throws(Contradiction) -> BackoffSchedule {
        var resolved: BackoffSchedule
        let isExponential = base != nil || multiplier != nil || max != nil
        if let schedule {
            if isExponential || preset != nil {
                throw Contradiction(
                    reason: "it defines its delays twice",
                    hint: "leave out 'schedule', or 'preset', 'base', 'multiplier' and 'max'")
            }
            let once = (maxAge ?? nil) == nil ? schedule.count + 1 : nil
            resolved = BackoffSchedule(delays: .list(schedule), attempts: once, jitter: Self.defaultJitter)
        } else if let preset {
            resolved = preset
            if isExponential { resolved.delays = try changed(preset.delays) }
        } else if let base {
            let delays = BackoffSchedule.Delays.exponential(
                base: base, multiplier: multiplier ?? Self.defaultMultiplier,
                max: max ?? Swift.max(base, Self.defaultMaximum))
            resolved = BackoffSchedule(delays: delays, jitter: Self.defaultJitter)
        } else if isExponential {
            throw Contradiction(
                reason: "it lacks 'base'",
                hint: "'base' is the first delay, as in { base: \"30s\", multiplier: 2, max: \"1h\" }")
        } else {
            resolved = .standard
        }
        if let attempts { resolved.attempts = attempts }
        if let maxAge { resolved.maxAge = maxAge }
        // Only an explicit null lets a schedule without a number of attempts go on for ever.
        if maxAge == nil, resolved.attempts == nil, resolved.maxAge == nil { resolved.maxAge = Self.defaultMaxAge }
        if let jitter { resolved.jitter = jitter }
        if case .exponential(let base, _, let max) = resolved.delays, max < base {
            throw Contradiction(
                reason: "its 'max' is shorter than its 'base'",
                hint: "'max' is the longest delay, 'base' the first")
        }
        return resolved
    }

    private func changed(_ delays: BackoffSchedule.Delays) throws(Contradiction) -> BackoffSchedule.Delays {
        guard case .exponential(let base, let multiplier, let max) = delays else {
            throw Contradiction(
                reason: "its preset is a list of delays, which 'base', 'multiplier' and 'max' cannot change",
                hint: "leave out 'preset' to write a schedule of your own")
        }
        return .exponential(base: self.base ?? base, multiplier: self.multiplier ?? multiplier, max: self.max ?? max)
    }

    /// Members that are each valid and contradict each other.
    struct Contradiction: Error {
        var reason: String
        var hint: String
    }
}

extension ConfigurationValue<BackoffSchedule> {
    static let preset = ConfigurationValue("preset", .words(BackoffSchedule.presets.map(\.name))) { value, findings in
        let names = BackoffSchedule.presets.map(\.name)
        if let preset = BackoffSchedule.presets.first(where: { $0.name == value.string }) { return preset.schedule }
        return findings.refuse(
            value, "is not a preset",
            hint: didYouMean(value.string, among: names) ?? "the presets are \(names.joined(separator: ", "))")
    }

    /// A preset by its name, or an object of the keys `ConfigurationKeys.schedule`.
    static let schedule = ConfigurationValue(
        "schedule", .oneOf([preset.shape(), ownSchedule.shape()])
    ) { value, findings in
        guard case .object = value.content else { return preset.read(value, &findings) }
        return ownSchedule.read(value, &findings)
    }

    private static let ownSchedule = object("schedule", of: ConfigurationKeys.schedule, from: ScheduleDraft()) {
        draft, position, findings in
        do throws(ScheduleDraft.Contradiction) {
            return try draft.resolved()
        } catch {
            return findings.refuse("this schedule is invalid: \(error.reason)", at: position, hint: error.hint)
        }
    }
}
