import Policy

/// The options in one word of a command line: `--now`, `--state=failed`, `-vn`, `-qDIR`, `-q=DIR`, `-vqDIR`.
struct OptionWord {
    /// The flags before any option that has a value.
    private(set) var flags: [OptionDescription] = []
    /// The option that takes a value, or a flag that has one by mistake; `nil` if the word has only flags.
    private(set) var row: OptionDescription?
    /// That option as written: `-q`.
    private(set) var spelling = ""
    /// The word up to the value, and the value; `nil` if the value is the next word.
    private(set) var kept = ""
    private(set) var value: RawText?
    /// The option, as written, that the command does not have; `nil` if the command has all of them.
    private(set) var unknown: String?

    /// Reads a word that begins with a dash. Without a command there are only the global options.
    init(_ word: RawText, of command: CommandDescription?) {
        let bytes = word.bytes
        if word.begins(with: "--") {
            let end = bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.count
            spelling = RawText(bytes[..<end]).path
            guard let name = OptionName(rawValue: RawText(bytes[2..<end]).path),
                let row = OptionDescription.row(name, of: command)
            else {
                unknown = spelling
                return
            }
            if row.kind == .flag, end == bytes.count { flags = [row] } else { take(row, bytes, end) }
            return
        }
        for (index, byte) in bytes.enumerated().dropFirst() {
            let letter = Unicode.Scalar(byte)
            spelling = "-" + (letter.isASCII ? "\(letter)" : RawText(bytes[index...]).path)
            guard let row = OptionDescription.row(short: letter, of: command) else {
                unknown = spelling
                return
            }
            if row.kind != .flag {
                take(row, bytes, index + 1)
                return
            }
            flags.append(row)
        }
    }

    private mutating func take(_ row: OptionDescription, _ bytes: [UInt8], _ end: Int) {
        self.row = row
        if end == bytes.count { return }
        let start = bytes[end] == UInt8(ascii: "=") ? end + 1 : end
        (kept, value) = (RawText(bytes[..<start]).path, RawText(bytes[start...]))
    }
}
