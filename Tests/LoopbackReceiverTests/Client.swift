import CSystem
import Dispatch
import HostileReceiver
import LoopbackReceiver

/// A client that writes bytes and reads bytes: a raw socket, so that the tests see the wire and nothing else.
final class Client {
    enum End: Equatable {
        case finished, reset, silent
    }

    private let descriptor: Int32

    init(port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        descriptor = Self.connect(AF_INET, address)
    }

    convenience init(_ receiver: LoopbackReceiver, at address: ListenAddress = .loopback) {
        switch address {
        case .loopback:
            self.init(port: receiver.port)
        case .loopbackIPv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = receiver.port.bigEndian
            address.sin6_addr = in6addr_loopback
            self.init(descriptor: Self.connect(AF_INET6, address))
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            self.init(descriptor: Self.connect(AF_UNIX, address))
        }
    }

    private init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    private static func connect<Address>(_ family: Int32, _ address: Address) -> Int32 {
        let descriptor = socket(family, streamSocket, 0)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                CSystem.connect(descriptor, raw, socklen_t(MemoryLayout<Address>.size))
            }
        }
        precondition(result == 0, "cannot connect: \(errno)")
        return descriptor
    }

    /// Returns whether the server took it.
    @discardableResult
    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                CSystem.send(descriptor, $0.baseAddress, $0.count, noSignal)
            }
            if count < 0 { return false }
            sent += count
        }
        return true
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// One read, `nil` at the end; waits at most `milliseconds`.
    private func receive(_ milliseconds: Int32) -> (bytes: [UInt8], end: End?) {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&waiting, 1, milliseconds) == 0 { return ([], .silent) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 { return (Array(buffer[..<count]), nil) }
        return ([], count == 0 ? .finished : .reset)
    }

    /// Everything until the server ends the connection, or has sent `limit` bytes, or is silent.
    func readAll(limit: Int = .max, patience: Int32 = 5000) -> (text: String, end: End) {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let (more, end) = receive(patience)
            bytes += more
            if let end { return (String(decoding: bytes, as: UTF8.self), end) }
        }
        return (String(decoding: bytes, as: UTF8.self), .silent)
    }

    /// What has come until it ends with `ending`.
    func read(until ending: String) -> String {
        var bytes: [UInt8] = []
        let sought = Array(ending.utf8)
        while !bytes.reversed().starts(with: sought.reversed()) {
            let (more, end) = receive(5000)
            if end != nil { break }
            bytes += more
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    static let lastGet = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
}

/// What a client sees that asks `request` of a receiver that always gives this answer.
func exchange(_ answer: Answer, _ request: String = Client.get) throws -> (text: String, end: Client.End) {
    try exchange(HostileAnswer(answer), request)
}

/// As for an `Answer`. The client waits `patience` milliseconds for each part.
func exchange(
    _ answer: HostileAnswer, _ request: String = Client.get, patience: Int32 = 5000
) throws -> (text: String, end: Client.End) {
    let receiver = try LoopbackReceiver(script: .always(answer))
    let client = Client(receiver)
    client.send(request)
    return client.readAll(patience: patience)
}

/// Runs what blocks where it holds up nobody: the cooperative pool has two threads.
func onThread(_ work: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "drainq.test").async(execute: work)
}
