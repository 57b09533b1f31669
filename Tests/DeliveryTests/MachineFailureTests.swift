import CSystem
import Foundation
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// Failures of this machine, its libraries and its agents: only the machine is accused, and no attempt counts.
@Suite(.waiting) struct MachineFailureTests {
    private static let route = Route()

    /// Returns outcome, accused, and whether the attempt counts.
    private func verdict(on error: NetworkError) -> (Outcome, Accused?, Bool) {
        let verdict = Classification.verdict(on: error, route: Self.route)
        return (verdict.outcome, verdict.accused(), verdict.countsAttempt)
    }

    // MARK: - Errors of system calls

    /// The errors of socket(2) and connect(2).
    static let connecting: [(Int32, NetworkError)] = [
        (EMFILE, .shortage), (ENFILE, .shortage), (ENOMEM, .shortage), (ENOBUFS, .shortage), (EACCES, .machine),
        (EPERM, .machine), (EADDRNOTAVAIL, .shortage), (EADDRINUSE, .shortage),
        (EAFNOSUPPORT, .unreachable), (EPROTONOSUPPORT, .unreachable), (ENETUNREACH, .unreachable),
        (EHOSTUNREACH, .unreachable), (ENETDOWN, .unreachable), (EHOSTDOWN, .unreachable),
        (ETIMEDOUT, .connectTimeout),
        // Errors of a unix socket too: missing, not a socket, or a full queue of the server.
        (ECONNREFUSED, .refused), (ECONNRESET, .refused), (ENOENT, .refused), (EAGAIN, .refused),
        (EPROTOTYPE, .refused), (ENOTSOCK, .refused), (ENAMETOOLONG, .refused),
    ]

    /// Over URLSession the error arrives as a text of FoundationCurl.c: libcurl's code, both errors, and the message.
    @Test(arguments: connecting)
    func `an error of a connection accuses this machine or the destination, over both transports`(
        code: Int32, name: NetworkError
    ) {
        let request = OutgoingRequest(method: "POST", url: "http://127.0.0.1:1/")
        let message = "Couldn't connect to server"
        for (ofConnection, ofSocket) in [(code, Int32(0)), (0, code)] {
            let described = "7 \(ofConnection) \(ofSocket) 0 0 -1: \(message)"
            let result = FoundationOutcome.result(ofError: described, answer: nil, request: request)
            let failure = CurlFailure(
                code: 7, errorMessage: message,
                systemError: CurlFailure.systemError(ofConnection, ofSocket: ofSocket, wasConnected: false))
            #expect(NetworkError(failure) == name)
            #expect(result?.failure == name)
            #expect(result?.detail == failure.words(general: ""))
        }
        let isOwn = name.accused == .machine
        let (outcome, accused, counts) = verdict(on: name)
        #expect(outcome == .deferred)
        #expect(accused == (isOwn ? .machine : .destination))
        #expect(counts == !isOwn)
        #expect(name.provesNotSent)
    }

    /// With a proxy, every connection error accuses the proxy, except errors of this machine.
    @Test(arguments: connecting)
    func `an error of the connection to a proxy accuses this machine or the network`(code: Int32, name: NetworkError) {
        for proxy in ["http://proxy:1", "socks5h://proxy:1"] {
            let found = NetworkError(CurlFailure(code: 7, systemError: code, proxy: proxy))
            #expect(found == (name.accused == .machine ? name : .proxy))
            #expect(verdict(on: found).1 == (name.accused == .machine ? .machine : .network))
            #expect(!verdict(on: found).2)
        }
    }

    @Test(arguments: [Int32(6), 7, 28, 35, 77], connecting.filter { $0.1.accused == .machine })
    func `a failure of the machine is not reported as an error of DNS, TLS or a proxy`(
        result: Int32, lack: (code: Int32, name: NetworkError)
    ) {
        for proxy in [nil, "http://proxy:1", "socks5h://proxy:1"] {
            #expect(NetworkError(CurlFailure(code: result, systemError: lack.code, proxy: proxy)) == lack.name)
        }
    }

    /// The errors of open(2), and whether each error accuses the operation.
    static let opening: [(Int32, NetworkError)] = [
        (EMFILE, .shortage), (ENFILE, .shortage), (ENOMEM, .shortage), (EIO, .machine), (ESTALE, .machine),
        (EACCES, .bodyFileChanged), (EPERM, .bodyFileChanged), (ENOENT, .bodyFileChanged),
        (ENOTDIR, .bodyFileChanged), (ELOOP, .bodyFileChanged), (ENXIO, .bodyFileChanged),
        (ENAMETOOLONG, .bodyFileChanged),
    ]

    @Test(arguments: opening)
    func `an error of open(2) on a body file accuses the machine or the operation`(code: Int32, name: NetworkError) {
        let file = BodyFile(path: "/body", length: 1, modified: 0, inode: 0)
        #expect(BodyFileError(code, opening: file).name == name)
        let (outcome, accused, counts) = verdict(on: name)
        let isOwn = name.accused == .machine
        #expect(outcome == (isOwn ? .deferred : .failed))
        #expect(accused == (isOwn ? .machine : .operation))
        #expect(counts == !isOwn)
    }

