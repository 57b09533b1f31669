/// Parses and writes the text of a name. The grammar stands with `EntryName`.
extension EntryName: CustomStringConvertible {
    /// The length of the longest canonical name, in bytes.
    package static let maximumLength = 255

    /// Parses the bytes of a file name; `nil` if the name is not canonical.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let listed = ListedName(bytes) else { return nil }
        self.init(listed)
    }

    /// Parses a file name. `mayBeInput`: the name is from `quarantine/`.
    package init?(_ text: String, mayBeInput: Bool = false) {
        var text = text
        guard let listed = text.withUTF8({ ListedName($0, mayBeInput: mayBeInput).map { EntryName($0) } }) else {
            return nil
        }
        self = listed
    }

    /// The canonical name. A value that a name cannot carry is written as the nearest that it can: a gate rounded up to
    /// the millisecond, times within 1970–9999, at most 9,999 attempts, 99 interruptions and 9 unknown ends.
    package var description: String {
        String(unsafeUninitializedCapacity: Self.maximumLength + 1) { buffer in
            var writer = NameWriter(buffer)
            writer.writeCompactMicroseconds(createdAt)
            writer.write("-", id.description)
            if type != .default { writer.write(",r=", type.description) }
            if let keyDigest { writer.write(",k=", keyDigest.description) }
            if let originDigest { writer.write(",o=", originDigest.description) }
            if attempts > 0 { writer.write(",a=", String(min(attempts, 9999))) }
            if interruptions > 0 || unknowns > 0 { writer.write(",i=", String(min(interruptions, 99))) }
            if unknowns > 0 { writer.write("u", String(min(unknowns, 9))) }
            if isHeld { writer.write(",h=1" as StaticString) }
            switch gate {
            case .open: break
            case .notBefore(let moment):
                writer.write(",n=" as StaticString)
                writer.writeCompactMilliseconds(moment)
            case .retryAt(let moment):
                writer.write(",t=" as StaticString)
                writer.writeCompactMilliseconds(moment)
            }
            writer.write(isInput ? ".input" : ".json" as StaticString)
            return writer.count
        }
    }
}
