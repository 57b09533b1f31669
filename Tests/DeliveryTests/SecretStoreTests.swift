import Delivery
import Foundation
import Policy
import Testing

/// A directory for a test, and a store of secrets with the directory as base.
final class SecretPlace {
    let path: String

    init() throws {
        path =
            URL(filePath: drainq).deletingLastPathComponent().appending(path: "test-secrets/\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    @discardableResult
    func write(_ content: String, to name: String = "token", mode: Int = 0o600) throws -> String {
        try write(Data(content.utf8), to: name, mode: mode)
    }

    @discardableResult
    func write(_ content: Data, to name: String = "token", mode: Int = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        try content.write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    func store(
        _ sources: [String: SecretSource], environment: [String: String] = [:], passing passed: [String] = [],
        commandTimeout: Duration = .seconds(20)
    ) -> SecretStore {
        var environment = environment
        environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        return SecretStore(
            sources: sources, environment: environment, passing: passed, base: path, commandTimeout: commandTimeout)
    }

    /// The number of runs of a command that appends a line to the file each time.
    func runs(_ file: String = "runs") -> Int {
        (try? String(contentsOfFile: "\(path)/\(file)", encoding: .utf8).split(separator: "\n").count) ?? 0
    }
}

struct `Secrets` {
    let place: SecretPlace

    init() throws {
        place = try SecretPlace()
    }

    private func outcome(_ source: SecretSource, environment: [String: String] = [:]) -> (
        value: String?, failure: String?
    ) {
        let values = place.store(["api": source], environment: environment).values(["api"])
        return (values.values["api"], values.failures["api"])
    }

    // MARK: - Content

    @Test(arguments: [
        ("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("abc\n\n\r\n", "abc"), (" a\tb ", " a\tb "),
        ("ü🔑", "ü🔑"), ("\u{FEFF}abc\n", "abc"),
    ])
    func `line breaks at the end and a byte order mark are no part of a secret`(content: String, value: String) throws {
        try place.write(content)
        #expect(outcome(.file("token")).value == value)
        #expect(outcome(.environment("T"), environment: ["T": content]).value == value)
        #expect(outcome(.command(["printf", "%s", content], ttl: .seconds(1))).value == value)
    }

    @Test(arguments: [
        (Data(), "is empty"),
        (Data("\n\r\n".utf8), "is empty"),
        (Data("one\ntwo\n".utf8), "has more than one line in it"),
        (Data("one\rtwo".utf8), "has more than one line in it"),
        (Data("\nabc".utf8), "has more than one line in it"),
        (Data("one\0two".utf8), "has control characters in it"),
        (Data("one\u{1b}".utf8), "has control characters in it"),
        (Data([0x61, 0xff, 0xfe]), "has something other than UTF-8 in it"),
        (Data(repeating: 0x61, count: 65_537), "has more than 64 KB in it"),
        (Data(repeating: 0x61, count: 3_000_000), "has more than 64 KB in it"),
    ])
    func `content that cannot be sent as a secret is refused`(content: Data, reason: String) throws {
        let file = try place.write(content)
        #expect(outcome(.file("token")).failure == "comes from '\(file)', which \(reason)")
        #expect(
            outcome(.command(["cat", "token"], ttl: .zero)).failure == "comes from the command 'cat', which \(reason)")
    }

    @Test func `a secret may be as large as 64 KB`() throws {
        let content = String(repeating: "a", count: 65_536)
        try place.write(content)
        #expect(outcome(.file("token")).value == content)
        #expect(outcome(.command(["cat", "token"], ttl: .zero)).value == content)
    }

    // MARK: - Files

    @Test(
        arguments: [
            (0o600, nil), (0o400, nil), (0o640, nil), (0o440, nil), (0o750, nil),
            (0o644, "is readable or writable by others (mode 0644, should be 0600 or 0640)"),
            (0o604, "is readable or writable by others (mode 0604, should be 0600 or 0640)"),
            (0o602, "is readable or writable by others (mode 0602, should be 0600 or 0640)"),
            (0o660, "is writable by its group (mode 0660, should be 0600 or 0640)"),
            (0o666, "is readable or writable by others (mode 0666, should be 0600 or 0640)"),
        ] as [(Int, String?)])
    func `a secret file with access for others, or write access for its group, is refused`(mode: Int, reason: String?)
        throws
    {
        let file = try place.write("abc", mode: mode)
        let found = outcome(.file("token"))
        #expect(found.failure == reason.map { "comes from '\(file)', which \($0)" })
        #expect(found.value == (reason == nil ? "abc" : nil))
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `a secret file of another user is refused, unless the configuration has the same owner`() throws {
        let file = try place.write("abc")
        chown(file, 4711, 4711)
        #expect(outcome(.file(file)).failure == "comes from '\(file)', which belongs to another user (uid 4711)")
        chown(place.path, 4711, 4711)
        #expect(outcome(.file(file)).value == "abc")
    }

    @Test func `the error for a missing or irregular file names its path`() throws {
        #expect(
            outcome(.file("token")).failure
                == "comes from '\(place.path)/token', which cannot be read: No such file or directory")
        #expect(outcome(.file(".")).failure == "comes from '\(place.path)/.', which is not a regular file")
        #expect(outcome(.file("/dev/zero")).failure == "comes from '/dev/zero', which is not a regular file")
        mkfifo("\(place.path)/fifo", 0o600)
        #expect(outcome(.file("fifo")).failure == "comes from '\(place.path)/fifo', which is not a regular file")
    }

    @Test func `a symbolic link is followed, and its target is judged`() throws {
        try place.write("abc", to: "..data")
        try FileManager.default.createSymbolicLink(atPath: "\(place.path)/token", withDestinationPath: "..data")
        #expect(outcome(.file("token")).value == "abc")
        try place.write("abc", to: "..data", mode: 0o644)
        #expect(outcome(.file("token")).value == nil)
    }

    @Test func `a file is read at each attempt`() throws {
        let store = place.store(["api": .file("token")])
        #expect(store.values(["api"]).failures.keys.contains("api"))
        try place.write("old")
        let used = store.values(["api"])
        #expect(used.values == ["api": "old"])
        #expect(!store.refresh(after: used))
        // The new token has the same length, and the file system may give it the same time.
        try place.write("new")
        #expect(store.refresh(after: used))
        #expect(store.values(["api"]).values == ["api": "new"])
    }

    // MARK: - Environment and credentials

    @Test func `the error for a missing, empty or invalid variable names the variable`() {
        #expect(
            outcome(.environment("TOKEN")).failure == "comes from the environment variable 'TOKEN', which is not set")
        #expect(
            outcome(.environment("TOKEN"), environment: ["TOKEN": ""]).failure
                == "comes from the environment variable 'TOKEN', which is empty")
        #expect(outcome(.environment("TOKEN"), environment: ["TOKEN": "t"]).value == "t")
        #expect(
            outcome(.environment("TOKEN"), environment: ["TOKEN": String(raw: [0x74, 0xF6])]).failure
                == "comes from the environment variable 'TOKEN', which has something other than UTF-8 in it")
    }