    @Test func `a process without free descriptors is a shortage of the machine`() throws {
        let receiver = try LoopbackReceiver()
        // Three standard streams, and two for libcurl to begin with.
        let sink = AgentSink(after: "ulimit -n 5")
        defer { sink.close() }
        let result = try sink.deliver(.post(to: receiver, by: .libcurl)).result
        #expect(result.failure == .shortage, "\(result)")
        #expect(result.detail == "cannot connect: Too many open files")
    }

    @Test func `the error for a missing unix socket names its path`() throws {
        let path = socketPath()
        let result = try attempt(.always(.status(200)), by: .libcurl) {
            $0.connection.unixSocket = path
        }
        #expect(result.failure == .refused)
        #expect(result.detail == "cannot connect to the unix socket '\(path)': No such file or directory")
    }

    // MARK: - Requests that are too large

    @Test(arguments: ["url", "header"], Transport.allCases)
    func `a request head that is too large is a bad URL and accuses the operation`(place: String, transport: Transport)
        throws
    {
        let long = String(repeating: "v", count: 1 << 20)
        let result = try attempt(.always(.status(200)), by: transport) {
            if place == "url" { $0.url += long } else { $0.headers.append(HeaderField(name: "X", value: long)) }
        }
        #expect(result.failure == .badURL, "\(result)")
        #expect(verdict(on: .badURL).1 == .operation)
    }

    // MARK: - Libraries and agents

    @Test(arguments: Transport.allCases)
    func `every transport reports a missing libcurl`(transport: Transport) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data().write(to: directory.appending(path: "libcurl.so.4"))
        let sink = AgentSink(after: "export LD_LIBRARY_PATH='\(directory.path)'")
        defer { sink.close() }
        // A dynamically linked agent does not start; `check` and the run say so.
        do throws(SinkError) {
            let defect = try sink.defect(of: transport)
            #expect(defect?.contains("libcurl") == true)
        } catch {
            #expect(error.description.hasPrefix("cannot start a delivery agent: "))
        }
    }

    @Test(arguments: ["-n", "-v"], Transport.allCases)
    func `a library that cannot be loaded for lack of memory or descriptors is not reported as missing`(
        limit: String, transport: Transport
    ) throws {
        // Kilobytes of address space, from too few to begin to enough for everything; and descriptors.
        let sizes = limit == "-n" ? Array(1...9) : Array(stride(from: 20_000, through: 400_000, by: 38_000))
        for size in sizes {
            let sink = AgentSink(after: "ulimit \(limit) \(size)")
            defer { sink.close() }
            do throws(SinkError) {
                #expect(try sink.defect(of: transport) == nil, "\(limit) \(size)")
            } catch {
                #expect(error.description.hasPrefix("cannot start a delivery agent: "), "\(limit) \(size)")
            }
        }
    }

    /// Kilobytes of memory, from too few to begin to enough for everything.
    @Test(arguments: [8_000, 16_000, 24_000, 32_000, 64_000], Transport.allCases)
    func `an agent short of memory ends, and no attempt waits for its total time`(size: Int, transport: Transport)
        throws
    {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink(after: "ulimit -d \(size)")
        defer { sink.close() }
        do throws(SinkError) {
            if let defect = try sink.defect(of: transport) { return #expect(defect.contains("libcurl"), "\(defect)") }
            try sink.submit(.post(to: receiver, by: transport), ticket: 1)
            let result = try sink.reports(until: .now + .seconds(60)).first?.report.result
            let isEnd = result?.answer?.status == 204 || [.shortage, .agentDied].contains(result?.failure)
            #expect(isEnd, "\(result as Any)")
        } catch {
            #expect(error.description.hasPrefix("cannot start a delivery agent: "), "\(error)")
        }
    }

    @Test func `a passing lack of an agent is an error of the sink, and a lasting lack is a defect`() throws {
        let defects = [("has no room", true), ("is missing", false)].map(UnavailableTransport.init)
        for defect in defects {
            let frames = [Frame.ready(), .opened(defect: defect)].flatMap { $0.bytes ?? [] }
            let octal = frames.map { "\\0" + String($0, radix: 8) }.joined()
            let sink = AgentSink(
                program: { _ in .shell("printf '%b' '\(octal)' >&0; cat >/dev/null") }, concurrency: 1,
                beginning: .seconds(300))
            defer { sink.close() }
            if defect.isPassing {
                let error = #expect(throws: SinkError.self) { try sink.defect(of: .libcurl) }
                #expect(error?.description == "cannot start a delivery agent: /bin/bash cannot be used: has no room")
            } else {
                #expect(try sink.defect(of: .libcurl) == "is missing")
            }
        }
    }

    @Test(arguments: ["exit 0", "exit 70", "head -c 100000 /dev/urandom >&0", "exec sleep 60", "exec cat >/dev/null"])
    func `an agent that does not start is an error of the sink, and no request is sent`(lines: String) throws {
        let receiver = try LoopbackReceiver()
        for transport in Transport.allCases {
            let sink = AgentSink(program: { _ in .shell(lines) }, concurrency: 1, beginning: .milliseconds(300))
            defer { sink.close() }
            // The error of `check`, and the error of a run.
            let checked = #expect(throws: SinkError.self) { try sink.defect(of: transport) }
            let request = OutgoingRequest.post(to: receiver, by: transport)
            let delivered = #expect(throws: SinkError.self) { try sink.deliver(request) }
            for error in [checked, delivered] {
                #expect(error?.description.hasPrefix("cannot start a delivery agent: ") == true)
            }
        }
        #expect(receiver.receivedCount == 0)
    }
}
