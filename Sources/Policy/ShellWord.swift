/// Returns the text as one word of a POSIX shell: unchanged, or in single quotes if a shell would interpret it.
package func shellWord(_ text: String) -> String {
    !text.isEmpty && text.utf8.allSatisfy(isPlain) ? text : shellQuoted(text)
}

/// Returns the text as one word of a POSIX shell, without quotes: what a shell would interpret follows a backslash. For
/// commands that stand in quotes themselves.
package func shellEscaped(_ text: String) -> String {
    if text.isEmpty || text.utf8.contains(UInt8(ascii: "\n")) { return shellQuoted(text) }
    var word = ""
    for scalar in text.unicodeScalars {
        if scalar.isASCII, !isPlain(UInt8(ascii: scalar)) { word += "\\" }
        word.unicodeScalars.append(scalar)
    }
    return word
}

/// Returns the text as one word of a POSIX shell, in single quotes.
package func shellQuoted(_ text: String) -> String {
    "'" + text.pieces(at: "'").joined(separator: "'\\''") + "'"
}

/// Returns whether a shell takes the byte unchanged, wherever it stands in a word.
private func isPlain(_ byte: UInt8) -> Bool {
    byte.isIdentifierByte || "/.:@%+,=".utf8.contains(byte)
}
