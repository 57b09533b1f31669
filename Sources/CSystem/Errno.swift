/// The error of a system call (errno(3)).
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// Whether the error of opening a file is about the file: it is not there, is of another kind, or may not be read.
    /// False for a lack of this machine.
    package var isAboutTheFile: Bool {
        [ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, EINVAL, ENAMETOOLONG, ENXIO].contains(code)
    }

    /// Returns what this process has no more of, if it has no descriptor, or less than these bytes of memory; else
    /// `nil`.
    package static func shortage(ofMemory bytes: Int = 1) -> Errno? {
        let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0, [EMFILE, ENFILE, ENOMEM].contains(errno) { return Errno(errno) }
        close(descriptor)
        let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if memory == MAP_FAILED { return Errno(errno) }
        munmap(memory, bytes)
        return nil
    }

    /// The system's words: `Permission denied`.
    package var description: String { String(cString: strerror(code)) }
}
