internal import Foundation

/// A line of JSON from a process that plays histories to the parent process.
enum WorkerLine: Codable {
    /// The history of this seed begins. If no tally follows, this history has ended the process.
    case begins(UInt64)
    case found(Found)
    /// A history has ended. The tally counts only this history.
    case ends(Tally)
    /// What the sentences have judged and excused in all histories of the process.
    case judges(Tally)

    /// Writes the line to standard output.
    func write() throws {
        FileHandle.standardOutput.write(try JSONEncoder().encode(self) + Data("\n".utf8))
    }

    /// Returns the lines of a process. Leaves out a last line without an end.
    static func lines(in output: Data) throws -> [WorkerLine] {
        let whole = output.prefix(through: output.lastIndex(of: UInt8(ascii: "\n")) ?? output.startIndex - 1)
        return try whole.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Self.self, from: $0) }
    }
}
