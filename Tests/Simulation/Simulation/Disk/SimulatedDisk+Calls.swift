import CSystem
package import Spool

extension SimulatedDisk {
    /// Makes the calls of a process. `user` is the user for files (0 for root), `host` the name of the machine. Several
    /// values of one process share its descriptors.
    package func calls(of process: ProcessID, user: UInt32, host: String, through gate: Gate) -> SystemCalls {
        let caller = DiskCaller(self, process, user: user, host: host, gate: gate)
        var calls = SystemCalls.real
        calls.open = { (directory, path, flags, mode) throws(Errno) in
            try caller.open(directory, path, flags, mode)
        }
        calls.close = { (descriptor) throws(Errno) in try caller.close(descriptor) }
        calls.write = { (descriptor, bytes) throws(Errno) in try caller.write(descriptor, bytes) }
        calls.writeAt = { (descriptor, bytes, offset) throws(Errno) in
            try caller.write(descriptor, bytes, at: offset)
        }
        calls.read = { (descriptor, buffer, offset) throws(Errno) in try caller.read(descriptor, buffer, offset) }
        calls.fsync = { (descriptor) throws(Errno) in try caller.fsync(descriptor) }
        calls.syncfs = { (descriptor) throws(Errno) in try caller.syncfs(descriptor) }
        calls.chmod = { (descriptor, mode) throws(Errno) in try caller.chmod(descriptor, mode) }
        calls.rename = { (directory, from, target, to) throws(Errno) in
            try caller.rename(directory, from, target, to)
        }
        calls.renameNoReplace = { (directory, from, to) throws(Errno) in
            try caller.renameNoReplace(directory, from, to)
        }
        calls.link = { (directory, from, to) throws(Errno) in try caller.link(directory, from, to) }
        calls.unlink = { (directory, path) throws(Errno) in try caller.unlink(directory, path) }
        calls.removeDirectory = { (directory, path) throws(Errno) in try caller.removeDirectory(directory, path) }
        calls.makeDirectory = { (directory, path, mode) throws(Errno) in
            try caller.makeDirectory(directory, path, mode)
        }
        calls.status = { (descriptor) throws(Errno) in try caller.status(descriptor) }
        calls.statusAt = { (directory, path) throws(Errno) in try caller.statusAt(directory, path) }
        calls.realPath = { (descriptor) throws(Errno) in try caller.realPath(descriptor) }
        calls.user = { user }
        calls.lock = { (descriptor) throws(Errno) in try caller.lock(descriptor) }
        calls.unlock = { (descriptor) throws(Errno) in try caller.unlock(descriptor) }
        calls.list = { (directory, path, body) throws(Errno) in
            try caller.list(directory, path, all: false, body)
        }
        calls.listAll = { (directory, path, body) throws(Errno) in
            try caller.list(directory, path, all: true, body)
        }
        calls.freeBytes = { (descriptor) throws(Errno) in try caller.freeBytes(descriptor) }
        calls.fileSystem = { [unowned self] _ in fileSystem }
        calls.host = { host }
        calls.boot = { [unowned self] in "boot\(powerCuts)" }
        calls.elapsed = gate.elapsed
        calls.sleep = gate.sleep
        calls.random = gate.random
        // Works on the files in sequence, in a random order: the schedule chooses the next process at each call.
        calls.overlap = { count, _, work in
            var left = Array(0..<count)
            while !left.isEmpty { work(left.remove(at: Int(gate.random() % UInt64(left.count)))) }
        }
        return calls
    }

    func descriptors(of process: ProcessID) -> Descriptors {
        if let descriptors = processes[process] { return descriptors }
        let descriptors = Descriptors()
        processes[process] = descriptors
        return descriptors
    }
}
