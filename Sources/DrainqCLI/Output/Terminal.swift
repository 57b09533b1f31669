import CSystem

/// The terminal that shows results: its size, and whether it has colour.
struct Terminal: Hashable, Sendable {
    /// The columns of a line; `nil` without a terminal: nothing is cut or broken then.
    var columns: Int?
    /// The lines that are visible at once; `nil` if unknown.
    var lines: Int?
    /// Whether it moves its cursor and erases when told to.
    var obeysEscapes = false
    var hasColour: Bool

    /// No terminal: a file, or another program.
    static let absent = Terminal(columns: nil, lines: nil, hasColour: false)

    /// Returns the terminal of standard output.
    ///
    /// Its width is `COLUMNS`, as for ls(1) and git(1), else the kernel's value, else 80. Without a terminal `COLUMNS`,
    /// which many shells export, is ignored: output to a program does not change with a window. A terminal has colour
    /// unless it is `dumb`, or `NO_COLOR` is set and not empty (no-color.org).
    static func forResults(_ environment: [String: String]) -> Terminal {
        guard isOnStandardOutput else { return .absent }
        let size = size(of: STDOUT_FILENO)
        let asked = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? min($0, Int(UInt16.max)) : nil }
        let obeys = obeysEscapes(environment)
        return Terminal(
            columns: asked ?? size?.columns ?? 80, lines: size?.lines, obeysEscapes: obeys,
            hasColour: obeys && (environment["NO_COLOR"] ?? "").isEmpty)
    }

    /// Whether a terminal of this kind moves its cursor and erases when told to: not `dumb` or one without a name.
    static func obeysEscapes(_ environment: [String: String]) -> Bool {
        !["", "dumb"].contains(environment["TERM"] ?? "")
    }

    func painted(_ text: String, _ paint: Paint) -> String {
        guard hasColour, let code = paint.code, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    /// Returns the text in lines that fit the terminal.
    func wrapped(_ text: String, indent: String = "  ") -> [String] {
        guard let columns else { return [text] }
        return text.wrapped(to: columns, indent: indent)
    }

    /// Returns the first lines, as many as one screen shows. More would scroll it, and the first matter most.
    func visible(_ text: [String]) -> [String] {
        guard let lines else { return text }
        var left = lines - 1
        return Array(
            text.prefix { line in
                left -= height(of: line)
                return left >= 0
            })
    }

    /// Returns the lines of the screen that the text takes. The terminal breaks text that is longer than one.
    private func height(of line: String) -> Int {
        guard let columns else { return 1 }
        // Foreign escapes are escaped, so these are drainq's own. Up to the `m` they take no room.
        let parts = line.split(separator: "\u{1B}", omittingEmptySubsequences: false)
        let width = parts.dropFirst().reduce(parts[0].displayWidth) {
            $0 + $1.drop { $0 != "m" }.dropFirst().displayWidth
        }
        return max(1, (width + columns - 1) / columns)
    }
}

/// The emphasis of text at a terminal. Words carry the same information: colour alone carries none.
enum Paint: Hashable, Sendable {
    case plain
    case heading
    /// A state that needs a person.
    case bad
    case waiting
    case good

    /// The parameters of `SGR` (ECMA-48 §8.3.117); `nil` for none.
    fileprivate var code: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .bad: "1;31"
        case .waiting: "33"
        case .good: "32"
        }
    }
}

// MARK: - Standard descriptors

extension Terminal {
    static var isOnStandardInput: Bool { isatty(STDIN_FILENO) == 1 }
    static var isOnStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }
    static var isOnStandardError: Bool { isatty(STDERR_FILENO) == 1 }

    /// The columns of a line on standard error, at this moment: windows change their size.
    static var columnsOfMessages: Int { size(of: STDERR_FILENO)?.columns ?? 80 }

    /// Moves the cursor to the upper left corner and erases the screen (ECMA-48 CUP, ED).
    static let clear = "\u{1B}[H\u{1B}[J"

    private static func size(of descriptor: Int32) -> (columns: Int, lines: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
