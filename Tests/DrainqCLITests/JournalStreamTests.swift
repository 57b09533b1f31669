import Foundation
import Testing

@testable import DrainqCLI

/// When standard error is the journal's.
struct JournalStreamTests {
    private func stream(of descriptor: Int32) throws -> JournalStream {
        var status = stat()
        try #require(fstat(descriptor, &status) == 0)
        return try #require(JournalStream(environment: ["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)"]))
    }

    @Test func `a socket is recognized by its device and inode`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let stream = try stream(of: ends[0])
        #expect(stream.isBehind(ends[0]))
        #expect(!stream.isBehind(ends[1]))
        #expect(!stream.isBehind(-1))
        let copy = dup(ends[0])
        defer { close(copy) }
        #expect(stream.isBehind(copy))
    }

    @Test(arguments: ["", ":", "1", "1:", ":1", "1:2:3", "-1:2", "a:b", " 1:2", "1:2 ", "99999999999999999999:1"])
    func `a malformed JOURNAL_STREAM is no journal`(text: String) {
        #expect(JournalStream(environment: ["JOURNAL_STREAM": text]) == nil)
    }

    @Test func `a missing JOURNAL_STREAM is no journal`() {
        #expect(JournalStream(environment: [:]) == nil)
    }
}
