import CSystem

/// The value of `JOURNAL_STREAM`: the device and inode of the stream to the journal (systemd.exec(5)).
struct JournalStream: Hashable {
    var device: UInt64
    var inode: UInt64

    init?(environment: [String: String]) {
        let parts = (environment["JOURNAL_STREAM"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else { return nil }
        self.device = device
        self.inode = inode
    }

    /// Whether the descriptor is that stream. A process inherits the variable even if it writes elsewhere.
    func isBehind(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(truncatingIfNeeded: status.st_dev) == device
            && UInt64(truncatingIfNeeded: status.st_ino) == inode
    }
}

extension Messages.Format {
    /// Makes the format that fits what standard error is connected to.
    init(environment: [String: String]) {
        let isJournal = JournalStream(environment: environment)?.isBehind(STDERR_FILENO) ?? false
        self = isJournal ? .journal : .text
    }
}
