import Configuration
import Policy

/// The parts of drainq-config(5) made from the tables of the configuration's keys.
enum ConfigurationManual {
    static let parts: [(name: String, text: String)] = [
        ("keys", items(ConfigurationKeys.entries)), ("presets", presets),
        ("schedule keys", items(ConfigurationKeys.scheduleEntries)),
        ("answer keys", items(ConfigurationKeys.answerEntries)),
        ("condition keys", items(ConfigurationKeys.conditionEntries)),
    ]

    static func page() throws -> String { try MadePage.text("drainq-config.5") }

    private static func items(_ entries: [ConfigurationEntry]) -> String { entries.map(item).joined() }

    private static func item(_ entry: ConfigurationEntry) -> String {
        let fallback = entry.defaultText.map { "Default:\n.Li \(roff($0))\n" } ?? ""
        let example = entry.exampleText.map { $0 == entry.defaultText ? "" : "For example:\n.Dl \(roff($0))\n" } ?? ""
        return """
            .It Ic \(roff(entry.path)) : Ar \(roff(entry.kind))
            \(sentences(roff(entry.prose)))
            \(fallback)\(example)
            """
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
