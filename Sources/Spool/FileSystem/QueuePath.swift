import Policy

/// A path relative to the queue directory, as bytes: file names need not be valid text.
struct QueuePath: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, with the NUL that ends them.
    let bytes: [CChar]

    init(_ text: String) {
        bytes = text.rawCString
    }

    init(in directory: QueuePath, _ name: some Collection<UInt8>) {
        var bytes: [CChar] = []
        bytes.reserveCapacity(directory.bytes.count + name.count + 1)
        bytes += directory.bytes
        bytes[bytes.count - 1] = CChar(bitPattern: UInt8(ascii: "/"))
        let isCopied: Void? = name.withContiguousStorageIfAvailable { name in
            name.withMemoryRebound(to: CChar.self) { bytes += $0 }
        }
        if isCopied == nil { bytes += name.lazy.map { CChar(bitPattern: $0) } }
        bytes.append(0)
        self.bytes = bytes
    }

    /// Hashes the bytes as one piece, not byte by byte.
    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// The directory of the last name; the queue itself for a path with a single name.
    var parent: QueuePath {
        guard let slash = bytes.lastIndex(of: CChar(bitPattern: UInt8(ascii: "/"))) else { return QueuePath(".") }
        return slash == 0 ? QueuePath("/") : QueuePath(bytes: bytes[..<slash] + [0])
    }

    /// The last name, as a path from its directory.
    var last: QueuePath {
        guard let slash = bytes.lastIndex(of: CChar(bitPattern: UInt8(ascii: "/"))) else { return self }
        return QueuePath(bytes: bytes[(slash + 1)...])
    }

    /// The bytes of the last name.
    var nameBytes: [UInt8] { last.bytes.dropLast().map { UInt8(bitPattern: $0) } }

    private init(bytes: ArraySlice<CChar>) {
        self.bytes = Array(bytes)
    }

    /// The path as text for people: control characters and invalid UTF-8 escaped.
    var description: String {
        Self.escaped(bytes.dropLast().map { UInt8(bitPattern: $0) })
    }

    /// Returns the text with `\xNN` for each byte that is not part of valid text or could move a terminal's cursor.
    static func escaped(_ bytes: some Collection<UInt8>) -> String {
        if bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return bytes.reduce(into: "") { result, byte in
                if (0x20..<0x7F).contains(byte) {
                    result.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    result += byte.escape
                }
            }
        }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                for byte in UTF8.encode(scalar)! { result += byte.escape }
            default:
                result.unicodeScalars.append(scalar)
            }
        }
    }
}

extension UInt8 {
    fileprivate var escape: String {
        let digits = Array("0123456789abcdef")
        return "\\x\(digits[Int(self >> 4)])\(digits[Int(self & 15)])"
    }
}
