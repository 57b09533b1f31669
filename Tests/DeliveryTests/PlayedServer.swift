import CSystem
import Foundation

/// A server that a test plays step by step: the server reads and sends only on the test's command.
final class PlayedServer {
    /// The input that a step waits for did not arrive.
    struct Silence: Error {}

    /// A connection to a client.
    final class Connection {
        private let descriptor: Int32
        private var received: [UInt8] = []
        private var isOpen = true

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close() }

        /// Reads a whole request and returns its body.
        func readRequest() throws -> String {
            let head = try readHead()
            let size = head.utf8.count + Self.length(head)
            while received.count < size { try readMore() }
            defer { received.removeFirst(size) }
            return String(decoding: received[head.utf8.count..<size], as: UTF8.self)
        }

        /// Reads a whole request, discards the bytes, and returns the length of the body.
        func skipRequest() throws -> Int {
            let head = try readHead()
            var left = head.utf8.count + Self.length(head) - received.count
            while left > 0 {
                received = []
                try readMore()
                left -= received.count
            }
            received = []
            return Self.length(head)
        }

        private static func length(_ head: String) -> Int {
            let length = head.firstRange(of: "content-length: ").map { head[$0.upperBound...].prefix { $0.isNumber } }
            return length.flatMap { Int($0) } ?? 0
        }

        /// Returns the head of the next request in lower case. Does not consume the bytes.
        @discardableResult
        func readHead() throws -> String {
            while true {
                let text = String(decoding: received, as: UTF8.self)
                if let end = text.range(of: "\r\n\r\n") { return text[..<end.upperBound].lowercased() }
                try readMore()
            }
        }

        private func readMore() throws {
            try awaitInput(descriptor)
            var space = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &space, space.count, 0)
            guard count > 0 else { throw Silence() }
            received += space[..<count]
        }

        /// Reads and discards input.
        func skipInput() throws {
            try readMore()
            received = []
        }

        func sendBytes(_ bytes: [UInt8]) {
            _ = write(descriptor, bytes, bytes.count)
        }

        /// Whether the client has closed the connection, or does so soon.
        func isClosedByClient() throws -> Bool {
            try awaitInput(descriptor)
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, 0) <= 0
        }

        /// Sends the text. Does not wait for the client to read.
        func send(_ text: String) {
            sendBytes(Array(text.utf8))
        }

        func close() {
            if isOpen { closeDescriptor(descriptor) }
            isOpen = false
        }
    }

    /// The TCP port, or 0.
    let port: Int
    /// The path of the unix socket; `nil` over TCP.
    let path: String?
    /// Has something to read when a client waits to be accepted.
    let descriptor: Int32

    /// A program that another test starts gets no connection: it would keep a connection open that the server closes.
    private static let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    init() throws {
        let descriptor = socket(AF_INET, Self.kind, 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else { throw Silence() }
        port = Int(in_port_t(bigEndian: address.sin_port))
        path = nil
    }

    /// Listens at a unix socket.
    init(at path: String) throws {
        let descriptor = socket(AF_UNIX, Self.kind, 0)
        self.descriptor = descriptor
        (port, self.path) = (0, path)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 16) == 0
            }
        }
        guard bound else { throw Silence() }
    }

    deinit {
        closeDescriptor(descriptor)
        if let path { try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent()) }
    }

    var url: String { path == nil ? "http://127.0.0.1:\(port)" : "http://app.test" }

    /// Takes the next connection.
    func accept() throws -> Connection {
        try awaitInput(descriptor)
        return Connection(acceptConnection(descriptor))
    }

    /// Whether nobody waits to be accepted.
    var isQuiet: Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) == 0
    }
}

/// Waits for something to read, at most a minute.
private func awaitInput(_ descriptor: Int32) throws {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, 60_000) > 0 else { throw PlayedServer.Silence() }
}

// The C functions, under names that the methods do not hide.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
private func acceptConnection(_ descriptor: Int32) -> Int32 {
    let connection = accept(descriptor, nil, nil)
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    return connection
}
