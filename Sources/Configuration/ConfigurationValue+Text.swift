import Policy

extension ConfigurationValue<String> {
    /// A text that is not empty.
    static let plainText = ConfigurationValue(
        "text", .text(pattern: "."), hint: "text is in quotes and not empty"
    ) { value in
        value.string.flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
    }

    /// The path of a file, made absolute.
    static let path = ConfigurationValue("path", .text()) { value, findings in
        guard let text = plainText.read(value, &findings) else { return nil }
        if text.begins(with: "~") {
            return findings.refuse(value, "is not a path", hint: "only a shell expands '~': write the whole path")
        }
        return findings.absolute(text)
    }
}

extension ConfigurationFindings {
    func absolute(_ path: String) -> String {
        if path.begins(with: "/") { return path }
        return directory.ends(with: "/") ? directory + path : "\(directory)/\(path)"
    }
}

extension ConfigurationValue<[String]> {
    /// An argument vector. A program name with a slash is made an absolute path.
    static let command = ConfigurationValue("command", .list(.text(), atLeast: 1)) { value, findings in
        let hint = "a command is a list of its name and arguments: [\"/usr/local/bin/token\", \"api\"]"
        guard var words = ConfigurationValue<String>.argument.list(hint: hint).read(value, &findings) else {
            return nil
        }
        if words[0].isEmpty {
            return findings.refuse("the command has no name", at: value.position, hint: hint)
        }
        if words[0].contains("/") { words[0] = findings.absolute(words[0]) }
        return words
    }

    /// Directories by their absolute paths. The list may be empty.
    static let directories = ConfigurationValue<String>.directory.list(
        of: "directories", atLeast: 0, hint: directoryHint)
}

private let directoryHint = "directories are absolute paths: [\"/var/lib/uploads\"]"

extension ConfigurationValue<String> {
    /// The absolute path of a directory, without slashes at its end.
    fileprivate static let directory = ConfigurationValue(
        "absolute path", .text(pattern: "^/"), article: "an", hint: directoryHint
    ) { value in
        guard let path = value.string, path.begins(with: "/"), !path.utf8.contains(0) else { return nil }
        return path.lastIndex { $0 != "/" }.map { String(path[...$0]) } ?? "/"
    }

    fileprivate static let argument = ConfigurationValue("word", .text(), hint: "words are text in quotes") { value in
        value.string.flatMap { $0.utf8.contains(0) ? nil : $0 }
    }
}
