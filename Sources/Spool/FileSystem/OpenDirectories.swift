import CSystem
import Synchronization

/// The directories that a run on a shared file system keeps open. Its calls name files in them without a path.
///
/// A client in user space (FUSE) looks up each directory of a path anew for each call. On CephFS such a lookup is a
/// round trip if another host has changed the directory. With four hosts a claim, read and removal took 8.5 lookups by
/// paths, and take 4.9 in open directories (Tests/Benchmarks/README.md). On a local file system the kernel knows the
/// directories of a path, and a run keeps none open.
///
/// An open directory and its path lead to the same file as long as the directory has its name. `new/` and `deferred/`
/// keep their names. A run's own directory loses its name when another host gets the run's lock and removes the
/// directory. Then a call in the open directory fails, as a call by the path does. So a dead run's directory never
/// becomes another run's on a shared file system (`LockedDirectory.remove`).
final class OpenDirectories {
    private let system: SystemCalls
    private let root: Int32
    private let descriptors = Mutex<[QueuePath: Int32]>([:])

    init(in root: Int32, _ system: SystemCalls) {
        self.root = root
        self.system = system
    }

    deinit {
        // try?: nothing was written through them.
        for descriptor in descriptors.withLock({ $0.values.map { $0 } }) { try? system.close(descriptor) }
    }

    /// Opens a directory, unless it is open. If it cannot be opened, its files are still named by their paths.
    func keep(_ directory: QueuePath) {
        descriptors.withLock { descriptors in
            if descriptors[directory] != nil { return }
            // try?: without it the files are named by their paths, and the call for a file tells the error.
            descriptors[directory] = try? system.open(root, directory.bytes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        }
    }

    /// Closes a directory before it is removed.
    func close(_ directory: QueuePath) {
        guard let descriptor = descriptors.withLock({ $0.removeValue(forKey: directory) }) else { return }
        // try?: as above.
        try? system.close(descriptor)
    }

    /// Returns an open directory and a file's name in it; the queue directory and the path itself if the file's
    /// directory is not open.
    func place(of path: QueuePath) -> (directory: Int32, name: QueuePath) {
        descriptors.withLock { descriptors in
            if !descriptors.isEmpty, let descriptor = descriptors[path.parent] { return (descriptor, path.last) }
            return (root, path)
        }
    }
}