    @Test func `a credential is a file directly in systemd's directory`() throws {
        try place.write("abc", to: "api.token", mode: 0o440)
        let environment = ["CREDENTIALS_DIRECTORY": place.path]
        #expect(outcome(.credential("api.token"), environment: environment).value == "abc")
        #expect(
            outcome(.credential("api.token")).failure
                == "comes from the credential 'api.token', which is not there: CREDENTIALS_DIRECTORY is not set")
        #expect(
            outcome(.credential("other"), environment: environment).failure
                == "comes from '\(place.path)/other', which cannot be read: No such file or directory")
        for name in ["", ".", "..", "../token", "a/b"] {
            #expect(
                outcome(.credential(name), environment: environment).failure
                    == "comes from the credential '\(name)', which is not the name of a file")
        }
    }

    @Test func `a name without a source is not configured`() {
        #expect(place.store([:]).values(["api"]).failures == ["api": "is not configured"])
        #expect(place.store([:]).values([]).failures.isEmpty)
    }

    // MARK: - Commands

    @Test(arguments: [
        (["false"], "the command 'false', which exited with status 1"),
        (["sh", "-c", "echo marker; exit 3"], "the command 'sh', which exited with status 3"),
        (["./missing"], "the command './missing', which cannot be started: No such file or directory"),
        (["true"], "the command 'true', which is empty"),
        ([], "the command '', which cannot be started: Invalid argument"),
    ])
    func `the error for a failed command says how the command ended`(arguments: [String], reason: String) {
        #expect(outcome(.command(arguments, ttl: .zero)).failure == "comes from \(reason)")
    }

    @Test func `the error for a hanging command names the time-out`() {
        let store = place.store(["api": .command(["sleep", "1000"], ttl: .zero)], commandTimeout: .milliseconds(300))
        let reason = "comes from the command 'sleep', which did not end within 300ms"
        #expect(store.values(["api"]).failures == ["api": reason])
    }

    @Test func `a command runs in the configuration's directory, with the usual and passed variables and no secret`()
        throws
    {
        let tell = try script("echo \"${LC_TIME-none} ${AWS_PROFILE-none} ${TOKEN-none} ${OTHER-none}\"")
        try FileManager.default.moveItem(atPath: tell, toPath: "\(place.path)/tell")
        let store = place.store(
            ["api": .command(["./tell"], ttl: .zero), "other": .environment("TOKEN")],
            environment: ["AWS_PROFILE": "p", "TOKEN": "t", "OTHER": "o", "LC_TIME": "C"],
            passing: ["AWS_PROFILE", "TOKEN", "UNSET"])
        #expect(store.values(["api"]).values == ["api": "C p none none"])
        #expect(store.commandEnvironment.description == "ProgramEnvironment(AWS_PROFILE, LC_TIME, PATH)")
    }

    @Test func `the output of a command is kept for its time to live`() {
        let store = place.store(["api": .command(["sh", "-c", "echo x >> runs; wc -l < runs"], ttl: .seconds(60))])
        let start = ContinuousClock.now
        #expect(store.values(["api"], at: start).values == ["api": "1"])
        #expect(store.values(["api"], at: start + .seconds(59)).values == ["api": "1"])
        // The time to live begins at the end of the command.
        #expect(store.values(["api"], at: start + .seconds(120)).values == ["api": "2"])
        #expect(place.runs() == 2)
    }

    @Test func `a failed command is run again after 1, 2, 4 and more seconds, at most a minute`() {
        let store = place.store(["api": .command(["sh", "-c", "echo x >> runs; exit 1"], ttl: .seconds(60))])
        var moment = ContinuousClock.now
        for (runs, delay) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60)] {
            let found = store.values(["api"], at: moment)
            #expect(found.unavailable["api"].map { $0 >= .milliseconds(delay * 1000) } == true)
            #expect(store.values(["api"], at: moment + .milliseconds(delay * 1000 - 1)).values.isEmpty)
            #expect(place.runs() == runs)
            moment += .seconds(delay + 20)
        }
    }

    @Test(arguments: [(77, false), (1, true), (75, true)])
    func `status 77 of a command asks for an operator, and another one for time`(status: Int, isPassing: Bool) {
        let store = place.store(["api": .command(["sh", "-c", "exit \(status)"], ttl: .seconds(60))])
        #expect((store.values(["api"]).unavailable["api"] != nil) == isPassing)
    }

    @Test func `a command that nobody has waited for is asked once for all threads`() {
        let store = place.store(["api": .command(["sh", "-c", "echo x >> runs; sleep 0.2; echo a"], ttl: .seconds(60))])
        #expect(store.mayWait(for: ["api"]))
        DispatchQueue.concurrentPerform(iterations: 4) { _ in _ = store.values(["api"]) }
        #expect(place.runs() == 1 && !store.mayWait(for: ["api"]))
    }

    @Test func `a refusal runs the command once more, and a second refusal of the same output does not`() {
        let store = place.store(["api": .command(["sh", "-c", "echo x >> runs; wc -l < runs"], ttl: .seconds(3600))])
        let start = ContinuousClock.now
        let first = store.values(["api"], at: start)
        #expect(store.refresh(after: first, at: start + .seconds(1)))
        #expect(place.runs() == 2)
        // A second attempt was in flight with the first answer: a newer answer exists already.
        #expect(store.refresh(after: first, at: start + .seconds(2)))
        #expect(place.runs() == 2)
        // The newer answer has expired within seconds, too.
        let second = store.values(["api"], at: start + .seconds(3))
        #expect(store.refresh(after: second, at: start + .seconds(4)))
        #expect(place.runs() == 3)
        #expect(store.values(["api"], at: start + .seconds(5)).values == ["api": "3"])
    }

    @Test func `a command that fails after a refusal counts as changed, whatever its status`() throws {
        let command = ["sh", "-c", "test ! -e status || exit $(cat status); echo same"]
        for status in ["1", "77"] {
            let store = place.store(["api": .command(command, ttl: .seconds(3600))])
            let used = store.values(["api"])
            let file = try place.write(status, to: "status")
            #expect(store.refresh(after: used))
            try FileManager.default.removeItem(atPath: file)
        }
    }

    @Test func `a command with unchanged output is not run for each refusal`() {
        let store = place.store(["api": .command(["sh", "-c", "echo x >> runs; echo same"], ttl: .seconds(3600))])
        let start = ContinuousClock.now
        let used = store.values(["api"], at: start)
        for second in 1...9 { #expect(!store.refresh(after: used, at: start + .seconds(second))) }
        #expect(place.runs() == 2)
        #expect(!store.refresh(after: used, at: start + .seconds(60)))
        #expect(place.runs() == 3)
    }

    @Test func `unchanged output of a command is no refresh`() {
        let store = place.store(["api": .command(["sh", "-c", "echo x >> runs; echo same"], ttl: .seconds(3600))])
        let used = store.values(["api"])
        #expect(!store.refresh(after: used))
        #expect(place.runs() == 2)
    }

    @Test func `a refresh runs only the commands of its attempt`() {
        let store = place.store([
            "api": .command(["sh", "-c", "echo x >> runs; echo a"], ttl: .seconds(60)),
            "hook": .command(["sh", "-c", "echo x >> others; echo b"], ttl: .seconds(60)),
        ])
        _ = store.values(["hook"])
        let used = store.values(["api"])
        #expect(!store.refresh(after: used))
        #expect(place.runs() == 2)
        #expect(place.runs("others") == 1)
    }

}
