import CSystem
import Spool

/// System calls whose listings are no snapshots, like listings of a large directory: names come in parts, in the order
/// of their hashes, and between two parts other processes change the directory. The hashes of its two names decide
/// whether a file renamed meanwhile is seen under both names, under a single name, or not at all.
///
/// No call syncs, and no call waits: a lock taken by another process is reported at once.
final class RacedListing {
    /// Called between two reads of a directory.
    var disturb: () -> Void = {}
    private(set) var reads = 0
    private var generator: SeededNumbers
    private var isDisturbing = false

    init(seed: UInt64) {
        generator = SeededNumbers(seed)
    }

    /// Returns the calls of another process: the same file system, with directories read at once.
    static func calm(ignoresLocks: Bool = false) -> SystemCalls {
        var calls = SystemCalls.real
        calls.fsync = { (_) throws(Errno) in }
        calls.sleep = { _ in }
        if ignoresLocks {
            // The names lock alone: the locks of runs prove their lives.
            var names: Set<Int32> = []
            calls.open = { (directory, path, flags, mode) throws(Errno) in
                let descriptor = try SystemCalls.real.open(directory, path, flags, mode)
                if String(cString: path) == "state/names.lock" {
                    names.insert(descriptor)
                } else {
                    names.remove(descriptor)
                }
                return descriptor
            }
            calls.lock = { (descriptor) throws(Errno) in
                if names.contains(descriptor) { return true }
                return try SystemCalls.real.lock(descriptor)
            }
        }
        return calls
    }

    var calls: SystemCalls {
        var calls = Self.calm()
        let real = SystemCalls.real
        calls.list = { (directory, path, body) throws(Errno) in
            let seed = self.generator.next()
            var cursor: UInt64?
            while true {
                self.readBegins()
                var names: [(position: UInt64, name: [UInt8])] = []
                try real.list(directory, path) { name in
                    let position = Self.position(of: name, seed)
                    if cursor.map({ position > $0 }) ?? true { names.append((position, Array(name))) }
                    return true
                }
                if names.isEmpty { return }
                names.sort { $0.position < $1.position }
                for (position, name) in names.prefix(1 + Int(self.generator.next() % 3)) {
                    cursor = position
                    if !name.withUnsafeBufferPointer(body) { return }
                }
            }
        }
        return calls
    }

    private func readBegins() {
        reads += 1
        if isDisturbing { return }
        isDisturbing = true
        disturb()
        isDisturbing = false
    }

    private static func position(of name: UnsafeBufferPointer<UInt8>, _ seed: UInt64) -> UInt64 {
        name.reduce(seed) { hash, byte in
            let mixed = (hash ^ UInt64(byte)).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            return mixed.high ^ mixed.low
        }
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
