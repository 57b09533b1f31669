extension String {
    /// Creates a text from UTF-8; `nil` if the bytes are not valid.
    package init?(validUTF8 bytes: ArraySlice<UInt8>) {
        // ASCII, the usual case, needs no second check.
        if bytes.allSatisfy({ $0 < 0x80 }) {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }
}
