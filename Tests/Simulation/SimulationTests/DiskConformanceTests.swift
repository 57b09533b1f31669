import CSystem
import Foundation
import Testing

/// `DRAINQ_TORTURE=10` makes ten times as many sequences.
@Test func `the simulated disk answers random calls like the real disk, error for error`() throws {
    let factor = ProcessInfo.processInfo.environment["DRAINQ_TORTURE"].flatMap(UInt64.init) ?? 1
    var outcomes: [String: Int] = [:]
    for seed in 1...1000 * factor {
        var conformance = try DiskConformance(seed: seed)
        defer { conformance.end() }
        for _ in 0..<80 where !conformance.step() {
            Issue.record("seed \(seed):\n\(conformance.story.joined(separator: "\n"))")
            return
        }
        outcomes.merge(conformance.outcomes, uniquingKeysWith: +)
    }
    // Otherwise the comparison has compared little.
    for (call, errors) in expected {
        for error in [0] + errors { #expect(outcomes["\(call) \(error)", default: 0] >= 3, "\(call) \(error)") }
    }
}

/// The errors of each call that occur at some time, besides 0.
private let expected: [String: [Int32]] = [
    "open": [ENOENT, ENXIO, EBADF, EEXIST, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP],
    "close": [], "write": [EBADF], "read": [EBADF, EISDIR, ESPIPE], "fsync": [EINVAL], "chmod": [], "status": [],
    "rename": [ENOENT, EBADF, EBUSY, ENOTDIR, EISDIR, EINVAL, ENAMETOOLONG, ENOTEMPTY, ELOOP],
    "renameNoReplace": [ENOENT, EBADF, EBUSY, EEXIST, ENOTDIR, EINVAL, ENAMETOOLONG, ELOOP],
    "link": [EPERM, ENOENT, EBADF, EEXIST, ENOTDIR, ENAMETOOLONG, ELOOP],
    "unlink": [ENOENT, EBADF, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP],
    "removeDirectory": [ENOENT, EBADF, ENOTDIR, EINVAL, ENAMETOOLONG, ENOTEMPTY, ELOOP],
    "makeDirectory": [ENOENT, EBADF, EEXIST, ENOTDIR, ENAMETOOLONG, ELOOP],
    "statusAt": [ENOENT, EBADF, ENOTDIR, ENAMETOOLONG, ELOOP],
    "list": [ENOENT, EBADF, ENOTDIR, ENAMETOOLONG, ELOOP],
]
