import Foundation
import Testing

@testable import DrainqCLI

struct OutputTests {
    @Test func `text is buffered until the flush`() throws {
        let pipe = Pipe()
        let output = Output(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        output.line("one")
        output.write("two")
        output.flush()
        #expect(pipe.fileHandleForReading.availableData == Data("one\ntwo".utf8))
        #expect(output.finish() == nil)
    }

    @Test func `a closed reader is no failure if the output is then discarded`() throws {
        ignoreSignalsOfWrites()
        let pipe = Pipe()
        let output = Output(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        output.setWhenClosed(.discard)
        try pipe.fileHandleForReading.close()
        output.line("one")
        output.flush()
        output.line("two")
        #expect(output.finish() == nil)
    }

    @Test func `a full disk is a failure in the words of the system`() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let output = Output(descriptor: full.fileDescriptor)
        output.write(String(repeating: "x", count: 100_000))
        #expect(output.finish() == "No space left on device")
    }

    @Test func `run does more than print, and list only prints`() {
        #expect(!RunCommand.description.onlyPrints)
        #expect(ListCommand.description.onlyPrints)
    }
}
