import Policy

/// Rows of text in aligned columns, at least two blanks apart. A cell never has two blanks in a row, so `awk -F '  +'`
/// reads the table.
///
/// Without a terminal every cell is whole. At a terminal that is too narrow the table makes the narrowings, one after
/// the other, until it fits. If all of them are not enough, the first column has lines of its own. The heading of a
/// table that lacks columns ends with `…`.
struct Table {
    struct Column {
        var title: String
        /// Whether cells are aligned to the right.
        var isNumber = false
    }

    struct Cell {
        var text: String
        var paint: Paint

        init(_ text: String, _ paint: Paint = .plain) {
            let text = escapedForDisplay(text)
            self.text = text.hasSingleBlanksOnly ? text : text.split(separator: " ").joined(separator: " ")
            // Programs could not see an empty cell.
            if self.text.isEmpty { self.text = "-" }
            self.paint = paint
        }

        init(_ count: Int, _ paint: Paint = .plain) {
            self.init("\(count)", count > 0 ? paint : .plain)
        }
    }

    /// A change to a column that makes room.
    enum Narrowing {
        case shrink(column: Int, to: Int)
        case drop(column: Int)
    }

    var columns: [Column]
    var rows: [[Cell]]
    var narrowings: [Narrowing] = []

    /// The end of a heading if columns are left out.
    private static let cut = "  …"
    /// The indent of the other columns if the first has lines of its own.
    private static let indent = "  "

    /// The columns that are shown, and the width of each.
    private struct Layout {
        var shown: [Int]
        var widths: [Int]
        /// Whether columns are left out.
        var isCut = false

        var total: Int {
            shown.reduce(0) { $0 + widths[$1] } + 2 * max(0, shown.count - 1) + (isCut ? Table.cut.count : 0)
        }
    }

    /// Whether the table fits; with `stacked`, whether it fits with the first column in lines of its own.
    func fits(_ terminal: Terminal, stacked: Bool = false) -> Bool {
        terminal.columns.map { layout(within: $0, stacked: stacked) != nil } ?? true
    }

    func lines(for terminal: Terminal) -> [String] {
        guard let room = terminal.columns else { return lines(natural, terminal) }
        if let layout = layout(within: room, stacked: false) { return lines(layout, terminal) }
        let layout = layout(within: room, stacked: true) ?? narrowed(narrowings, stacked: true)
        // The heading and each row take two lines: one for the first column, one for the others.
        return zip(cells, lines(layout, terminal)).flatMap { row, line in
            [terminal.painted(row[0].text, row[0].paint), Self.indent + line]
        }
    }

    private var cells: [[Cell]] { [columns.map { Cell($0.title, .heading) }] + rows }

    private var natural: Layout {
        let cells = cells
        let widths = columns.indices.map { column in cells.map { $0[column].text.displayWidth }.max() ?? 0 }
        return Layout(shown: Array(columns.indices), widths: widths)
    }

    private func narrowed(_ narrowings: some Sequence<Narrowing>, stacked: Bool) -> Layout {
        var layout = natural
        if stacked { layout.shown.removeFirst() }
        for narrowing in narrowings {
            switch narrowing {
            case .shrink(let column, let width): layout.widths[column] = min(layout.widths[column], width)
            case .drop(let column):
                layout.shown.removeAll { $0 == column }
                layout.isCut = true
            }
        }
        return layout
    }

    /// Returns the first layout that fits, with the remaining room given back to shrunken columns; `nil` if none fits.
    private func layout(within room: Int, stacked: Bool) -> Layout? {
        for count in 0...narrowings.count {
            var layout = narrowed(narrowings.prefix(count), stacked: stacked)
            var left = room - layout.total - (stacked ? Self.indent.count : 0)
            if left < 0 { continue }
            for column in layout.shown.reversed() {
                let more = min(left, natural.widths[column] - layout.widths[column])
                layout.widths[column] += more
                left -= more
            }
            return layout
        }
        return nil
    }

    private func lines(_ layout: Layout, _ terminal: Terminal) -> [String] {
        let blanks = String(repeating: " ", count: layout.widths.max() ?? 0).utf8
        return cells.enumerated().map { index, row in
            var line = ""
            for column in layout.shown {
                let width = layout.widths[column]
                let text = row[column].text.truncated(to: width)
                let padding = blanks.prefix(width - text.displayWidth)
                let isLast = column == layout.shown.last
                if columns[column].isNumber { line += Substring(padding) }
                line += terminal.painted(text, row[column].paint)
                if !columns[column].isNumber, !isLast { line += Substring(padding) }
                if !isLast { line += "  " }
            }
            return index == 0 && layout.isCut ? line + Self.cut : line
        }
    }
}

extension String {
    /// Whether the text has no blank at either end, and no two in a row.
    fileprivate var hasSingleBlanksOnly: Bool {
        var last = UInt8(ascii: " ")
        for byte in utf8 {
            if byte == UInt8(ascii: " "), last == byte { return false }
            last = byte
        }
        return last != UInt8(ascii: " ")
    }
}
