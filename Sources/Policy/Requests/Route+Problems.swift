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
            problems.add(
                "batch", "callable functions take one payload at a time",
                hint: "leave out 'batch', or set 'protocol' to 'plain'")
        }
        if mergesPayloads, batch != nil {
            problems.add(
                "batch", "operations that are merged go in a request of their own",
                hint: "leave out 'batch', or set 'coalesce' to true or false")
        }
        if !keep.isEmpty, batch != nil {
            problems.add(
                "keep", "the answer to a batch is not that to one operation", hint: "leave out 'batch', or keep nothing"
            )
        }
        if compress != .none { problems.addField(of: headers, among: ["content-encoding"], writtenBy: "compress") }
        if basicUser != nil { problems.addField(of: headers, among: ["authorization"], writtenBy: "auth") }
        if basicPassword != nil, basicUser == nil {
            problems.add("auth.basic.user", "is missing beside a password")
        }
        if onFailure == .hold, !ordering.isStrict {
            problems.add(
                "onFailure", "there is no order in which one operation stands behind another",
                hint: "set 'ordering' to 'key' or 'strict'")
        }
        if let results = batch?.results, !results.listsFailures, results.status == nil, results.error == nil {
            problems.add(
                "batch.results", "names neither 'status' nor 'error' of an operation",
                hint: "add 'status', 'error' or both: places within an element")
        }
        if body?.isEmpty == true, `protocol` == .callable || batch != nil {
            problems.add(
                "body", "an empty envelope leaves nothing to send",
                hint: "leave out 'body': the payload is sent as it is")
        }
        let keepsOfBody = keep.values.contains { if case .pointer = $0 { true } else { false } }
        let looksIntoAnswer =
            keepsOfBody || `protocol` == .callable || batch?.results != nil
            || (answers + (accept.map { [$0] } ?? [])).contains { rule in
                rule.content.looksIntoBody
                    || rule.until?.places.contains { if case .pointer = $0 { true } else { false } } == true
            }
        if looksIntoAnswer, method == "HEAD" {
            problems.add(
                "method", "the route reads the answer's body, and the answer to a HEAD has none",
                hint: "use GET, or let the status alone decide")
        }
        if looksIntoAnswer, answerLimit <= 0 {
            problems.add(
                "answerLimit", "the route reads the answer's body, but 'answerLimit' is 0",
                hint: "leave out 'answerLimit'")
        }
        return problems + contradictionsOfSigning
    }

    private var contradictionsOfSigning: [RouteProblem] {
        guard awsSigning != nil else { return [] }
        var problems: [RouteProblem] = []
        problems.addField(of: headers, among: AWSSigning.fieldNames, writtenBy: "sign")
        if redirects != .never {
            problems.add(
                "redirects", "a signature is valid for one address only",
                hint: "leave out 'redirects', or set 'url' to where they lead")
        }
        if let origin, !origin.host.utf8.allSatisfy({ $0 < 0x80 }) {
            problems.add(
                "url", "the host is signed as it is written here, and sent in Punycode",
                hint: "write its name as DNS has it, xn--…")
        }
        return problems
    }
}

extension [RouteProblem] {
    fileprivate mutating func add(_ key: String, _ reason: String, hint: String? = nil) {
        append(RouteProblem(key: key, reason: reason, hint: hint))
    }

    /// Adds a header field that another key of the route writes, if the headers have one.
    fileprivate mutating func addField(of headers: [HeaderField], among names: Set<String>, writtenBy key: String) {
        guard let header = headers.first(where: { names.contains($0.name.lowercased()) }) else { return }
        add(
            "headers.\(header.name)", "'\(key)' writes this header",
            hint: "leave it out: null takes an inherited one back")
    }
}
