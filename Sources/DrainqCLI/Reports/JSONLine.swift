#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// NDJSON on standard output: one value a line, names sorted, slashes as they are, absent where there is no value.
enum JSONLine {
    static func write(_ value: some Encodable) {
        standardOutput.line(text(value))
    }

    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            // Only numbers that JSON has no text for can be refused, and no report has such.
            preconditionFailure("cannot encode \(value): \(error)")
        }
    }
}
