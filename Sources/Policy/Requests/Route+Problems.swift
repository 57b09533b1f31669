extension Route {
    /// Settings that cannot work together, or cannot work at all; empty for a route that can be used.
    package var problems: [RouteProblem] {
        var problems: [RouteProblem] = []
        for header in headers {
            if var problem = SecretText.problem(in: header.value) {
                problem.key = "headers.\(header.name)"
                problems.append(problem)
            }
        }
        if let url, let path = URLParts(url)?.rest.prefix(while: { $0 != "?" }), !SecretText(String(path)).names.isEmpty
        {
            problems.append(
                RouteProblem(
                    key: "url", reason: "has a secret outside of its query",
                    hint: "paths are written down by every server on the way: send it in a header"))
        }
        if let body, var problem = BodyTemplate.problem(in: body.text) {
            problem.key = "body"
            problems.append(problem)
        }
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
        if onFailure == .hold, ordering == .any {
            problems.append(
                RouteProblem(
                    key: "onFailure", reason: "there is no order in which one operation stands behind another",
                    hint: "set 'ordering' to 'key' or 'strict'"))
        }
        if let results = batch?.results, results.status == nil, results.error == nil {
            problems.append(
                RouteProblem(
                    key: "batch.results", reason: "says nothing of a single operation",
                    hint: "name 'status', 'error' or both within an element"))
        }
        if body?.text.isEmpty == true, `protocol` == .callable || batch != nil {
            problems.append(
                RouteProblem(
                    key: "body", reason: "an empty envelope leaves nothing to send",
                    hint: "leave out 'body': the payload is sent as it is"))
        }
        let looksIntoAnswer =
            `protocol` == .callable || batch?.results != nil
            || (answers + (accept.map { [$0] } ?? [])).contains { rule in
                if case .pointer = rule.until { return true }
                return rule.content.looksIntoBody
            }
        if looksIntoAnswer, method == "HEAD" {
            problems.append(
                RouteProblem(
                    key: "method", reason: "the answer to a HEAD has no body to look into",
                    hint: "use GET, or let the status alone decide"))
        }
        if looksIntoAnswer, answerLimit <= 0 {
            problems.append(
                RouteProblem(
                    key: "answerLimit", reason: "nothing is read of an answer that has to be looked into",
                    hint: "leave out 'answerLimit'"))
        }
        return problems
    }
}
