/// Returns the text as one word of a POSIX shell: unchanged, or in single quotes if a shell would interpret it.
package func shellWord(_ text: String) -> String {
    isPlain(text) ? text : shellQuoted(text)
}

/// Returns the text as one word of a POSIX shell, in single quotes.
package func shellQuoted(_ text: String) -> String {
    // By bytes: a quotation mark and a combining mark behind it are one Character.
    let pieces = Array(text.utf8).split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    return "'" + pieces.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "'\\''") + "'"
}

/// Returns whether a shell takes the word unchanged.
private func isPlain(_ word: String) -> Bool {
    !word.isEmpty
        && word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/._-:@%+,=".utf8.contains(byte)
            }
        }
}
