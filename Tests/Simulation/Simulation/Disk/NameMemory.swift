/// What the clients of a shared file system remember of names, for a second: a client may take a name just made for
/// missing, and a name just removed by another host for there.
final class NameMemory {
    private struct Place: Hashable {
        let directory: UInt64
        let name: [UInt8]
    }

    private static let span = Duration.seconds(1)
    private var made: [Place: Duration] = [:]
    private var removed: [Place: (time: Duration, host: String)] = [:]

    func makes(_ name: FileName, in directory: Inode, at time: Duration) {
        let place = Place(directory: directory.number, name: name.bytes)
        made[place] = time
        removed[place] = nil
    }

    func removes(_ name: FileName, in directory: Inode, at time: Duration, by host: String) {
        let place = Place(directory: directory.number, name: name.bytes)
        removed[place] = (time, host)
        made[place] = nil
    }

    /// Whether a client may not know the name yet.
    func isNew(_ name: FileName, in directory: Inode, at time: Duration) -> Bool {
        made[Place(directory: directory.number, name: name.bytes)].map { time - $0 < Self.span } ?? false
    }

    /// Whether the client of a host may still know a name that another host has removed.
    func remembers(_ name: FileName, in directory: Inode, at time: Duration, on host: String) -> Bool {
        removed[Place(directory: directory.number, name: name.bytes)]
            .map { time - $0.time < Self.span && $0.host != host } ?? false
    }
}
