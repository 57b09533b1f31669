import CSystem
import Synchronization

/// The receiver's threads: one accepts connections, and each connection has one.
package final class Responder: Sendable {
    let ledger = Ledger()
    private let script: Script
    /// The answers given by each rule of the script. Its lock puts requests in the order of their numbers.
    private let uses = Mutex(Script.Uses())
    private let recordsBodies: Bool
    private let bodyLimit: Int
    private let isMute: Bool

    /// - Parameters: as `LoopbackReceiver.init`.
    package init(script: Script, recordsBodies: Bool = true, bodyLimit: Int = 256 << 20, isMute: Bool = false) {
        self.script = script
        self.recordsBodies = recordsBodies
        self.bodyLimit = bodyLimit
        self.isMute = isMute
    }

    /// Takes over the listening socket, and starts the thread that accepts connections; false if there is none.
    func start(at listener: Int32) -> Bool {
        ledger.note { $0.listener = listener }
        return beginThread { self.accept(at: listener) }
    }

    private func accept(at listener: Int32) {
        while true {
            let descriptor = CSystem.accept(listener, nil, nil)
            let number: Int? = ledger.note { entries in
                if entries.isStopping || descriptor < 0 { return nil }
                entries.connections += 1
                entries.served.insert(descriptor)
                return entries.connections
            }
            if let number {
                let isServed = beginThread { [self] in
                    let connection = Connection(descriptor: descriptor, number: number)
                    serve(connection)
                    end(descriptor)
                }
                if !isServed { end(descriptor) }
            } else {
                if descriptor >= 0 { close(descriptor) }
                if ledger.read({ $0.isStopping }) { break }
                // Descriptors have run out. They come back as connections end.
                poll(nil, 0, 10)
            }
        }
        ledger.note { entries in
            close(listener)
            entries.listener = nil
        }
    }

    private func end(_ descriptor: Int32) {
        ledger.note { entries in
            close(descriptor)
            entries.served.remove(descriptor)
        }
    }

    private func serve(_ connection: Connection) {
        if isMute {
            connection.finish()
            return connection.discard()
        }
        var reader = RequestReader(connection, recordsBodies: recordsBodies, bodyLimit: bodyLimit)
        do throws(RequestReader.Refusal) {
            while let request = try reader.next() {
                connection.isLast = request.head.closes
                let (received, play) = record(request, of: connection)
                let ending = play(connection, received)
                ledger.note { $0.countAnswer() }
                switch ending {
                case .open where !connection.isLast: continue
                case .open, .close: break
                case .stall: connection.discard()
                case .reset: return connection.prepareReset()
                }
                break
            }
            connection.finish()
        } catch {
            connection.isLast = true
            let refusal = Answer(error.status)
            _ = connection.send(refusal.head(on: connection, framing: [HeaderLine("Content-Length", "0")]))
            connection.finish()
            connection.discard()
        }
    }

    private func record(
        _ request: RequestReader.Request, of connection: Connection
    ) -> (received: ReceivedRequest, play: Script.Play) {
        uses.withLock { uses in
            let received = ledger.note { entries in
                entries.received += 1
                let received = ReceivedRequest(
                    number: entries.received, connection: connection.number, method: request.head.method,
                    target: request.head.target, headers: request.head.headers, body: request.body,
                    bodyLength: request.bodyLength, arrival: .now)
                entries.requests.append(received)
                return received
            }
            return (received, script.play(for: received, &uses))
        }
    }

    /// Ends all connections, and wakes the thread that accepts them by one of its own.
    func beginToStop() {
        let own: OwnAddress? = ledger.note { entries in
            entries.isStopping = true
            for descriptor in entries.served { shutdown(descriptor, Int32(SHUT_RDWR)) }
            return entries.listener.map(OwnAddress.init(of:))
        }
        own?.withPointer { address, length in
            let waker = socket(Int32(address.pointee.sa_family), streamSocket, 0)
            _ = connect(waker, address, length)
            close(waker)
        }
    }
}

/// The address of a listening socket.
struct OwnAddress {
    private let storage: sockaddr_storage
    private let length: socklen_t

    init(of listener: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(listener, $0, &length) }
        }
        (self.storage, self.length) = (storage, length)
    }

    /// The port; 0 of a unix socket.
    var port: UInt16 {
        if Int32(storage.ss_family) == AF_UNIX { return 0 }
        return withUnsafePointer(to: storage) { pointer in
            // sockaddr_in6 has its port at the same place.
            pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
        }
    }

    func withPointer(_ use: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { use($0, length) }
        }
    }
}
