extension Route {
    /// The settings that cannot work together, or not at all; empty for a usable route.
    package var problems: [RouteProblem] {
        var problems: [RouteProblem] = []
        func check(_ key: String, _ text: String?, for use: TemplateUse, isLined: Bool = false) {
            do throws(RouteProblem) {
                guard let template = try text.map({ text throws(RouteProblem) in try Template(text, for: use) })
                else { return }
                if let problem = template.problem(for: use, isLined: isLined) { throw problem }
            } catch {
                var problem = error
                problem.key = key
                problems.append(problem)
            }
        }
        check("url", url.flatMap(URLParts.init).map { String($0.rest) }, for: .url)
        for header in headers { check("headers.\(header.name)", header.value, for: .header) }
        check("body", body, for: .body(bodySyntax), isLined: isBodyLined)
        check("batch.body", batch?.body, for: .batch)
        check("key", key, for: .key)
        check("idempotencyKey", idempotencyKey, for: .idempotencyKey)
        check("chain", chain, for: .idempotencyKey)
        return problems + contradictions
    }

    private var contradictions: [RouteProblem] {
        var problems: [RouteProblem] = []
        if `protocol` == .callable, batch != nil {
            problems.append(
                RouteProblem(
                    key: "batch", reason: "callable functions take one payload at a time",
                    hint: "leave out 'batch', or set 'protocol' to 'plain'"))
        }
        if mergesPayloads, batch != nil {
            problems.append(
                RouteProblem(
                    key: "batch", reason: "operations that are merged go in a request of their own",
                    hint: "leave out 'batch', or set 'coalesce' to true or false"))
        }
        if !keep.isEmpty, batch != nil {
            problems.append(
                RouteProblem(
                    key: "keep", reason: "the answer to a batch is not that to one operation",
                    hint: "leave out 'batch', or keep nothing"))
        }
        if compress != .none, let header = headers.first(where: { $0.name.lowercased() == "content-encoding" }) {
            problems.append(
                RouteProblem(
                    key: "headers.\(header.name)", reason: "'compress' writes this header",
                    hint: "leave it out: null takes an inherited one back"))
        }
        if basicUser != nil, let header = headers.first(where: { $0.name.lowercased() == "authorization" }) {
            problems.append(
                RouteProblem(
                    key: "headers.\(header.name)", reason: "'auth' writes this header",
                    hint: "leave it out: null takes an inherited one back"))
        }
        if basicPassword != nil, basicUser == nil {
            problems.append(RouteProblem(key: "auth.basic.user", reason: "is missing beside a password"))
        }
        if onFailure == .hold, !ordering.isStrict {
            problems.append(
                RouteProblem(
                    key: "onFailure", reason: "there is no order in which one operation stands behind another",
                    hint: "set 'ordering' to 'key' or 'strict'"))
        }
        if let results = batch?.results, !results.listsFailures, results.status == nil, results.error == nil {
            problems.append(
                RouteProblem(
                    key: "batch.results", reason: "names neither 'status' nor 'error' of an operation",
                    hint: "add 'status', 'error' or both: places within an element"))
        }
        if body?.isEmpty == true, `protocol` == .callable || batch != nil {
            problems.append(
                RouteProblem(
                    key: "body", reason: "an empty envelope leaves nothing to send",
                    hint: "leave out 'body': the payload is sent as it is"))
        }
        let keepsOfBody = keep.values.contains { if case .pointer = $0 { true } else { false } }
        let looksIntoAnswer =
            keepsOfBody || `protocol` == .callable || batch?.results != nil
            || (answers + (accept.map { [$0] } ?? [])).contains { rule in
                rule.content.looksIntoBody
                    || rule.until?.places.contains { if case .pointer = $0 { true } else { false } } == true
            }
        if looksIntoAnswer, method == "HEAD" {
            problems.append(
                RouteProblem(
                    key: "method", reason: "the route reads the answer's body, and the answer to a HEAD has none",
                    hint: "use GET, or let the status alone decide"))
        }
        if looksIntoAnswer, answerLimit <= 0 {
            problems.append(
                RouteProblem(
                    key: "answerLimit", reason: "the route reads the answer's body, but 'answerLimit' is 0",
                    hint: "leave out 'answerLimit'"))
        }
        return problems + contradictionsOfSigning
    }

    private var contradictionsOfSigning: [RouteProblem] {
        guard awsSigning != nil else { return [] }
        var problems: [RouteProblem] = []
        if let header = headers.first(where: { AWSSigning.fieldNames.contains($0.name.lowercased()) }) {
            problems.append(
                RouteProblem(
                    key: "headers.\(header.name)", reason: "'sign' writes this header",
                    hint: "leave it out: null takes an inherited one back"))
        }
        if redirects != .never {
            problems.append(
                RouteProblem(
                    key: "redirects", reason: "a signature is valid for one address only",
                    hint: "leave out 'redirects', or set 'url' to where they lead"))
        }
        if let origin, !origin.host.utf8.allSatisfy({ $0 < 0x80 }) {
            problems.append(
                RouteProblem(
                    key: "url", reason: "the host is signed as it is written here, and sent in Punycode",
                    hint: "write its name as DNS has it, xn--…"))
        }
        return problems
    }
}
