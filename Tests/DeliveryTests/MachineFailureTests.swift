import CSystem
import Foundation
import LoopbackReceiver
import Policy
import Testing

@testable import Delivery

/// Failures of this machine, its libraries and its agents: nobody else is accused, and no attempt counts.
@Suite(.serialized) struct MachineFailureTests {
    private static let route = Route()

    /// Returns outcome, accused, and whether the attempt counts.
    private func verdict(on error: NetworkError) -> (Outcome, Accused?, Bool) {
        let verdict = Classification.verdict(on: error, route: Self.route)
        return (verdict.outcome, verdict.accused(), verdict.countsAttempt)
    }

    // MARK: - Errors of system calls

    /// The errors of socket(2) and connect(2).
    static let connecting: [(Int32, NetworkError)] = [
        (EMFILE, .machine), (ENFILE, .machine), (ENOMEM, .machine), (ENOBUFS, .machine), (EACCES, .machine),
        (EPERM, .machine), (EADDRNOTAVAIL, .machine), (EADDRINUSE, .machine),
        (EAFNOSUPPORT, .unreachable), (EPROTONOSUPPORT, .unreachable), (ENETUNREACH, .unreachable),
        (EHOSTUNREACH, .unreachable), (ENETDOWN, .unreachable), (EHOSTDOWN, .unreachable),
        (ETIMEDOUT, .connectTimeout),
        // Of a unix socket too: it is missing, no socket, or its server accepts no more.
        (ECONNREFUSED, .refused), (ECONNRESET, .refused), (ENOENT, .refused), (EAGAIN, .refused),
        (EPROTOTYPE, .refused), (ENOTSOCK, .refused), (ENAMETOOLONG, .refused),
    ]

    @Test(arguments: connecting)
    func `an error of a connection accuses this machine or the destination`(code: Int32, name: NetworkError) {
        #expect(NetworkError(CurlFailure(code: 7, systemError: code)) == name)
        let (outcome, accused, counts) = verdict(on: name)
        #expect(outcome == .deferred)
        #expect(accused == (name == .machine ? .machine : .destination))
        #expect(counts == (name != .machine))
        #expect(name.provesNotSent)
    }

    @Test(arguments: [Int32(6), 7, 28, 35, 77], connecting.map(\.0).filter(NetworkError.isOfThisMachine))
    func `a lack of this machine is no error of names, of TLS or of a proxy`(result: Int32, code: Int32) {
        for proxy in [nil, "http://proxy:1", "socks5h://proxy:1"] {
            #expect(NetworkError(CurlFailure(code: result, systemError: code, proxy: proxy)) == .machine)
        }
    }

    /// The errors of open(2), and whether the operation has to answer for them.
    static let opening: [(Int32, NetworkError)] = [
        (EMFILE, .machine), (ENFILE, .machine), (ENOMEM, .machine), (EIO, .machine), (EACCES, .machine),
        (EPERM, .machine), (ENOENT, .bodyFileChanged), (ENOTDIR, .bodyFileChanged), (ELOOP, .bodyFileChanged),
        (ENXIO, .bodyFileChanged), (ENAMETOOLONG, .bodyFileChanged),
    ]

    @Test(arguments: opening)
    func `a body file that this machine cannot open is not the operation's fault`(code: Int32, name: NetworkError) {
        let file = BodyFile(path: "/body", length: 1, modified: 0, inode: 0)
        #expect(BodyFileError(code, opening: file).name == name)
        let (outcome, accused, counts) = verdict(on: name)
        #expect(outcome == (name == .machine ? .deferred : .failed))
        #expect(accused == (name == .machine ? .machine : .operation))
        #expect(counts == (name != .machine))
    }

    @Test func `a process without a descriptor left is this machine's failure`() throws {
        let receiver = try LoopbackReceiver()
        // Three standard streams, and two for libcurl to begin with.
        let sink = AgentSink(after: "ulimit -n 5")
        defer { sink.close() }
        let result = try sink.deliver(.post(to: receiver, by: .libcurl)).result
        #expect(result.failure == .machine, "\(result)")
        #expect(result.detail == "cannot connect: Too many open files")
    }

    @Test func `a missing unix socket is named by its path`() throws {
        let path = socketPath()
        let result = try attempt(.always(.status(200)), by: .libcurl) {
            $0.connection.unixSocket = path
        }
        #expect(result.failure == .refused)
        #expect(result.detail == "cannot connect to the unix socket '\(path)': No such file or directory")
    }

    // MARK: - Requests that are too large

    @Test(arguments: ["url", "header"], Transport.allCases)
    func `a head that is too large is the operation's, and is not sent`(place: String, transport: Transport) throws {
        let long = String(repeating: "v", count: 1 << 20)
        let result = try attempt(.always(.status(200)), by: transport) {
            if place == "url" { $0.url += long } else { $0.headers.append(HeaderField(name: "X", value: long)) }
        }
        #expect(result.failure == .badURL, "\(result)")
        #expect(verdict(on: .badURL).1 == .operation)
    }

    // MARK: - Libraries and agents

    @Test(arguments: Transport.allCases)
    func `without libcurl no transport makes an attempt, and none is charged`(transport: Transport) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data().write(to: directory.appending(path: "libcurl.so.4"))
        let sink = AgentSink(after: "export LD_LIBRARY_PATH='\(directory.path)'")
        defer { sink.close() }
        // A program that is linked dynamically does not begin; `check` and the run say so.
        do throws(SinkError) {
            let defect = try sink.defect(of: transport)
            #expect(defect?.contains("libcurl") == true)
        } catch {
            #expect(error.description.hasPrefix("cannot start a delivery agent: "))
        }
    }

    @Test(arguments: ["exit 0", "exit 70", "head -c 100000 /dev/urandom >&0", "exec sleep 60", "exec cat >/dev/null"])
    func `an agent that does not begin is nobody's attempt`(lines: String) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink(program: { _ in .shell(lines) }, concurrency: 1, beginning: .milliseconds(300))
        defer { sink.close() }
        let request = OutgoingRequest.post(to: receiver, by: .urlsession)
        let error = #expect(throws: SinkError.self) { try sink.deliver(request) }
        #expect(error?.description.hasPrefix("cannot start a delivery agent: ") == true)
        #expect(receiver.receivedCount == 0)
    }
}
