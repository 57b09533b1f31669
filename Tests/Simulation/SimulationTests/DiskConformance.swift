import CSystem
import Foundation
import Policy
import Scratch
import Simulation
import Spool
import Testing

/// A sequence of calls, made at a real directory and at the simulated disk.
///
/// The working directory of both is a base directory; every other path is relative to the base directory or to an open
/// directory. Root also acts as other users: `setfsuid` changes the user of a single thread for files.
struct DiskConformance {
    private var chance: Chance
    private let disk: SimulatedDisk
    private let base: String
    private let real = SystemCalls.real
    private var fakes: [UInt32: SystemCalls] = [:]
    private let users: [UInt32]
    /// The files open in both; first the base directory.
    private var open: [(real: Int32, fake: Int32)] = []
    private(set) var story: [String] = []
    /// How often each call ended with each error, or 0: `rename 2`.
    private(set) var outcomes: [String: Int] = [:]

    init(seed: UInt64) throws {
        chance = Chance(seed: seed)
        disk = SimulatedDisk(journal: .ordered, seed: seed)
        base = Scratch.directory.appending(path: "conformance-\(seed)").path()
        users = setUser == nil ? [geteuid()] : [0, 0, 0, 0, 1001, 1002]
        disk.protectsHardLinks = protection("hardlinks")
        disk.protectsSticky = protection("regular")
        let isSticky = protection("regular") == protection("fifos") && !protection("symlinks")
        disk.shortWriteRate = 0
        var random = chance.branch()
        let gate = Gate(
            before: { (_) throws(Errno) in }, now: { Timestamp(microseconds: 0) }, elapsed: { .zero }, sleep: { _ in },
            random: { random.next() })
        for user in Set(users) {
            // A single process, as with the real calls.
            fakes[user] = disk.calls(of: ProcessID(1), user: user, host: "one", through: gate)
        }
        let mode = chance.pick(
            users.count > 1 ? isSticky ? [0o777, 0o755, 0o1777, 0o1755] : [0o777, 0o755, 0o1755] : [UInt32(0o700)])
        let owner = chance.pick(users)
        mkdir(base, 0o700)
        chmod(base, mode)
        if users.count > 1 { chown(base, owner, owner) }
        disk.place(.directory, at: "/queue", owner: owner, mode: mode)
        let fake = fakes[users[0]]!
        open.append(
            (
                try real.open(AT_FDCWD, base, O_RDONLY | O_DIRECTORY, 0),
                try fake.open(AT_FDCWD, "/queue", O_RDONLY | O_DIRECTORY, 0)
            ))
        place()
    }

    /// Puts directories, files, links, FIFOs and sockets into both directories.
    private mutating func place() {
        for path in ["d", "d/e", "e", "e/a"] where chance.below(3) > 0 {
            if mkdir("\(base)/\(path)", 0o700) < 0 { continue }
            let mode = chance.pick([0o777, 0o755, 0o700] as [UInt32])
            chmod("\(base)/\(path)", mode)
            disk.place(.directory, at: path, owner: geteuid(), mode: mode)
        }
        for path in ["a", "b", "d/a", "e/b"] where chance.below(3) > 0 {
            let file = CSystem.open("\(base)/\(path)", O_WRONLY | O_CREAT, 0o600)
            if file < 0 { continue }
            CSystem.close(file)
            let mode = chance.pick([0o666, 0o644, 0o600] as [UInt32])
            chmod("\(base)/\(path)", mode)
            disk.place(.regular, at: path, owner: geteuid(), mode: mode)
        }
        for (name, target) in [("s", "d"), ("t", "missing"), ("l", "l"), ("u", "a"), ("v", "d/a"), ("w", "f")] {
            if chance.below(3) > 0 { continue }
            symlink(target, "\(base)/\(name)")
            disk.place(.symbolicLink, at: name, bytes: Array(target.utf8), owner: geteuid())
        }
        if chance.below(3) == 0 {
            mkfifo("\(base)/f", 0o600)
            disk.place(.fifo, at: "f", owner: geteuid())
        }
        if chance.below(3) == 0 {
            mknod("\(base)/k", S_IFSOCK | 0o600, 0)
            disk.place(.socket, at: "k", owner: geteuid())
        }
    }

    func end() {
        for file in open { CSystem.close(file.real) }
        // The remaining files go with the whole scratch directory.
        try? FileManager.default.removeItem(atPath: base)
    }

    // MARK: - One call

