import Configuration
import Policy

/// The parts of drainq-config(5) made from the tables of the configuration's keys.
enum ConfigurationManual {
    /// In the order of the page.
    static let parts: [(name: String, text: String)] = [
        ("first route keys", items(entries(of: "routes").prefix(11))),
        ("secret keys", items(entries(of: "secrets"))), ("presets", presets),
        ("schedule keys", items(ConfigurationKeys.scheduleEntries)),
        ("answer keys", items(ConfigurationKeys.answerEntries)),
        ("accept keys", items(entries(of: "routes.<type>.accept."))),
        ("condition keys", items(ConfigurationKeys.conditionEntries)),
        ("further route keys", items(entries(of: "routes").dropFirst(11))),
        ("destination keys", items(entries(of: "destinations"))), ("file keys", items(entries(of: ""))),
        ("hook keys", items(entries(of: "hooks."))), ("defaults", defaults),
        ("batch keys", items(entries(of: "routes.<type>.batch."))),
        ("signature keys", items(entries(of: "routes.<type>.sign.aws."))),
    ]

    static func page() throws -> String { try MadePage.text("drainq-config.5") }

    /// The objects whose keys have a list of their own, each behind the object that contains it.
    private static let objects = [
        "", "routes", "routes.<type>.accept.", "routes.<type>.batch.", "routes.<type>.sign.aws.", "destinations",
        "secrets", "hooks.",
    ]

    /// Returns the keys of an object, with paths that begin below it. A key belongs to the innermost of `objects`.
    private static func entries(of object: String) -> [ConfigurationEntry] {
        ConfigurationKeys.entries.filter { entry in objects.last { entry.path.hasPrefix($0) } == object }.map { entry in
            var entry = entry
            let map = entry.path.prefixMatch(of: /[a-z]+\.<[a-z]+>\./)?.0.count ?? 0
            entry.path.removeFirst(object.hasSuffix(".") ? object.count : map)
            return entry
        }
    }

    private static func items(_ entries: some Sequence<ConfigurationEntry>) -> String {
        entries.map { entry in
            let example = (entry.exampleText ?? entry.defaultText).map { " : Li \(roff($0))" } ?? ""
            let required = entry.isRequired ? " , No required" : ""
            return ".It Ic \(roff(entry.path))\(example)\(required)\n\(sentences(roff(entry.prose)))\n"
        }.joined()
    }

    /// The defaults, except empty lists and objects.
    private static var defaults: String {
        let schedule = ConfigurationKeys.scheduleEntries.map { entry in
            var entry = entry
            entry.path = "routes.<type>.retry." + entry.path
            return entry
        }
        return (ConfigurationKeys.entries + schedule).map { entry in
            guard let value = entry.defaultText, !["[]", "{}"].contains(value) else { return "" }
            return ".It Li \(entry.path) Ta Li \(roff(value))\n"
        }.joined()
    }

    private static var presets: String {
        BackoffSchedule.presets.map { ".It Li \($0.name)\n\(roff(sentence(for: $0.schedule)))\n" }.joined()
    }

    /// A schedule in words: `30s, 2m, 10m; up to an age of 3d; jitter 0.2.`
    private static func sentence(for schedule: BackoffSchedule) -> String {
        let delays =
            switch schedule.delays {
            case .exponential(let base, let multiplier, let max):
                "\(base.quantity), each further delay × \(plain(multiplier)), at most \(max.quantity)"
            case .list(let delays):
                delays.map(\.quantity).joined(separator: ", ")
            }
        let ends = [
            schedule.attempts.map { "\($0) attempts in all" }, schedule.maxAge.map { "up to an age of \($0.quantity)" },
            schedule.jitter > 0 ? "jitter \(plain(schedule.jitter))" : nil,
        ]
        return ([delays] + ends.compactMap(\.self)).joined(separator: "; ") + "."
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }

    /// Puts each sentence on a line, as mdoc expects, and wraps lines at 78 bytes.
    private static func sentences(_ text: String) -> String {
        var lines: [String] = []
        for sentence in text.replacing(". ", with: ".\n").split(separator: "\n") {
            var line = ""
            for word in sentence.split(separator: " ") {
                if !line.isEmpty, line.utf8.count + word.utf8.count >= 78 {
                    lines.append(line)
                    line = ""
                }
                line += line.isEmpty ? String(word) : " " + word
            }
            lines.append(line)
        }
        return lines.map { $0.hasPrefix(".") ? "\\&" + $0 : $0 }.joined(separator: "\n")
    }

    /// Escapes the text so that roff prints the same characters.
    private static func roff(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("\"", with: "\\(dq").replacing("'", with: "\\(aq")
            .replacing("×", with: "\\(mu").replacing("±", with: "\\(+-")
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}
