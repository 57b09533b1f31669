import CSystem
package import Foundation

/// The directory in which tests make their files.
package enum Scratch {
    /// A directory of this process, which goes with it: in `TMPDIR` if that is set; else in `/dev/shm` if it has room and its
    /// files may be executed; else in the directory for temporary files.
    ///
    /// The tests make and remove tens of thousands of files. On an ext4 without a journal SpoolTests took 34 s of system
    /// time, most of it in the search for free inodes, and 6 s in memory.
    package static let directory: URL = {
        // Short, because a socket's path is.
        let name = "drainq-\(String(UInt32.random(in: .min ... .max), radix: 36))"
        let directory = parent.appending(path: name, directoryHint: .isDirectory)
        // Without it the tests say what is wrong.
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(at: Scratch.directory) }
        return directory
    }()

    private static var parent: URL {
        let inMemory = "/dev/shm"
        guard ProcessInfo.processInfo.environment["TMPDIR"] == nil, isSuitable(inMemory) else {
            return FileManager.default.temporaryDirectory
        }
        return URL(filePath: inMemory, directoryHint: .isDirectory)
    }

    /// Containers often have one of 64 MB in which nothing may be executed; hooks and commands of the tests are scripts.
    private static func isSuitable(_ path: String) -> Bool {
        #if os(Linux)
            var system = statvfs()
            guard statvfs(path, &system) == 0, access(path, W_OK | X_OK) == 0 else { return false }
            let free = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize)).partialValue
            // The C library hides the name of the flag, ST_NOEXEC.
            let forbidsExecution: UInt = 8
            return free >= 1 << 30 && system.f_flag & forbidsExecution == 0
        #else
            return false
        #endif
    }
}
