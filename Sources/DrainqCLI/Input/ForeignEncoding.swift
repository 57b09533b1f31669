/// What the bytes of an input are if they are not UTF-8 text, by their beginning.
enum ForeignEncoding: CustomStringConvertible {
    case gzip
    case utf16

    init?(_ beginning: some Collection<UInt8>) {
        switch Array(beginning.prefix(2)) {
        case [0x1F, 0x8B]: self = .gzip
        case [0xFF, 0xFE], [0xFE, 0xFF]: self = .utf16
        // Without a mark, every other byte of ASCII text is NUL.
        case let first where first.count == 2 && first.count(where: { $0 == 0 }) == 1: self = .utf16
        default: return nil
        }
    }

    /// The reason why the input is not JSON, and the program that makes it JSON.
    var description: String {
        switch self {
        case .gzip: "it is compressed by gzip; 'zcat' decompresses it"
        case .utf16: "it is UTF-16; 'iconv -f UTF-16 -t UTF-8' converts it"
        }
    }
}
