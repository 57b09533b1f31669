import Policy

/// Writes one JSON object on one line, with its members in the order of the calls. Foundation's encoder keeps no order
/// and takes no JSON that is written already.
struct OrderedJSONLine {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        JSONText.append(value, to: &bytes)
    }

    mutating func member(_ name: String, _ value: Int?) {
        guard let value else { return }
        self.name(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    mutating func member(_ name: String, raw json: some Sequence<UInt8>) {
        self.name(name)
        bytes.append(contentsOf: json)
    }

    /// Returns the line with the brace and the newline that end it.
    consuming func ended() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private mutating func name(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONText.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}
