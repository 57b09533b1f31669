/// The receiver's side of all requests: records them, and answers by the script. Used only from the receiver's thread.
final class Responder {
    private let ledger: Ledger
    private let recording: Recording
    private var script: ScriptReading
    private var number = 0
    let bodyLimit: Int

    init(ledger: Ledger, recording: Recording, script: Script, bodyLimit: Int) {
        self.ledger = ledger
        self.recording = recording
        self.script = ScriptReading(script)
        self.bodyLimit = bodyLimit
    }

    func reader() -> RequestReader {
        RequestReader(
            keepsFields: recording != .counts || script.needsRequest,
            keepsBodies: recording == .everything, bodyLimit: bodyLimit)
    }

    func answer(to request: RequestReader.Request, on connection: Int) -> AnswerBytes {
        number += 1
        let received = ReceivedRequest(
            number: number, connection: connection, method: request.head.method, target: request.head.target,
            headers: request.head.headers, body: request.body, bodyLength: request.bodyLength, arrival: .now)
        let keeps = recording != .counts
        ledger.note { entries in
            if keeps { entries.requests.append(received) }
            entries.received += 1
        }
        return script.bytes(for: received, toHead: request.head.isHEAD, closing: request.head.closes)
    }

    func noteAnswered() { ledger.note { $0.answered += 1 } }

    func noteRefused() { ledger.note { $0.refused += 1 } }

    func noteConnection() { ledger.note { $0.connections += 1 } }

    func noteStopped() { ledger.note { $0.stopped = true } }
}
