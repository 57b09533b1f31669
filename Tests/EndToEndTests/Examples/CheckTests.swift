import Foundation
import Testing

/// `drainq check` on the configurations of `etc/drainq/examples/`, unchanged except for paths of the machine.
struct CheckTests {
    private static let examples = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../etc/drainq/examples"
    ).standardized
    static let names =
        (try? FileManager.default.contentsOfDirectory(atPath: examples.path))?
        .filter { $0.hasSuffix(".json5") }.map { String($0.dropLast(6)) }.sorted() ?? []

    @Test(arguments: names)
    func `check accepts every example`(name: String) throws {
        let drainq = try Drainq()
        let text = try String(contentsOf: Self.examples.appending(path: "\(name).json5"), encoding: .utf8)
        for secret in text.matches(of: /file: "\/etc\/drainq\/([a-z.]+)"/) {
            try drainq.write("secret\n", as: String(secret.1))
        }
        for key in text.matches(of: /key: "\/etc\/drainq\/([a-z.]+)"/) {
            guard FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl") else { return }
            let made = try drainq.shell("umask 077; openssl genpkey -algorithm RSA -out \(key.1) 2>/dev/null")
            #expect(made.status == 0, "\(made)")
        }
        let here = text.replacing("/etc/drainq/standard-webhooks-sign", with: "/bin/true")
            .replacing("/etc/drainq/", with: "")
            .replacing(/"\/usr\/local\/bin\/[a-z-]+"/, with: #""/bin/true""#)
        let file = try drainq.write(here, as: "\(name).json5")
        let checked = try drainq.run("check", "--config", file)
        #expect(checked.status == 0 && checked.error.isEmpty, "\(checked.error)")
        #expect(checked.lines.contains("ok: configuration"))
        #expect(checked.lines.contains("ok: transports"))
    }

    @Test(arguments: names)
    func `check names a missing secret of an example`(name: String) throws {
        let text = try String(contentsOf: Self.examples.appending(path: "\(name).json5"), encoding: .utf8)
        // A file that the operation names is looked up for the operation.
        guard text.contains(/file: "\/etc\/drainq\/[^{"]+"/) else { return }
        let drainq = try Drainq()
        let file = try drainq.write(text.replacing("/etc/drainq/", with: "missing/"), as: "\(name).json5")
        let checked = try drainq.run("check", "--config", file)
        #expect(checked.status == 78 && checked.error.contains("the secret '"))
    }
}
