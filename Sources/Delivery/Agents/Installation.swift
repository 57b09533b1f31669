import CSystem
import Policy

/// The files installed with the running program, found from its place.
package enum Installation {
    /// Where the running binary is, or was; empty where that cannot be found out.
    package static let program: String = {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        #if os(Linux)
            if readlink("/proc/self/exe", &path, path.count - 1) < 0, let started = csystem_executable() {
                // Without /proc it is where it was started from.
                _ = realpath(started, &path)
            }
        #else
            var size = UInt32(path.count)
            _NSGetExecutablePath(&path, &size)
        #endif
        return String(raw: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
    }()

    /// The names in a directory, sorted; none where it is not there. Names that begin with a dot are left out.
    package static func names(in directory: String) -> [String] {
        KernelFile.names(in: directory)
    }
}
