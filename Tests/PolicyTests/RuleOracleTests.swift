import Testing

@testable import Policy

/// Random routes and answers: the program decides as the manual says.
struct `The rules as the manual says them` {
    private static let statuses = [
        100, 200, 201, 204, 207, 299, 301, 400, 401, 403, 404, 409, 422, 429, 499, 500, 501, 503, 505, 599,
    ]
    private static let patterns = [
        "200", "201", "200-299", "2xx", "200-204", "207", "400", "404", "409", "4xx", "400-409", "404-499", "5xx",
        "500-599",
        "503", "200-599", "100-599",
    ]
    private static let kinds = ["a", "b"]

    @Test(arguments: 1...8)
    func `an answer has the outcome that the manual gives for answers, classify, protocol and accept`(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        var outcomes: Set<Outcome> = []
        for _ in 0..<2000 {
            let oracle = route(&chance)
            let facts = facts(&chance, status: Self.statuses.randomElement(using: &chance)!)
            let report = SealedReport(
                result: .answer(
                    .init(
                        status: facts.status,
                        headers: facts.contentType.map { [HeaderField(name: "Content-Type", value: $0)] } ?? [],
                        body: Array(body(facts, &chance).utf8))), duration: .zero)
            let verdict = Classification.verdict(on: report, route: oracle.route, now: Timestamp(microseconds: 0))
            let expected = oracle.outcome(of: facts)
            outcomes.insert(expected)
            #expect(verdict.outcome == expected, "\(oracle) \(facts): \(verdict.rule)")
            if verdict.outcome != expected { break }
        }
        #expect(outcomes.count == 4)
    }

