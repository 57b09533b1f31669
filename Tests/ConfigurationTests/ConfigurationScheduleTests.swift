import Testing

@testable import Policy

struct `The schedules of a configuration` {
    @Test(
        arguments: [
            (
                "{ base: '1h' }",
                .init(
                    delays: .exponential(base: .seconds(3_600), multiplier: 2, max: .seconds(43_200)),
                    maxAge: .seconds(259_200), jitter: 0.2)
            ),
            (
                "{ base: '1s', attempts: 3 }",
                .init(
                    delays: .exponential(base: .seconds(1), multiplier: 2, max: .seconds(43_200)), attempts: 3,
                    jitter: 0.2)
            ),
            (
                "{ base: '1d', maxAge: null }",
                .init(delays: .exponential(base: .seconds(86_400), multiplier: 2, max: .seconds(86_400)), jitter: 0.2)
            ),
            ("{ schedule: ['1s', '2s'] }", .init(delays: .list([.seconds(1), .seconds(2)]), attempts: 3, jitter: 0.2)),
            (
                "{ schedule: ['1s'], maxAge: '1h' }",
                .init(delays: .list([.seconds(1)]), maxAge: .seconds(3_600), jitter: 0.2)
            ),
            ("{ schedule: ['1s'], attempts: 7 }", .init(delays: .list([.seconds(1)]), attempts: 7, jitter: 0.2)),
            (
                "{ schedule: ['1s'], attempts: null, jitter: 0 }",
                .init(delays: .list([.seconds(1)]), maxAge: .seconds(259_200))
            ),
        ] as [(String, BackoffSchedule)])
    func `a custom schedule has an end, unless maxAge null removes the end`(text: String, expected: BackoffSchedule)
        throws
    {
        #expect(try configured("{ routes: { default: { retry: \(text) } } }").defaultRoute.retry == expected)
    }

    /// The sentences about attempts and maxAge in drainq-config(5), for every way to write a schedule.
    @Test func `a schedule ends as the manual says`() throws {
        let delays: [(text: String, attempts: Int?, age: Duration?)] =
            BackoffSchedule.presets.map { ("preset: '\($0.name)'", $0.schedule.attempts, $0.schedule.maxAge) } + [
                ("", nil, .seconds(259_200)), ("base: '1s'", nil, nil), ("schedule: ['1s', '2s']", nil, nil),
            ]
        let members = { (name: String, values: [String?]) in values.map { $0.map { "\(name): \($0)" } } }
        for (text, presetAttempts, presetAge) in delays {
            for attempts in members("attempts", [nil, "null", "7"]) {
                for age in members("maxAge", [nil, "null", "'1h'"]) {
                    let all = [text, attempts, age].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ", ")
                    let schedule = try configured("{ routes: { default: { retry: { \(all) } } } }").defaultRoute.retry
                    // "The number of attempts in all; null does not limit them. If absent, it is that of the preset. A
                    // schedule without maxAge then ends after one attempt more than it has delays. Any other schedule
                    // has no limit of attempts."
                    let isUsedOnce = text.hasPrefix("schedule") && age != "maxAge: '1h'"
                    let wanted =
                        switch attempts {
                        case nil: isUsedOnce ? 3 : presetAttempts
                        case "attempts: 7": 7
                        default: Int?.none
                        }
                    #expect(schedule.attempts == wanted, "\(all)")
                    // "null does not limit it. If absent, it is that of the preset, and 3d if a schedule has neither a
                    // number of attempts nor an age."
                    let wantedAge: Duration? =
                        switch age {
                        case nil: presetAge ?? (wanted == nil ? .seconds(259_200) : nil)
                        case "maxAge: null": nil
                        default: .seconds(3600)
                        }
                    #expect(schedule.maxAge == wantedAge, "\(all)")
                }
            }
        }
    }

    @Test func `a schedule without delays changes its preset, or "standard"`() throws {
        let configuration = try configured(
            "{ routes: { default: { retry: { attempts: 8 } }, a: { retry: { preset: 'quick', max: '9s', jitter: 0 } } } }"
        )
        var standard = BackoffSchedule.standard
        standard.attempts = 8
        #expect(configuration.defaultRoute.retry == standard)
        let quick = BackoffSchedule.presets.first { $0.name == "quick" }!.schedule
        let changed = configuration.route(of: TypeName("a")!).retry
        #expect(changed.delays == .exponential(base: .seconds(1), multiplier: 2, max: .seconds(9)))
        #expect(changed.attempts == quick.attempts)
        #expect(changed.jitter == 0)
    }
}
