import Policy

/// Rows of text in aligned columns, two spaces apart; the last column is as long as it is.
struct Table {
    var columns: [String]
    var rows: [[String]]

    func write() {
        lines.forEach(standardOutput.line)
    }

    var lines: [String] {
        let cells = ([columns] + rows).map { $0.map(escapedForDisplay) }
        let widths = columns.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                if column < columns.count - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
            }
            return line
        }
    }
}