    private static let long = "y" + String(repeating: "x", count: 255)
    private static let paths = [
        "a", "a", "b", "b", "c", "d", "d", "e", "d/a", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "e/a", "e/b", "s", "s/a",
        "t", "u", "v", "w", "l", "l/a", "f", "k", "a/b", "a/", "d/", "e/", "s/", "u/", "./a", "d/.", "d/../a", "d/..",
        "d//a", "missing/a", ".", "", ".h", "d/.h", long, "s/../b", "f/a",
    ]

    private static let flags = [
        O_RDONLY, O_RDONLY, O_RDWR, O_WRONLY, O_RDONLY | O_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
        O_RDONLY | O_NOFOLLOW, O_RDWR | O_CREAT, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_NOFOLLOW,
        O_WRONLY | O_CREAT | O_EXCL, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, O_RDWR | O_APPEND,
        O_RDWR | O_APPEND | O_CREAT, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT | O_TRUNC, O_RDWR | O_NOFOLLOW,
        O_RDWR | O_DIRECTORY,
    ]

    private struct Result: Equatable, CustomStringConvertible {
        var text: String
        var code: Int32 = 0
        var description: String { text }
    }

    /// Makes a call at both; false if the results differ.
    mutating func step() -> Bool {
        let user = chance.pick(users)
        let fake = fakes[user]!
        let index = chance.below(3) > 0 ? 0 : chance.below(open.count)
        let one = chance.below(40) == 0 ? (real: Int32(1_000_000), fake: Int32(1_000_000)) : open[index]
        let (path, other) = (chance.pick(Self.paths), chance.pick(Self.paths))
        let file = chance.below(open.count)
        let modes: [UInt32] = [0o600, 0o600, 0o700, 0o777, 0o400, 0o000, 0o644, 0o666, 0o755, 0o1755]
        let mode = chance.pick(modes)
        let (name, number) = (chance.below(20), chance.below(1000))
        func both(_ call: (SystemCalls, Int32, Int32) throws(Errno) -> String) -> (Result, Result) {
            let files = open[file]
            return (
                acting(as: user) { result { () throws(Errno) in try call(real, one.real, files.real) } },
                result { () throws(Errno) in try call(fake, one.fake, files.fake) }
            )
        }
        let words: String
        let results: (Result, Result)
        switch name {
        case 0...3:
            let flags = chance.pick(Self.flags) | O_NONBLOCK
            words = "open \(index) \(path) \(String(flags, radix: 8)) \(String(mode, radix: 8))"
            var (made, faked): (Int32?, Int32?)
            results = (
                acting(as: user) {
                    result { () throws(Errno) in
                        made = try real.open(one.real, path, flags, mode)
                        return "opened"
                    }
                },
                result { () throws(Errno) in
                    faked = try fake.open(one.fake, path, flags, mode)
                    return "opened"
                }
            )
            if let made, let faked { open.append((made, faked)) }
        case 4:
            words = "close \(file)"
            if file == 0 { return true }
            results = both { (calls, _, file) throws(Errno) in
                try calls.close(file)
                return ""
            }
            open.remove(at: file)
        case 5:
            words = "write \(file) \(number % 24)"
            // A pipe without a reader would send SIGPIPE.
            if (try? disk.isFIFO(open[file].fake, fake)) != false { return true }
            let bytes = [UInt8](repeating: UInt8(number % 251), count: number % 24)
            results = both { (calls, _, file) throws(Errno) in
                "\(try bytes.withUnsafeBufferPointer { (bytes) throws(Errno) in try calls.write(file, .init(bytes)) })"
            }
        case 6:
            words = "read \(file) at \(number % 30)"
            results = both { (calls, _, file) throws(Errno) in
                var buffer = [UInt8](repeating: 0, count: 16)
                let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
                    try calls.read(file, .init(buffer), number % 30)
                }
                return "\(buffer[..<count])"
            }
        case 7:
            words = "fsync \(file), lock"
            results = both { (calls, _, file) throws(Errno) in
                try calls.fsync(file)
                return "\(try calls.lock(file))"
            }
        case 8:
            words = "chmod \(file) \(String(mode, radix: 8))"
            results = both { (calls, _, file) throws(Errno) in
                try calls.chmod(file, mode)
                return ""
            }
        case 9, 10:
            words = "rename \(index) \(path) \(other)"
            results = both { (calls, one, _) throws(Errno) in
                try calls.rename(one, path, one, other)
                return ""
            }
        case 11:
            words = "renameNoReplace \(index) \(path) \(other)"
            results = both { (calls, one, _) throws(Errno) in
                try calls.renameNoReplace(one, path, other)
                return ""
            }
        case 12:
            words = "link \(index) \(path) \(other)"
            results = both { (calls, one, _) throws(Errno) in
                try calls.link(one, path, other)
                return ""
            }
        case 13:
            words = "unlink \(index) \(path)"
            results = both { (calls, one, _) throws(Errno) in
                try calls.unlink(one, path)
                return ""
            }
        case 14:
            words = "removeDirectory \(index) \(path)"
            results = both { (calls, one, _) throws(Errno) in
                try calls.removeDirectory(one, path)
                return ""
            }
        case 15, 16:
            words = "makeDirectory \(index) \(path) \(String(mode, radix: 8))"
            results = both { (calls, one, _) throws(Errno) in
                try calls.makeDirectory(one, path, mode)
                return ""
            }
        case 17:
            words = "status \(file), lock \(number % 2)"
            let base = base
            results = both { (calls, _, file) throws(Errno) in
                let status = try calls.status(file)
                let path = String(decoding: try calls.realPath(file), as: UTF8.self)
                let short = path.hasPrefix(base) ? "/queue" + path.dropFirst(base.utf8.count) : path
                let lock = number % 2 == 0 ? "\(try calls.lock(file))" : "\(try calls.unlock(file))"
                return "\(status.words) \(short) \(lock)"
            }
        case 18:
            words = "statusAt \(index) \(path)"
            results = (
                acting(as: user) {
                    result { () throws(Errno) in
                        let status = try real.statusAt(one.real, path)
                        return status.words + same(as: status, real, open.map(\.real))
                    }
                },
                result { () throws(Errno) in
                    let status = try fake.statusAt(one.fake, path)
                    return status.words + same(as: status, fake, open.map(\.fake))
                }
            )
        default:
            words = "list \(index) \(path)"
            results = both { (calls, one, _) throws(Errno) in
                var names: [String] = []
                let body = { (bytes: UnsafeBufferPointer<UInt8>) in
                    names.append(String(decoding: bytes, as: UTF8.self))
                    return true
                }
                if number % 2 == 0 { try calls.list(one, path, body) } else { try calls.listAll(one, path, body) }
                return "\(names.sorted())"
            }
        }
        let isSame = results.0 == results.1
        story.append("\(user): \(words) → \(results.0)\(isSame ? "" : ", simulated \(results.1)")")
        outcomes["\(words.prefix { $0.isLetter }) \(results.0.code)", default: 0] += 1
        return isSame
    }

    /// Returns the indices of the open files with the inode of `status`.
    private func same(as status: FileStatus, _ calls: SystemCalls, _ open: [Int32]) -> String {
        let same = open.indices.filter { index in
            guard let other = try? calls.status(open[index]) else { return false }
            return other.inode == status.inode && other.device == status.device
        }
        return " \(same)"
    }

    private func result(_ call: () throws(Errno) -> String) -> Result {
        do throws(Errno) {
            return Result(text: try call())
        } catch {
            return Result(text: "error \(error.code) (\(error))", code: error.code)
        }
    }

    private func acting<Value>(as user: UInt32, _ body: () -> Value) -> Value {
        guard let setUser, user != 0 else { return body() }
        _ = setUser(user)
        defer { _ = setUser(0) }
        return body()
    }
}

extension SimulatedDisk {
    fileprivate func isFIFO(_ descriptor: Int32, _ calls: SystemCalls) throws(Errno) -> Bool {
        try calls.status(descriptor).kind == .fifo
    }
}

extension FileStatus {
    /// The part of the status that must agree on both file systems. The size and links of directories are each file
    /// system's own.
    fileprivate var words: String {
        let counts = kind == .directory ? "" : " \(size) \(links)"
        return "\(kind)\(counts) \(owner) \(String(permissions, radix: 8)) \(isSticky)"
    }
}

/// Whether this machine's kernel has a protection of proc_sys_fs(5) on.
private func protection(_ name: String) -> Bool {
    guard let text = try? String(contentsOfFile: "/proc/sys/fs/protected_\(name)", encoding: .utf8) else {
        return false
    }
    return !text.hasPrefix("0")
}

/// setfsuid(2) for root; `nil` for other users and elsewhere.
private let setUser: (@Sendable @convention(c) (UInt32) -> Int32)? = {
    guard geteuid() == 0, let symbol = dlsym(dlopen(nil, RTLD_NOW), "setfsuid") else { return nil }
    return unsafeBitCast(symbol, to: (@Sendable @convention(c) (UInt32) -> Int32).self)
}()
