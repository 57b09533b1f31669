/// A canonical name in the buffer of a listing, checked to its last byte and not copied. Valid as long as the bytes.
///
/// A run may list a million names to choose five, and makes an `EntryName` of those only, where the grammar stands.
package struct ListedName {
    package private(set) var createdAt: Timestamp
    /// Empty for the default type.
    package private(set) var typeBytes: UnsafeBufferPointer<UInt8>
    package private(set) var keyDigest: Digest?
    package private(set) var originDigest: Digest?
    package private(set) var isHeld = false
    package private(set) var gate = EntryName.Gate.open
    package let isInput: Bool
    fileprivate var idBytes: UnsafeBufferPointer<UInt8>
    package fileprivate(set) var attempts = 0
    fileprivate var interruptions = 0
    fileprivate var unknowns = 0

    package var id: OperationID { OperationID(checked: idBytes) }

    /// Parses the bytes of a file name; `nil` if it is not canonical. `mayBeInput`: it is from `quarantine/`.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>, mayBeInput: Bool = false) {
        let timeLength = Timestamp.compactMicrosecondsLength
        isInput = mayBeInput && bytes.suffix(6).elementsEqual(".input".utf8)
        let end = bytes.count - (isInput ? 6 : 5)
        guard bytes.count <= EntryName.maximumLength, end > timeLength + 1, bytes[timeLength] == UInt8(ascii: "-"),
            isInput || bytes.ends(inJSONSuffixAt: end),
            let createdAt = Timestamp(compactMicroseconds: bytes.part(0, timeLength))
        else { return nil }
        var index = timeLength + 1
        while index < end, bytes[index].isIdentifierByte { index += 1 }
        self.createdAt = createdAt
        idBytes = bytes.part(timeLength + 1, index)
        typeBytes = bytes.part(index, index)
        guard (1...64).contains(idBytes.count), index == end || bytes[index] == UInt8(ascii: ",") else { return nil }
        // Fields have a fixed order: each must come after the one before it.
        var last: FieldOrder = .none
        while index < end {
            guard index + 3 <= end, bytes[index + 2] == UInt8(ascii: "="),
                let field = FieldOrder(letter: bytes[index + 1]), field.rawValue > last.rawValue
            else { return nil }
            let valueEnd = bytes.fieldEnd(from: index + 3, to: end)
            guard take(field, letter: bytes[index + 1], bytes.part(index + 3, valueEnd)) else { return nil }
            last = field
            index = valueEnd
        }
    }

    /// A hash that two names of one queue hardly share: of creation, id, gate, attempts, interruptions, unknowns, hold.
    package var mark: UInt64 {
        var mark = UInt64(bitPattern: createdAt.microseconds)
        func take(_ word: UInt64) {
            let product = (mark ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            mark = product.high ^ product.low
        }
        var index = 0
        let id = UnsafeRawBufferPointer(idBytes)
        while index + 8 <= id.count {
            take(id.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        while index < id.count {
            take(UInt64(id[index]))
            index += 1
        }
        switch gate {
        case .open: break
        case .notBefore(let moment): take(UInt64(bitPattern: moment.microseconds) << 1)
        case .retryAt(let moment): take(UInt64(bitPattern: moment.microseconds) << 1 | 1)
        }
        take(UInt64(attempts) << 20 | UInt64(interruptions) << 5 | UInt64(unknowns) << 1 | (isHeld ? 1 : 0))
        return mark
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

    /// Stores the value of a field. Returns false if no `description` of an `EntryName` has that value there.
    private mutating func take(_ field: FieldOrder, letter: UInt8, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch field {
        case .none: return false
        case .type:
            guard TypeName.allows(value), !value.elementsEqual(TypeName.default.description.utf8) else { return false }
            typeBytes = value
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
            var counted = value
            if value.count > 2, value[value.count - 2] == UInt8(ascii: "u") {
                guard let count = UnsafeBufferPointer(rebasing: value.suffix(1)).canonicalCount(digits: 1...1) else {
                    return false
                }
                unknowns = count
                counted = UnsafeBufferPointer(rebasing: value.dropLast(2))
                if counted.elementsEqual("0".utf8) { return true }
            }
            guard let count = counted.canonicalCount(digits: 1...2) else { return false }
            interruptions = count
        case .held:
            guard value.count == 1, value[0] == UInt8(ascii: "1") else { return false }
            isHeld = true
        case .gate:
            guard let moment = Timestamp(compactMilliseconds: value) else { return false }
            gate = letter == UInt8(ascii: "n") ? .notBefore(moment) : .retryAt(moment)
        }
        return true
    }
}

extension EntryName {
    /// Copies the name.
    package init(_ name: ListedName) {
        self.init(
            createdAt: name.createdAt, id: name.id, type: TypeName(name), keyDigest: name.keyDigest,
            originDigest: name.originDigest, attempts: name.attempts, interruptions: name.interruptions,
            unknowns: name.unknowns, isHeld: name.isHeld, gate: name.gate, isInput: name.isInput)
    }
}

extension TypeName {
    /// Copies the type of a name.
    package init(_ name: ListedName) {
        self = name.typeBytes.isEmpty ? .default : TypeName(checked: name.typeBytes)
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func part(_ start: Int, _ end: Int) -> UnsafeBufferPointer {
        UnsafeBufferPointer(rebasing: self[start..<end])
    }

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

    /// Returns a number of that many digits without a leading zero, so never 0; `nil` if the bytes are none.
    fileprivate func canonicalCount(digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(count), self[0] != UInt8(ascii: "0") else { return nil }
        return decimal(at: 0, digits: count)
    }
}
