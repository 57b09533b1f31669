import Drain
import DrainqCLI
import Testing

/// Completions of the last word on a command line.
struct CompletionTests {
    private func completion(_ words: String...) -> Completion { Completion(of: words) }

    private func options(_ words: String...) -> Set<OptionName>? {
        guard case .options(let rows) = Completion(of: words).candidates else { return nil }
        return Set(rows.map(\.name))
    }

    @Test func `the first word completes to commands, and a second word does not`() {
        #expect(completion("").candidates == .commands && completion("ru").typed == "ru")
        #expect(completion("-q", "queue", "ru").candidates == .commands)
        #expect(completion("-q", "run", "l").candidates == .commands)
        #expect(completion("run", "l").candidates == .ids(in: [.new, .deferred]))
        #expect(completion("nonsense", "l").candidates == .none)
        #expect(completion().candidates == .commands)
    }

    @Test func `the command's options are offered, without given options that do not repeat`() throws {
        let before = try #require(options("--"))
        #expect(before.contains(.queue) && !before.contains(.limit))
        let run = try #require(options("run", "--limit", "5", "-n", "--"))
        #expect(run.contains(.destination) && !run.contains(.limit) && !run.contains(.dryRun) && !run.contains(.delay))
        #expect(try #require(options("list", "--state=failed", "-")).contains(.state), "it may be repeated")
        #expect(options("add", "--", "--") == nil, "a file may be called so")
    }

    @Test func `the value of an option is completed in the next word or in the same word`() {
        let states = Completion.Candidates.words([
            "new", "deferred", "claimed", "held", "failed", "quarantined", "delivered",
        ])
        for words in [["list", "--state", "fa"], ["list", "--state=fa"]] {
            let completion = Completion(of: words)
            #expect(completion.candidates == states && completion.typed == "fa")
            #expect(completion.kept + completion.typed == words.last)
        }
        for (word, kept) in [("-qdir", "-q"), ("-q=dir", "-q="), ("-vqdir", "-vq"), ("--queue=", "--queue=")] {
            let completion = completion("status", word)
            #expect(completion.candidates == .directories && completion.kept == kept)
        }
        #expect(completion("status", "-q", "").candidates == .directories)
        #expect(completion("send", "--body-file", "").candidates == .files)
        #expect(completion("hold", "--destination", "https://a").candidates == .destinations)
        #expect(completion("add", "--type=").candidates == .types)
        #expect(completion("init", "--example", "s").candidates == .examples)
        #expect(completion("run", "--limit", "").candidates == .none)
    }

    @Test func `operands are completed by their kind and number`() {
        #expect(completion("add", "a.json", "").candidates == .files)
        #expect(completion("show", "").candidates == .ids(in: []))
        #expect(completion("retry", "--", "-").candidates == .ids(in: [.failed, .deferred, .held]))
        #expect(completion("completions", "").candidates == .words(["bash", "zsh", "fish"]))
        #expect(completion("completions", "zsh", "").candidates == .none)
        #expect(completion("init", "").candidates == .directories)
        #expect(completion("version", "").candidates == .none)
        for (words, isFilter) in [(["explain", "UN"], false), (["list", "--status", ""], true)] {
            guard case .words(let names) = Completion(of: words).candidates else {
                Issue.record("\(words)")
                continue
            }
            #expect(names.contains("UNAVAILABLE") && names.contains("503") && names.contains("5xx") == isFilter)
        }
    }

    @Test func `the queue and the configuration come from the line`() {
        #expect(completion("show", "--queue=a b", "").queue == "a b")
        #expect(completion("-q", "a b", "show", "").queue == "a b")
        #expect(completion("show", "-qx", "").queue == "x")
        #expect(completion("show", "").queue == nil)
        #expect(completion("show", "--config", "a b", "").configuration == "a b")
    }
}
