internal import CSystem

/// The processors that this process may use.
enum Processor {
    private typealias Call = @convention(c) (Int32, Int, UnsafeMutableRawPointer) -> Int32

    /// Keeps this process, and the threads that it starts, on one processor. The threads of a history take turns, and a
    /// turn of a thread on another processor takes longer than most calls. `index` counts the processors, and begins
    /// again behind the last. Does nothing on Darwin, which has no such call.
    static func stay(on index: Int) {
        guard let get = call("sched_getaffinity"), let set = call("sched_setaffinity") else { return }
        var mask = [UInt64](repeating: 0, count: 16)
        let size = mask.count * 8
        guard get(0, size, &mask) == 0 else { return }
        let allowed = (0..<size * 8).filter { mask[$0 / 64] >> UInt64($0 % 64) & 1 == 1 }
        guard !allowed.isEmpty else { return }
        let chosen = allowed[index % allowed.count]
        mask = [UInt64](repeating: 0, count: 16)
        mask[chosen / 64] = 1 << UInt64(chosen % 64)
        // A process that may not stay plays more slowly.
        _ = set(0, size, &mask)
    }

    private static func call(_ name: String) -> Call? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Call.self) }
    }
}
