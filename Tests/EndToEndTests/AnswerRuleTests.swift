import Foundation
import LoopbackReceiver
import Testing

/// Rules for answers, through the program.
struct AnswerRuleTests {
    @Test func `a rate limit in a successful answer delays the destination until its reset`() throws {
        let reset = Int(Date().timeIntervalSince1970) + 3600
        let receiver = try LoopbackReceiver(
            script: .always(
                Answer(
                    201,
                    headers: [
                        HeaderLine("X-RateLimit-Remaining", "0"),
                        HeaderLine("X-RateLimit-Reset", "\(reset)"),
                    ])))
        let drainq = try Drainq(
            to: receiver,
            """
            answers: [{ status: "2xx", header: { "x-ratelimit-remaining": "0" }, is: "deliver",
                        until: "x-ratelimit-reset" }]
            """)
        try drainq.run("add", input: numbered(3))
        #expect(try drainq.run("run", "--concurrency", "1").status == 75)
        #expect(try drainq.run("run", "--now").status == 75)
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.waiting() == 2)
        #expect(try drainq.run("status").output.contains("its server asked for time"))
        #expect(try drainq.run("explain", "201").output.contains("201"))
    }

    @Test(arguments: [
        (
            Answer.status(200, body: "{\"ok\":false}"),
            "the server answers, and takes nothing (200); the rule: accept: /ok does not equal true: defers"
        ),
        (.status(200, body: "{\"ok\":true}").truncated(by: 2), "the answer is not whole; the rule: error truncated: "),
    ])
    func `show says in a sentence why an answer of 200 is deferred`(answer: Answer, reason: String) throws {
        let receiver = try LoopbackReceiver(script: .always(answer))
        let drainq = try Drainq(to: receiver, "accept: { json: { pointer: \"/ok\", equals: true } }")
        let id = try #require(try drainq.run("add", input: "1").lines.first)
        #expect(try drainq.run("run").status == 75)
        let shown = try drainq.run("show", id).output
        #expect(shown.contains("\nbecause \(reason)"), "\(shown)")
    }

    private static let github = """
        answers: [
          { status: [403, 429], header: { "x-ratelimit-remaining": "0" }, is: "defer", until: "x-ratelimit-reset" },
          { status: 403, json: { pointer: "/message", contains: "secondary rate" }, is: "defer" },
        ]
        """

    @Test func `a rate limit in a header of the service delays the destination, and counts no attempt`() throws {
        let reset = Int(Date().timeIntervalSince1970) + 600
        let limited = Answer.status(
            403, headers: ["x-ratelimit-remaining: 0", HeaderLine("x-ratelimit-reset", "\(reset)")])
        let receiver = try LoopbackReceiver(script: .always(limited))
        let drainq = try Drainq(to: receiver, Self.github)
        for _ in 1...3 { try drainq.run("add", "--type", "issues", input: "1") }
        #expect(try drainq.run("run", "--concurrency", "1").status == 75)
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.run("run", "--now").status == 75)
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.list().allSatisfy { $0["attempts"] as? Int == 0 })
        let deferred = try #require(try drainq.list("--state", "deferred").first)
        #expect(
            deferred["rule"] as? String
                == "answers[0]: status 403 or 429, header x-ratelimit-remaining is '0': defer until x-ratelimit-reset")
        let due = try date(deferred["due"]).timeIntervalSince1970
        #expect(due >= Double(reset) && due < Double(reset) + 130)
        let shown = try json(drainq.run("show", deferred["id"] as? String ?? "", "--json").lines[0])
        let record = try #require((shown["history"] as? [[String: Any]])?.last)
        #expect(record["counted"] as? Bool == false && (record["retryAfter"] as? Int).map { $0 > 590 } == true)
    }

    @Test func `send obeys a rate limit as run does`() throws {
        let receiver = try LoopbackReceiver(
            script: .always(
                .status(429, headers: ["Content-Type: application/json"], body: #"{"retry_after":64.57,"global":true}"#)
            ))
        let drainq = try Drainq(to: receiver, #"answers: [{ status: 429, is: "defer", until: "/retry_after" }]"#)
        #expect(try drainq.run("send", input: "1").status == 75)
        #expect(try drainq.run("send", input: "2").status == 75)
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.list().allSatisfy { $0["attempts"] as? Int == 0 })
    }

    @Test(
        arguments: [
            (
                401, #"{"code":"PGRST301"}"#,
                #"{ status: 401, json: { pointer: "/code", contains: "PGRST" }, is: "fail" }"#
            ),
            (200, #"{"ok":false,"error":"invalid_auth"}"#, #"{ json: { pointer: "/ok", equals: false }, is: "hold" }"#),
        ])
    func `a rule on the body of a refusal does not prevent a refresh of the secret`(
        status: Int, body: String, rule: String
    ) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in
                request.header("Authorization") == "t2"
                    ? .status(204) : .status(status, headers: [], body: body)
            })
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)", headers: { Authorization: "${secret:t}" },
                answers: [\(rule)] } },
              secrets: { t: { command: ["sh", "../token.sh"] } } }
            """)
        try drainq.write("cat ../token\necho t2 >../token\n", as: "token.sh")
        try drainq.write("t1\n", as: "token")
        try drainq.run("add", input: "1")
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().map { $0.header("Authorization") } == ["t1", "t2"])
    }

    @Test func `an answer longer than answerLimit is judged by its status, and the record says why`() throws {
        let body = #"{"code":"busy","detail":""# + String(repeating: "x", count: 2000) + #""}"#
        let receiver = try LoopbackReceiver(script: .always(.status(400, headers: [], body: body)))
        let rule = #"answers: [{ status: 400, json: { pointer: "/code", equals: "busy" }, is: "defer" }]"#
        let drainq = try Drainq(to: receiver, rule + #", answerLimit: "1kB""#)
        try drainq.run("add", input: "1")
        #expect(try drainq.run("run").status == 1)
        let text = try #require(try drainq.list("--state", "failed").first?["rule"] as? String)
        #expect(text.hasSuffix("answerLimit, or cannot be read whole: no rule looks into its body"))
        let longer = try Drainq(to: receiver, rule)
        try longer.run("add", input: "1")
        #expect(try longer.run("run").status == 75)
    }

    @Test func `check and run report a rule that never decides, and no request is sent`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: "1")
        try Data(
            """
            { routes: { default: { url: "\(receiver.url)", answers: [
              { status: "400-499", is: "defer" },
              { status: 409, is: "deliver" },
            ] } } }
            """.utf8
        ).write(to: drainq.queue.appending(path: "drainq.json"))
        for command in ["check", "run"] {
            let refused = try drainq.run(command)
            #expect(refused.status == 78)
            #expect(
                refused.error.contains(
                    "drainq.json:3:3: routes.default.answers: this rule never decides: the rules up to line 2"))
        }
        #expect(receiver.receivedCount == 0)
    }

    @Test func `explain judges a recorded answer`() throws {
        let drainq = try Drainq("{ routes: { default: { url: \"https://api.github.com\",\n\(Self.github) } } }")
        let answer = "HTTP/2 403 \r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 30\r\n\r\n{\"message\":\"no\"}"
        let path = try drainq.write(answer, as: "answer.txt")
        let explained = try drainq.run("explain", "--answer", path)
        #expect(explained.status == 0, "\(explained.error)")
        #expect(explained.lines.first == "403 on the route 'default': deferred")
        #expect(explained.output.contains("runs send nothing to it for 30s, as the answer asks"))
        #expect(explained.output.contains("drainq.json:3"))
        let piped = try json(
            drainq.run(
                "explain", "--answer", "-", "--json",
                input: "HTTP/1.1 403 Forbidden\n\n{\"message\":\"You have exceeded a secondary rate limit\"}"
            ).output)
        #expect(piped["outcome"] as? String == "deferred")
        #expect((piped["written"] as? String)?.hasSuffix("/drainq.json:4") == true)
        #expect(
            try drainq.run("explain", "--answer", "-", input: "HTTP/1.1 403 Forbidden\n").lines[0].hasSuffix("held"))
        // `--answer -` reads only the rest of a redirected file.
        let rest = try drainq.shell("{ read -r line; drainq explain --answer -; } <\(path)")
        #expect(rest.status == 65 && rest.error.contains("line 1 is not a status line"))
        let refused = try drainq.run("explain", "--answer", "-", input: "{}")
        #expect(refused.status == 65 && refused.error.contains("line 1 is not a status line"))
        #expect(try drainq.run("explain", "--answer", "/none").status == 74)
        #expect(try drainq.run("explain", "403", "--answer", path).status == 64)
    }

    private static let duplicate = Answer.status(
        409, headers: ["Content-Type: application/json"],
        body: #"{"code":"23505","message":"duplicate key value violates unique constraint \"notes_pkey\""}"#)

    private static let insert = """
        retry: { base: "1s", attempts: 5 },
        answers: [
          { status: 409, after: "unknown", json: { pointer: "/message", contains: '"notes_pkey"' }, is: "deliver" },
          { status: 409, is: "fail" },
        ]
        """

    @Test func `a 409 at the first attempt is no delivery for a rule with after`() throws {
        let receiver = try LoopbackReceiver(script: .always(Self.duplicate))
        let drainq = try Drainq(to: receiver, Self.insert)
        try drainq.run("add", input: #"{"id":29}"#)
        #expect(try drainq.run("run").status == 1)
        #expect(try drainq.names("failed").count == 1)
    }

    @Test func `a 409 after a lost answer is a delivery for a rule with after, also after an answer between`() throws {
        let answers = [Answer.reset, .status(503), Self.duplicate]
        let receiver = try LoopbackReceiver(script: .deciding { _, before in answers[min(before, 2)] })
        let drainq = try Drainq(to: receiver, Self.insert)
        try drainq.run("add", input: #"{"id":29}"#)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.run("run", "--now").status == 75)
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(try drainq.waiting() == 0 && drainq.names("failed").isEmpty)
    }

    @Test func `check notes a rule that takes a first 409 for a delivery, and none with after`() throws {
        let queue = try Drainq(
            #"{ routes: { default: { url: "http://127.0.0.1:1/", answers: [{ status: 409, is: "deliver" }] } } }"#)
        #expect(try queue.run("check").output.contains("takes a 409 to a first request for a delivery"))
        let careful = try Drainq(
            #"{ routes: { default: { url: "http://127.0.0.1:1/", answers: [{ status: 409, after: "unknown", is: "deliver" }] } } }"#
        )
        #expect(try !careful.run("check").output.contains("first request"))
    }
}
