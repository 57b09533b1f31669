import CSystem
import Policy

extension FileSystem {
    /// Reads the file system that an open file is on; `unknown` if /proc does not tell.
    init(of descriptor: Int32) {
        #if os(Linux)
            let lines = text("/proc/self/fdinfo/\(descriptor)").split(separator: "\n")
            let mount = lines.first { $0.hasPrefix("mnt_id:") }?.dropFirst("mnt_id:".count).drop(while: \.isWhitespace)
            self = mount.flatMap { FileSystem(ofMount: $0, in: text("/proc/self/mountinfo")) } ?? .unknown
        #else
            var status = statfs()
            guard fstatfs(descriptor, &status) == 0, status.f_flags & UInt32(MNT_LOCAL) != 0 else {
                self = .unknown
                return
            }
            self.init(type: "local")
        #endif
    }

    /// Reads proc_pid_mountinfo(5): `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
    package init?(ofMount id: some StringProtocol, in mountInfo: String) {
        let head = Array("\(id) ".utf8)
        for line in mountInfo.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: head) {
            let fields = Substring(line).split(separator: " ")
            guard fields.count > 6, let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.endIndex > dash + 3
            else { continue }
            let options = fields[5].split(separator: ",") + fields[dash + 3].split(separator: ",")
            self.init(type: String(fields[dash + 1]), options: Set(options.map(String.init)))
            return
        }
        return nil
    }
}

/// Returns this host's machine id and name: the same from boot to boot, and different on each host.
func hostIdentity() -> String {
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, name.count - 1)
    return text("/etc/machine-id")
        + String(decoding: name.map { UInt8(bitPattern: $0) }.prefix { $0 != 0 }, as: UTF8.self)
}

/// Returns the id of this boot of the kernel; empty if the system has none.
func bootIdentity() -> String {
    text("/proc/sys/kernel/random/boot_id").split(separator: "\n").first.map(String.init) ?? ""
}

/// Returns the text of a small file; empty if it cannot be read.
private func text(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while text.count < 16 << 20 {
        let count = read(descriptor, &buffer, buffer.count)
        if count <= 0 { break }
        text += buffer[..<count]
    }
    return String(decoding: text, as: UTF8.self)
}
