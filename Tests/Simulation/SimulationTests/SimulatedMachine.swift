import CSystem
import Policy
import Simulation
import Spool

/// A disk with processes, for tests of the disk itself.
final class SimulatedMachine {
    let disk: SimulatedDisk
    /// Called before each call.
    var before: (ProcessID, Call) throws(Errno) -> Void = { (_, _) throws(Errno) in }
    private var random: Chance
    private(set) var time = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    init(_ journal: Setup.Journal = .ordered, seed: UInt64 = 1) {
        disk = SimulatedDisk(journal: journal, seed: seed)
        random = Chance(seed: seed)
    }

    func calls(of number: Int, user: UInt32 = 1000) -> SystemCalls {
        let process = ProcessID(number)
        let gate = Gate(
            before: { [unowned self] (call) throws(Errno) in try before(process, call) },
            now: { [unowned self] in
                time = time + .microseconds(1)
                return time
            },
            elapsed: { [unowned self] in time - Timestamp(microseconds: 0) },
            sleep: { [unowned self] in time = time + $0 }, random: { [unowned self] in random.next() })
        return disk.calls(of: process, user: user, host: "one", through: gate)
    }

    func cutPower(_ seed: UInt64) {
        var chance = Chance(seed: seed)
        disk.cutPower(using: &chance)
    }
}

extension SystemCalls {
    /// Makes a file with the content; syncs the file if `syncs`.
    func write(_ text: String, to path: String, syncs: Bool = false) throws(Errno) {
        let file = try open(AT_FDCWD, path, O_WRONLY | O_CREAT, 0o600)
        try append(text, to: file)
        if syncs { try fsync(file) }
        try close(file)
    }

    func append(_ text: String, to file: Int32) throws(Errno) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = try rest.withUnsafeBufferPointer { (bytes) throws(Errno) in try write(file, .init(bytes)) }
            rest = rest.dropFirst(count)
        }
    }

    func sync(_ path: String) throws(Errno) {
        let file = try open(AT_FDCWD, path, O_RDONLY, 0)
        try fsync(file)
        try close(file)
    }

    func names(_ path: String) throws(Errno) -> [String] {
        var names: [String] = []
        try list(AT_FDCWD, path) { name in
            names.append(String(decoding: name, as: UTF8.self))
            return true
        }
        return names
    }

    func makeDirectory(_ path: String) throws(Errno) {
        try makeDirectory(AT_FDCWD, path, 0o700)
    }
}
