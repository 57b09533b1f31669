import CSystem
import Spool
import Testing

/// The real system calls, with a fault at the nth call: an error, or a crash, after which every call fails.
///
/// `close` always happens: the kernel closes the files of a dead process, and so releases its locks. Closing a
/// descriptor twice is recorded as an issue: in between, the number can have gone to another thread.
final class InterceptedCalls {
    enum Fault {
        case none
        /// Only the nth call fails.
        case error(Int32, at: Int)
        /// The nth call and all later ones fail without doing anything.
        case crash(at: Int)
        /// Every call of this name fails.
        case always(String, Int32)
        /// The first call of this name fails.
        case once(String, Int32)
        /// The nth call of this name takes effect, and reports an error all the same.
        case lie(String, Int32, at: Int)
    }

    var fault: Fault
    private(set) var count = 0
    private(set) var log: [String] = []
    private var counts: [String: Int] = [:]
    /// The open descriptors.
    private(set) var descriptors: Set<Int32> = []

    init(_ fault: Fault = .none) {
        self.fault = fault
    }

    private func before(_ name: String) throws(Errno) {
        count += 1
        log.append(name)
        counts[name, default: 0] += 1
        switch fault {
        case .none, .lie: break
        case .error(let code, let index): if count == index { throw Errno(code) }
        case .crash(let index): if count >= index { throw Errno(ECANCELED) }
        case .always(let failing, let code): if name == failing { throw Errno(code) }
        case .once(let failing, let code): if name == failing, counts[name] == 1 { throw Errno(code) }
        }
    }

    private func after(_ name: String) throws(Errno) {
        if case .lie(name, let code, let index) = fault, counts[name] == index { throw Errno(code) }
    }

    func reset(_ fault: Fault = .none) {
        self.fault = fault
        count = 0
        log = []
        counts = [:]
    }

    var calls: SystemCalls {
        let real = SystemCalls.real
        var calls = real
        calls.open = { (directory, path, flags, mode) throws(Errno) in
            try self.before("open")
            let descriptor = try real.open(directory, path, flags, mode)
            self.descriptors.insert(descriptor)
            return descriptor
        }
        calls.close = { (descriptor) throws(Errno) in
            if self.descriptors.remove(descriptor) == nil { Issue.record("closed twice: \(descriptor)") }
            try real.close(descriptor)
        }
        calls.write = { (descriptor, bytes) throws(Errno) in
            try self.before("write")
            return try real.write(descriptor, bytes)
        }
        calls.writeAt = { (descriptor, bytes, offset) throws(Errno) in
            try self.before("writeAt")
            return try real.writeAt(descriptor, bytes, offset)
        }
        calls.read = { (descriptor, buffer, offset) throws(Errno) in
            try self.before("read")
            return try real.read(descriptor, buffer, offset)
        }
        calls.fsync = { (descriptor) throws(Errno) in
            try self.before("fsync")
            try real.fsync(descriptor)
        }
        calls.syncfs = { (descriptor) throws(Errno) in
            try self.before("syncfs")
            try real.syncfs(descriptor)
        }
        calls.chmod = { (descriptor, mode) throws(Errno) in
            try self.before("chmod")
            try real.chmod(descriptor, mode)
        }
        calls.rename = { (directory, from, target, to) throws(Errno) in
            try self.before("rename")
            try real.rename(directory, from, target, to)
            try self.after("rename")
        }
        calls.renameNoReplace = { (directory, from, to) throws(Errno) in
            try self.before("renameNoReplace")
            try real.renameNoReplace(directory, from, to)
            try self.after("renameNoReplace")
        }
        calls.link = { (directory, from, to) throws(Errno) in
            try self.before("link")
            try real.link(directory, from, to)
        }
        calls.unlink = { (directory, path) throws(Errno) in
            try self.before("unlink")
            try real.unlink(directory, path)
        }
        calls.removeDirectory = { (directory, path) throws(Errno) in
            try self.before("removeDirectory")
            try real.removeDirectory(directory, path)
        }
        calls.makeDirectory = { (directory, path, mode) throws(Errno) in
            try self.before("makeDirectory")
            try real.makeDirectory(directory, path, mode)
        }
        calls.status = { (descriptor) throws(Errno) in
            try self.before("status")
            return try real.status(descriptor)
        }
        calls.statusAt = { (directory, path) throws(Errno) in
            try self.before("statusAt")
            return try real.statusAt(directory, path)
        }
        calls.realPath = { (descriptor) throws(Errno) in
            try self.before("realPath")
            return try real.realPath(descriptor)
        }
        calls.lock = { (descriptor) throws(Errno) in
            try self.before("lock")
            return try real.lock(descriptor)
        }
        calls.list = { (directory, path, body) throws(Errno) in
            try self.before("list")
            try real.list(directory, path, body)
        }
        calls.listAll = { (directory, path, body) throws(Errno) in
            try self.before("listAll")
            try real.listAll(directory, path, body)
        }
        calls.freeBytes = { (descriptor) throws(Errno) in
            try self.before("freeBytes")
            return try real.freeBytes(descriptor)
        }
        return calls
    }
}
