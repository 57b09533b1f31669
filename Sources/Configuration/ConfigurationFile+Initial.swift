import Policy

extension ConfigurationFile {
    /// The first line of each configuration that `drainq init` writes.
    package static let reference =
        "// The configuration of this queue. drainq-config(5) explains every key: drainq manual drainq-config | man -l -"

    /// Returns the configuration that `drainq init` writes: the file's own keys and those of the default route, with
    /// their defaults or examples behind `//`. Only `version`, and the URL if there is one, are not commented out.
    ///
    /// - Parameter url: a URL without a `urlError(_:)`.
    package static func initial(url: String? = nil) -> String {
        var lines = [
            reference,
            "// A line after // shows the default or an example. Comments and trailing commas are allowed.",
            "{",
        ]
        lines += commented(
            ConfigurationKeys.file.prefix { $0.entry.path != "routes" }.map(\.entry), active: ["version": "1"]
        )
        .map { "  " + $0 }
        lines += [
            "", "  // By type of operation. Each route inherits from \"default\" the keys that it does not have.",
        ]
        lines += ["  routes: {", "    default: {"]
        lines += commented(ConfigurationKeys.route.map(\.entry), active: url.map { ["url": json5($0)] } ?? [:])
            .map { "      " + $0 }
        lines += ["    },", "    // telemetry: { method: \"PUT\" },", "  },", ""]
        lines += commented(
            ConfigurationKeys.file.drop { $0.entry.path != "routes" }.dropFirst().map(\.entry), active: [:]
        )
        .map { "  " + $0 }
        return (lines + ["}"]).joined(separator: "\n") + "\n"
    }

    /// Returns the entries as members of an object, one a line, all behind `//` except the active ones.
    private static func commented(_ entries: [ConfigurationEntry], active: [String: String]) -> [String] {
        var lines: [String] = []
        /// The names of the objects that are open, from the outside in.
        var open: [Substring] = []
        func add(_ text: String) { lines.append("// " + String(repeating: "  ", count: open.count) + text) }
        func close(to depth: Int) {
            while open.count > depth {
                open.removeLast()
                add("},")
            }
        }
        for entry in entries {
            let parts = entry.path.pieces(at: ".")
            let parents = parts.dropLast()
            close(to: zip(open, parents).prefix { $0 == $1 }.count)
            for parent in parents.dropFirst(open.count) {
                add("\(parent): {")
                open.append(parent)
            }
            let summary = entry.summary + (entry.defaultText == nil ? " (example)" : "")
            if let value = active[entry.path] {
                lines.append("\(entry.path): \(value),  // \(entry.summary)")
            } else {
                add("\(parts[parts.count - 1]): \(entry.shown),  // \(summary)")
            }
        }
        close(to: 0)
        return lines
    }

    private static func json5(_ text: String) -> String {
        "\"" + text.unicodeScalars.map { "\"\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
}

extension ConfigurationEntry {
    /// A value that shows how the key is written.
    var shown: String { defaultText ?? exampleText ?? "null" }
}
