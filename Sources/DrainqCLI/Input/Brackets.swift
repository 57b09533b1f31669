/// The open brackets of a document, line by line. Only a scanner knows whether the rest is JSON.
struct Brackets {
    /// The closing brackets that are missing, the innermost last.
    private var missing: [UInt8] = []
    /// Whether a closing bracket had no opening one, or text that begins no value stood between two documents.
    var isBroken = false
    /// Whether the last line ended inside a string.
    private(set) var isInString = false
    /// The offset in the last line after the bracket that closed all; `nil` if none did.
    private(set) var lastClosing: Int?

    var areOpen: Bool { !missing.isEmpty }

    /// Takes the next line. No string goes on in the next one.
    mutating func take(_ line: ArraySlice<UInt8>) {
        isInString = false
        lastClosing = nil
        var isEscaped = false
        for (offset, byte) in line.enumerated() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): missing.append(UInt8(ascii: "}"))
            case UInt8(ascii: "["): missing.append(UInt8(ascii: "]"))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if missing.popLast() != byte { isBroken = true }
                if missing.isEmpty { lastClosing = offset + 1 }
            case UInt8(ascii: ","), UInt8(ascii: ":"): if missing.isEmpty { isBroken = true }
            default: break
            }
        }
    }
}
