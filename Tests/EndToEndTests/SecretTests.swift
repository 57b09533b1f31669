import Foundation
import HostileReceiver
import LoopbackReceiver
import Testing

struct SecretTests {
    private static let mark = "MARKER-5d41402abc4b2a76b9719d911017c592"

    /// Returns the names and contents of all files in the queue, and the output of the commands.
    private func leavings(_ drainq: Drainq, _ finished: [Finished]) throws -> String {
        var text = finished.map { $0.output + $0.error }.joined()
        let files = FileManager.default.enumerator(at: drainq.queue, includingPropertiesForKeys: [.isRegularFileKey])
        for case let file as URL in try #require(files) {
            text += file.path
            if let data = try? Data(contentsOf: file) { text += String(decoding: data, as: UTF8.self) }
        }
        return text
    }

    private func configuration(_ url: String, _ more: String = "") -> String {
        """
        { routes: { default: { url: "\(url)/hooks/${secret:file}/{type}?key=${secret:file}", body: '{"k": "${secret:file}", "p": {payload}}',
            headers: { Authorization: "Bearer ${secret:file}", "X-Env": "${secret:env}", "X-Cmd": "${secret:command}" } } },
          secrets: { file: { file: "../secret" }, env: { env: "HOME_SECRET" }, command: { command: ["cat", "../secret"] } }
          \(more) }
        """
    }

    @Test func `commands can be started if the parent ignores SIGCHLD`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(configuration(receiver.url, ", hooks: { ended: [\"touch\", \"../told\"] }"))
        try drainq.write("s", as: "secret")
        drainq.environment["HOME_SECRET"] = "s"
        try drainq.run("add", input: numbered(2))
        let finished = try drainq.shell(
            "HOME_SECRET=s env --ignore-signal=CHLD \"$DRAINQ\" run -q queue; echo $?; ls told")
        #expect(finished.lines == ["0", "told"] && finished.error == "")
        #expect(receiver.receivedCount == 2)
    }

    @Test(arguments: [200, 301, 400, 401, 403, 404, 429, 500, 503])
    func `a secret echoed by a server is neither kept nor printed`(status: Int) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in
                .status(
                    status,
                    body: "\(request.target) \(request.text) "
                        + request.headers.map(\.description).joined(separator: ", "))
            })
        let drainq = try Drainq(configuration(receiver.url))
        try drainq.write(Self.mark + "\n", as: "secret")
        drainq.environment["HOME_SECRET"] = Self.mark
        try drainq.run("add", "--type", "t", input: numbered(7))
        let said = try [
            drainq.run("run", "-v"), drainq.run("run", "--now", "--json"), drainq.run("list", "--json"),
            drainq.run("status", "--json"), drainq.run("status"), drainq.run("check"),
            drainq.run("send", "--type", "t", "--no-queue", "--json", input: "1"),
        ]
        let sent = receiver.requests()
        #expect(sent.first?.header("Authorization") == "Bearer \(Self.mark)")
        #expect(sent.first?.header("X-Cmd") == Self.mark && sent.first?.header("X-Env") == Self.mark)
        #expect(sent.first?.target == "/hooks/\(Self.mark)/t?key=\(Self.mark)")
        // The output of `send` is the answer itself.
        let answers = status == 200 ? said.dropLast() : said[...]
        #expect(try !leavings(drainq, Array(answers)).contains("MARKER"))
    }

    /// Forms of a credential that a server may send back.
    enum Echo: CaseIterable {
        case plain, percent, json, base64, form, html

        func callAsFunction(_ text: String) -> String {
            switch self {
            case .plain: text
            case .percent: text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            case .json: text.replacing("/", with: "\\/").replacing("\"", with: "\\u0022")
            case .base64: Data(text.utf8).base64EncodedString()
            case .form: text.replacing(" ", with: "+").replacing("/", with: "%2f").replacing("\"", with: "%22")
            case .html: text.replacing("/", with: "&#x2F;").replacing("\"", with: "&quot;")
            }
        }
    }

    @Test(arguments: Echo.allCases)
    func `a secret echoed in another form is neither kept nor printed`(echo: Echo) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in
                let told = echo(request.headers.map(\.description).joined(separator: " "))
                if request.target.hasPrefix("/batch") {
                    let errors = (try? JSONEncoder().encode([["error": told]])) ?? Data()
                    return .status(200, body: String(decoding: errors, as: UTF8.self))
                }
                return .status(
                    404, headers: [HeaderLine("Content-Type", "x/\(told)")], body: "\(told) of \(request.target)")
            })
        let secret = "open/MARKER\"one"
        let drainq = try Drainq(
            """
            { routes: {
                default: { url: "\(receiver.url)/x?key=${secret:a}", headers: { Authorization: "Bearer ${secret:a}" } },
                batch: { url: "\(receiver.url)/batch", headers: { Authorization: "Bearer ${secret:a}" },
                    batch: { max: 5, results: { pointer: "", error: "/error" } } },
                signed: { url: "\(receiver.url)/signed",
                    headersCommand: ["sh", "../sign"] } },
              secrets: { a: { file: "../secret" } } }
            """)
        try drainq.write(secret + "\n", as: "secret")
        try drainq.write("cat > /dev/null; echo 'Authorization: Bearer signed/MARKER-two'", as: "sign")
        for type in ["default", "batch", "signed"] { try drainq.run("add", "--type", type, input: "1") }
        let said = try [
            drainq.run("run", "-v"), drainq.run("list", "--json"), drainq.run("status", "--json"),
            drainq.run("send", "--no-queue", "--json", input: "1"), drainq.run("send", "--no-queue", input: "1"),
        ]
        #expect(receiver.requests().contains { $0.header("Authorization") == "Bearer \(secret)" })
        #expect(receiver.requests().contains { $0.header("Authorization") == "Bearer signed/MARKER-two" })
        let left = try leavings(drainq, said)
        for text in ["MARKER", "TUFSS0VS", "1BUktFU", "hNQVJLRVI", "open/", "signed/"] {
            #expect(!left.replacing("/signed", with: "").contains(text), "\(text)")
        }
    }

    @Test(arguments: [
        HostileAnswer(.reset), HostileAnswer(.close),
        .verbatim("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n"),
    ])
    func `no secret is in the records and messages of failures`(answer: HostileAnswer) throws {
        let receiver = try LoopbackReceiver(script: .always(answer))
        let drainq = try Drainq(configuration(receiver.url))
        try drainq.write(Self.mark + "\n", as: "secret")
        drainq.environment["HOME_SECRET"] = Self.mark
        try drainq.run("add", "--type", "t", input: numbered(2))
        let said = try [drainq.run("run", "-v"), drainq.run("list", "--json")]
        #expect(try !leavings(drainq, said).contains("MARKER"))
    }

    @Test func `a credential is a file in the directory of systemd`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/x", headers: { Authorization: "Bearer ${secret:api}" } } },
              secrets: { api: { credential: "api" } } }
            """)
        try drainq.write(Self.mark, as: "api")
        try drainq.run("add", input: "1")
        #expect(try drainq.run("run").status == 69)
        drainq.environment["CREDENTIALS_DIRECTORY"] = drainq.directory.path
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().first?.header("Authorization") == "Bearer \(Self.mark)")
    }

    @Test func `no secret is in the arguments of a process`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204).delayed(.milliseconds(500))))
        let drainq = try Drainq(configuration(receiver.url))
        try drainq.write(Self.mark + "\n", as: "secret")
        drainq.environment["HOME_SECRET"] = Self.mark
        try drainq.run("add", "--type", "t", input: "1")
        let run = try drainq.start("run")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        #if os(Linux)
            for process in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(process) != nil {
                let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
                #expect(!String(decoding: arguments, as: UTF8.self).contains("MARKER"))
            }
        #endif
        #expect(try run.finish().status == 0)
    }

    @Test func `an operation's own url gets none of the route's credentials`() throws {
        let receiver = try LoopbackReceiver()
        let elsewhere = try LoopbackReceiver()
        let drainq = try Drainq(configuration(receiver.url))
        try drainq.write(Self.mark + "\n", as: "secret")
        #expect(try drainq.run("add", "--url", elsewhere.url + "/x", input: "1").status == 64)
        try drainq.drop(Data("{\"drainq\":1,\"url\":\"\(elsewhere.url)/x\",\"payload\":1}".utf8), as: "dropped")
        #expect(try drainq.run("run").status == 65)
        #expect(elsewhere.receivedCount == 0)
    }
}
