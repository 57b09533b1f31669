import CSystem
import Policy

/// The files installed with the running program, found from its place.
package enum Installation {
    /// The present or former path of the running binary; empty if it cannot be found.
    package static let program: String = {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        #if os(Linux)
            if readlink("/proc/self/exe", &path, path.count - 1) < 0, let started = csystem_executable() {
                // Without /proc, the path that started it.
                _ = realpath(started, &path)
            }
        #else
            var size = UInt32(path.count)
            _NSGetExecutablePath(&path, &size)
        #endif
        return String(raw: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
    }()

    /// Returns the sorted names in a directory, without names that begin with a dot; none if the directory is missing.
    package static func names(in directory: String) -> [String] {
        KernelFile.names(in: directory)
    }
}
