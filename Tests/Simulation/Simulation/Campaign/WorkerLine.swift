internal import Foundation

/// What a process that plays histories tells the process that started it, a line of JSON each.
enum WorkerLine: Codable {
    /// The history of this seed begins: if no tally follows, it is this one that has ended the process.
    case begins(UInt64)
    case found(Found)
    /// A history has ended; of this one alone.
    case ends(Tally)

    /// Writes the line to standard output.
    func write() throws {
        FileHandle.standardOutput.write(try JSONEncoder().encode(self) + Data("\n".utf8))
    }

    /// Reads the lines of a process. A last line that the process did not finish is left out.
    static func lines(in output: Data) throws -> [WorkerLine] {
        let whole = output.prefix(through: output.lastIndex(of: UInt8(ascii: "\n")) ?? output.startIndex - 1)
        return try whole.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Self.self, from: $0) }
    }
}
