import CSystem
package import Policy
package import Spool

/// The surroundings of a `WritableQueue`: its file system, chance and clocks. Tests replace them.
package struct WriterSurroundings {
    /// The calls on the queue's files. Their chance makes the ids of operations that bring none.
    package var system: SystemCalls
    /// The wall clock, for the times of creation.
    package var now: () -> Timestamp
    /// Returns the first `limit` bytes of a configuration file.
    package var contents: (_ file: String, _ limit: Int) throws(SystemCalls.Failure) -> [UInt8]

    package init(
        system: SystemCalls, now: @escaping () -> Timestamp,
        contents: @escaping (_ file: String, _ limit: Int) throws(SystemCalls.Failure) -> [UInt8]
    ) {
        self.system = system
        self.now = now
        self.contents = contents
    }

    /// Returns those of this process.
    static var ofProcess: WriterSurroundings {
        WriterSurroundings(
            system: .real, now: { Timestamp(Date()) },
            contents: { (file, limit) throws(SystemCalls.Failure) in try Spool.contents(of: file, upTo: limit) })
    }
}
