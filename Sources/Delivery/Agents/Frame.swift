package import Policy

/// A message between a run and a delivery agent, and its bytes.
///
/// On the wire: the payload's length (4 bytes, big-endian), then the payload: one byte for the kind, then the fields in
/// order. Numbers are 8 bytes, big-endian; strings (UTF-8) and bodies are preceded by their length. The base of a
/// request, and a header field, is a single byte if an earlier frame has said it (`FrameHistory`). An agent first sends
/// its version, because it may be of another release. Every field is checked, because the other end may send garbage.
package enum Frame: Hashable, Sendable {
    /// Run to agent, first: upper bound on the attempts in flight.
    case setup(concurrency: Int)
    /// Run to agent: make this attempt and report it once. The descriptor of a `bodyPart` goes with the first byte.
    case attempt(ticket: Int, OutgoingRequest)
    /// Run to agent: end this attempt now and report it, unless already reported.
    case cancel(ticket: Int)
    /// Agent to run, first: the agent runs and reads frames of this version.
    case ready(version: Int = Frame.version)
    /// Agent to run, after `setup`: why its transport cannot be used on this machine; `nil` if it can.
    case opened(defect: UnavailableTransport?)
    /// Agent to run: the end of an attempt.
    case report(ticket: Int, AttemptReport)

    /// The version of these frames and of what an agent writes to descriptor 1.
    package static let version = 8

    /// Upper bound on a payload, in bytes. A larger request is never given to an agent.
    package static let longestPayload = 256 << 20

    /// The whole frame as the first of its connection; `nil` if its payload would exceed `longestPayload`.
    package var bytes: [UInt8]? {
        var history = FrameHistory()
        return bytes(after: &history)
    }

    /// Returns the whole frame behind those of the history; `nil` if its payload would exceed `longestPayload`.
    package func bytes(after history: inout FrameHistory) -> [UInt8]? {
        var writer = FrameWriter()
        return writer.append(self, after: &history) ? Array(writer.bytes[..<writer.count]) : nil
    }

    /// The length that its bytes rarely exceed.
    var room: Int {
        if case .attempt(_, let request) = self { 256 + (request.body?.count ?? 0) } else { 256 }
    }

    /// Reads one payload behind the frames of the history. The payload must contain nothing more.
    package init(payload: ArraySlice<UInt8>, after history: FrameHistory = FrameHistory()) throws(FrameError) {
        var reader = FrameReader(payload, after: history)
        switch try reader.kind() {
        case 1: self = .setup(concurrency: try reader.number())
        case 2: self = .attempt(ticket: try reader.number(), try reader.request())
        case 3: self = .cancel(ticket: try reader.number())
        case 4: self = .ready(version: try reader.number())
        case 5: self = .report(ticket: try reader.number(), try reader.report())
        case 6:
            self = .opened(
                defect: try reader.isThere()
                    ? UnavailableTransport(reason: try reader.text(), isPassing: try reader.isThere()) : nil)
        case let kind: throw FrameError("a frame of unknown kind \(kind)")
        }
        try reader.finish()
    }
}

/// The error in received bytes.
package struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
