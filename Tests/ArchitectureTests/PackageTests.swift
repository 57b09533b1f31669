import Foundation
import Testing

struct `The package` {
    @Test func `the top level has only the agreed files and folders`() throws {
        let agreed: Set = ["Package.swift", "README.md", "Sources", "Tests", "etc", "man", "completions"]
        let files = try House.committedFiles()
        #expect(files.contains("Package.swift"), "git ls-files names the files of this package")
        let strangers = Set(files.compactMap { $0.split(separator: "/").first.map(String.init) })
            .filter { !agreed.contains($0) && !$0.hasPrefix(".") }.sorted()
        #expect(
            strangers.isEmpty,
            "what an administrator installs is in etc/, documents in man/, everything else in Sources/ and Tests/")
    }

    @Test func `the build downloads nothing`() throws {
        #expect(
            !House.text("Package.swift").contains(".package("),
            "the toolchain's Foundation, Dispatch, Synchronization, the C library and Testing are all there is")
        #expect(try !House.committedFiles().contains("Package.resolved"))
    }

    @Test func `every Swift target has the strict settings`() {
        let targets = House.text("Package.swift").split(separator: /\.(target|executableTarget|testTarget)\(/)
            .dropFirst()
        for target in targets where !target.contains("swiftSettings: strict") {
            let name = target.firstMatch(of: /name: "(\w+)"/).map { String($0.1) } ?? ""
            #expect(
                name.hasPrefix("C"),
                "\(name): Swift 6 mode, ExistentialAny, InternalImportsByDefault, MemberImportVisibility, warnings as errors"
            )
        }
        #expect(targets.count > 10)
    }

    @Test func `every folder of the sources and tests is a target with files`() throws {
        let manifest = House.text("Package.swift")
        let scripts: Set = ["Interop", "Torture", "Benchmarks"]
        let parts = try House.committedFiles().map { $0.split(separator: "/").map(String.init) }
        let folders = Set(parts.filter { $0.count > 2 && ["Sources", "Tests"].contains($0[0]) }.map { $0[1] })
        for folder in folders.subtracting(scripts).sorted() where !manifest.contains("\"\(folder)\"") {
            Issue.record("\(folder) is no target of Package.swift: nothing builds what is in it")
        }
    }

    @Test(arguments: House.tests)
    func `a test is a sentence`(file: SourceFile) {
        var isTest = false
        for line in file.lines {
            isTest = isTest || line.has("@Test")
            guard isTest, let place = line.words.firstIndex(of: "func") else { continue }
            isTest = false
            if !line.code.contains("func `"), line.words.count > place + 1 {
                Issue.record(
                    """
                    \(file.path):\(line.number): \(line.words[place + 1])) says what is called, not what holds
                    @Test func `a deferred operation is not due before its time`()
                    """)
            }
        }
    }

    /// A type with tests is a suite without the attribute. The macro more than doubles the type-checking time of its
    /// module.
    @Test(arguments: House.tests)
    func `a suite has its attribute only for a trait`(file: SourceFile) {
        for line in file.lines where line.has("@Suite") && !line.has("@Suite(") {
            Issue.record("\(file.path):\(line.number): leave out @Suite")
        }
    }

    /// The formatter does not break comments. Tables may be wider.
    @Test(arguments: House.sources.map(\.path))
    func `a comment has lines of at most 120 characters`(path: String) {
        for (number, line) in House.text(path).split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("//"), !text.hasPrefix("/// |"), line.count > 120 {
                Issue.record("\(path):\(number + 1): \(line.count) characters")
            }
        }
    }
}
