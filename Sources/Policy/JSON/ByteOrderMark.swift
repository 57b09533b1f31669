/// The byte order mark of UTF-8 (U+FEFF). JSON does not have one, and readers may ignore it (RFC 8259 §8.1).
package enum ByteOrderMark {
    /// The number of bytes of the mark with which the text begins; 0 without one.
    package static func length(in text: some Collection<UInt8>) -> Int {
        text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }
}
