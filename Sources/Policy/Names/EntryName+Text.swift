/// The text of a name, each direction: the grammar stands with `EntryName`.
extension EntryName: CustomStringConvertible {
    /// No canonical name is longer; the longest one there is has as many.
    package static let maximumLength = 253

    /// Parses the bytes of a file name, without making a text of the whole; `nil` if it is not canonical.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= Self.maximumLength, let parsed = Self.parse(bytes) else { return nil }
        self = parsed
    }

    package init?(_ text: String) {
        var text = text
        guard let parsed = text.withUTF8({ EntryName($0) }) else { return nil }
        self = parsed
    }

    /// The canonical name. What a name cannot carry is written as the nearest it can: a gate rounded up to the
    /// millisecond, times within 1970–9999, at most 9,999 attempts and 99 interruptions.
    package var description: String {
        String(unsafeUninitializedCapacity: Self.maximumLength) { buffer in
            var writer = NameWriter(buffer)
            writer.writeCompactMicroseconds(createdAt)
            writer.write("-" as StaticString)
            writer.write(id.description)
            if type != .default {
                writer.write(",r=" as StaticString)
                writer.write(type.description)
            }
            if let keyDigest {
                writer.write(",k=" as StaticString)
                writer.write(keyDigest.description)
            }
            if let originDigest {
                writer.write(",o=" as StaticString)
                writer.write(originDigest.description)
            }
            if attempts > 0 {
                writer.write(",a=" as StaticString)
                writer.write(String(min(attempts, 9999)))
            }
            if interruptions > 0 {
                writer.write(",i=" as StaticString)
                writer.write(String(min(interruptions, 99)))
            }
            if isHeld { writer.write(",h=1" as StaticString) }
            switch gate {
            case .open: break
            case .notBefore(let moment):
                writer.write(",n=" as StaticString)
                writer.writeCompactMilliseconds(moment)
            case .due(let moment):
                writer.write(",t=" as StaticString)
                writer.writeCompactMilliseconds(moment)
            }
            writer.write(".json" as StaticString)
            return writer.count
        }
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> EntryName? {
        let timeLength = Timestamp.compactMicrosecondsLength
        let end = bytes.count - 5
        guard end > timeLength + 1, bytes[timeLength] == UInt8(ascii: "-"), bytes.ends(inJSONSuffixAt: end),
            let createdAt = Timestamp(compactMicroseconds: UnsafeBufferPointer(rebasing: bytes[..<timeLength]))
        else { return nil }
        var index = bytes.fieldEnd(from: timeLength + 1, to: end)
        guard let id = OperationID(bytes: UnsafeBufferPointer(rebasing: bytes[(timeLength + 1)..<index])) else {
            return nil
        }
        var name = EntryName(createdAt: createdAt, id: id)
        // Fields stand in one order: each must come later in it than the one before.
        var last: FieldOrder = .none
        while index < end {
            guard index + 3 <= end, bytes[index + 2] == UInt8(ascii: "="),
                let field = FieldOrder(letter: bytes[index + 1]), field.rawValue > last.rawValue
            else { return nil }
            let valueEnd = bytes.fieldEnd(from: index + 3, to: end)
            let value = UnsafeBufferPointer(rebasing: bytes[(index + 3)..<valueEnd])
            guard name.take(field, letter: bytes[index + 1], value) else { return nil }
            last = field
            index = valueEnd
        }
        return name
    }

    private enum FieldOrder: Int {
        case none, type, key, origin, attempts, interruptions, held, gate

        init?(letter: UInt8) {
            switch letter {
            case UInt8(ascii: "r"): self = .type
            case UInt8(ascii: "k"): self = .key
            case UInt8(ascii: "o"): self = .origin
            case UInt8(ascii: "a"): self = .attempts
            case UInt8(ascii: "i"): self = .interruptions
            case UInt8(ascii: "h"): self = .held
            case UInt8(ascii: "n"), UInt8(ascii: "t"): self = .gate
            default: return nil
            }
        }
    }

    /// False if the value is none that `description` would write there.
    private mutating func take(_ field: FieldOrder, letter: UInt8, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch field {
        case .none:
            return false
        case .type:
            guard let type = TypeName(bytes: value), type != .default else { return false }
            self.type = type
        case .key:
            guard let digest = Digest(bytes: value) else { return false }
            keyDigest = digest
        case .origin:
            guard let digest = Digest(bytes: value) else { return false }
            originDigest = digest
        case .attempts:
            guard let count = value.canonicalCount(digits: 1...4) else { return false }
            attempts = count
        case .interruptions:
            guard let count = value.canonicalCount(digits: 1...2) else { return false }
            interruptions = count
        case .held:
            guard value.count == 1, value[0] == UInt8(ascii: "1") else { return false }
            isHeld = true
        case .gate:
            guard let moment = Timestamp(compactMilliseconds: value) else { return false }
            gate = letter == UInt8(ascii: "n") ? .notBefore(moment) : .due(moment)
        }
        return true
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func ends(inJSONSuffixAt offset: Int) -> Bool {
        self[offset] == UInt8(ascii: ".") && self[offset + 1] == UInt8(ascii: "j")
            && self[offset + 2] == UInt8(ascii: "s") && self[offset + 3] == UInt8(ascii: "o")
            && self[offset + 4] == UInt8(ascii: "n")
    }

    fileprivate func fieldEnd(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, self[index] != UInt8(ascii: ",") { index += 1 }
        return index
    }

    /// A number of that many digits without a leading zero, so never 0.
    fileprivate func canonicalCount(digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(count), self[0] != UInt8(ascii: "0") else { return nil }
        return decimal(at: 0, digits: count)
    }
}

extension OperationID {
    init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard (1...64).contains(bytes.count), bytes.allSatisfy(\.isIdentifierByte) else { return nil }
        description = String(decoding: bytes, as: UTF8.self)
    }
}

extension TypeName {
    init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard (1...64).contains(bytes.count), bytes[0] != UInt8(ascii: "."),
            bytes.allSatisfy({ $0.isIdentifierByte || $0 == UInt8(ascii: ".") })
        else { return nil }
        description = String(decoding: bytes, as: UTF8.self)
    }
}