    @Test(arguments: 1...8)
    func `an element of a batch's answer has the outcome that the manual gives for results`(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        var (judged, outcomes) = (0, Set<Outcome>())
        for _ in 0..<3000 {
            var oracle = route(&chance)
            oracle.isCallable = false
            let isList = Bool.random(using: &chance)
            let hasStatus = Bool.random(using: &chance)
            let hasError = !isList && !hasStatus || Bool.random(using: &chance)
            let results = Batch.Results(
                pointer: JSONPointer("/list")!, listsFailures: isList, match: isList ? JSONPointer("/id")! : nil,
                status: hasStatus ? JSONPointer("/status")! : nil, error: hasError ? JSONPointer("/error")! : nil)
            let isNamed = !isList || Int.random(in: 0..<4, using: &chance) > 0
            let whole = [200, 207, 400].randomElement(using: &chance)!
            let status = Int.random(in: 0..<5, using: &chance) == 0 ? nil : Self.statuses.randomElement(using: &chance)
            let kind = Self.kinds.randomElement(using: &chance)!
            let error = ["null", "false", "true", #""no""#, "0", "{}", nil].randomElement(using: &chance)!
            var members = [#""id":"x""#, #""kind":"\#(kind)""#]
            if let status { members.append(#""status":\#(status)"#) }
            if let error { members.append(#""error":\#(error)"#) }
            let body = #"{"success":true,"list":[\#(isNamed ? "{\(members.joined(separator: ","))}" : "")]}"#
            let report = SealedReport(
                result: .answer(
                    .init(
                        status: whole, headers: [HeaderField(name: "Content-Type", value: "application/json")],
                        body: Array(body.utf8))), duration: .zero)
            var route = oracle.route
            let batch = Batch(max: 2, results: results)
            route.batch = batch
            let verdicts = batch.verdicts(
                on: report, members: [OperationID("x")!], route: route, now: Timestamp(microseconds: 0))
            let wholeFacts = RuleOracle.Facts(status: whole, contentType: "application/json", succeeds: true)
            let isDelivery = oracle.outcome(of: wholeFacts) == .delivered
            #expect((verdicts != nil) == isDelivery)
            guard let verdict = verdicts?.first, isDelivery else { continue }
            let facts = RuleOracle.Facts(status: whole, contentType: "application/json", kind: kind)
            let fails = hasError ? error.map { $0 != "null" && $0 != "false" } ?? false : nil
            let expected =
                isNamed
                ? oracle.outcome(
                    ofElement: facts, status: hasStatus ? .some(status) : nil, fails: fails, isListed: isList)
                : .delivered
            (judged, outcomes) = (judged + 1, outcomes.union([expected]))
            #expect(verdict.outcome == expected, "\(oracle) \(results) \(whole) \(body): \(verdict.rule)")
            if verdict.outcome != expected { break }
        }
        #expect(judged > 500 && outcomes.count == 4)
    }

    // MARK: - Chance

    private func route(_ chance: inout SeededGenerator) -> RuleOracle {
        func outcome(_ chance: inout SeededGenerator) -> Outcome { Outcome.allCases.randomElement(using: &chance)! }
        var oracle = RuleOracle()
        for _ in 0..<[0, 0, 1, 2].randomElement(using: &chance)! {
            let low = Self.statuses.randomElement(using: &chance)!
            oracle.answers.append(
                RuleOracle.WrittenRule(
                    statuses: Bool.random(using: &chance)
                        ? low...min(599, low + [0, 9, 99].randomElement(using: &chance)!) : nil,
                    kind: Int.random(in: 0..<4, using: &chance) == 0 ? nil : Self.kinds.randomElement(using: &chance)!,
                    outcome: outcome(&chance)))
        }
        let names = RuleOracle.names.keys.sorted()
        oracle.isCallable = Bool.random(using: &chance)
        for _ in 0..<Int.random(in: 0...3, using: &chance) {
            let isName = oracle.isCallable && Bool.random(using: &chance)
            oracle.classify.append(
                ((isName ? names.prefix(4) : Self.patterns[...]).randomElement(using: &chance)!, outcome(&chance)))
        }
        if Bool.random(using: &chance) {
            let type = Bool.random(using: &chance) ? "application/json" : nil
            oracle.accept = RuleOracle.Accept(
                contentType: type, asksForSuccess: type == nil || Bool.random(using: &chance),
                otherwise: [.deferred, .held, .failed].randomElement(using: &chance)!)
        }
        return oracle
    }

    private func facts(_ chance: inout SeededGenerator, status: Int) -> RuleOracle.Facts {
        var facts = RuleOracle.Facts(
            status: status, contentType: ["application/json", "text/html", nil].randomElement(using: &chance)!)
        facts.isJSON = Int.random(in: 0..<5, using: &chance) > 0
        guard facts.isJSON else { return facts }
        facts.kind = (Self.kinds + ["c"]).randomElement(using: &chance)
        facts.succeeds = [true, false, nil].randomElement(using: &chance)!
        facts.hasResult = Bool.random(using: &chance)
        if Bool.random(using: &chance) {
            facts.name = (RuleOracle.names.keys.sorted().prefix(6) + ["NOPE", "unavailable"]).randomElement(
                using: &chance)
        }
        return facts
    }

    private func body(_ facts: RuleOracle.Facts, _ chance: inout SeededGenerator) -> String {
        guard facts.isJSON else { return ["", "<html>", "{", #"{"result":1}x"#].randomElement(using: &chance)! }
        var members: [String] = []
        if let kind = facts.kind { members.append(#""kind":"\#(kind)""#) }
        if let succeeds = facts.succeeds { members.append(#""success":\#(succeeds)"#) }
        if facts.hasResult { members.append(#""result":\#(["null", "1", "{}"].randomElement(using: &chance)!)"#) }
        if let name = facts.name {
            members.append(#""error":{"status":"\#(name)"}"#)
        } else if Bool.random(using: &chance) {
            members.append(#""error":null"#)
        }
        return "{\(members.shuffled(using: &chance).joined(separator: ","))}"
    }
}

extension RuleOracle {
    /// The same configuration in the program's form.
    fileprivate var route: Route {
        var route = Route(protocol: isCallable ? .callable : .plain)
        route.answers = answers.enumerated().map { index, rule in
            let kind = rule.kind.map {
                [JSONCondition(pointer: JSONPointer("/kind")!, test: .equals(.string($0)))]
            }
            return AnswerRule(
                .answers(index), .statuses(rule.statuses.map { [$0] }), content: AnswerContent(json: kind ?? []),
                rule.outcome)
        }
        route.classify = classify.map { AnswerRule.classify(AnswerPattern($0.pattern)!, outcome: $0.outcome) }
        route.accept = accept.map { accept in
            let condition = JSONCondition(pointer: JSONPointer("/success")!, test: .equals(.bool(true)))
            return .accept(
                contentType: accept.contentType, json: accept.asksForSuccess ? [condition] : [],
                otherwise: accept.otherwise)
        }
        return route
    }
}
