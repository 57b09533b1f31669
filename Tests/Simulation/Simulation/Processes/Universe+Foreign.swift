internal import CSystem
internal import Policy
internal import Spool

extension Universe {
    /// Writes files elsewhere on the file system and renames them into `new/`.
    func putForeignFiles(_ offers: [Plan.PlannedOffer], _ process: SimulatedProcess) {
        let calls = calls(of: process)
        for planned in offers {
            var (offer, operation) = offer(planned, .foreign, process)
            offer.createdAt = operation.header.createdAt
            note(process.id, .offers(offer))
            let name = "\(process.id)-\(planned.label).json"
            let path = "/\(name)", target = "\(Self.queue)/new/\(name)"
            do throws(Errno) {
                let file = try calls.open(AT_FDCWD, path.rawCString, O_WRONLY | O_CREAT | O_EXCL, 0o644)
                try write(envelope(of: operation, isDated: planned.age != nil), file, calls)
                if planned.isDurable { try calls.fsync(file) }
                try calls.close(file)
                try calls.rename(AT_FDCWD, path.rawCString, AT_FDCWD, target.rawCString)
                if planned.isDurable {
                    let new = try calls.open(AT_FDCWD, "\(Self.queue)/new".rawCString, O_RDONLY | O_DIRECTORY, 0)
                    try calls.fsync(new)
                    try calls.close(new)
                }
                note(process.id, .answers(planned.label, .placed))
            } catch {
                note(process.id, .answers(planned.label, .error("\(error)")))
            }
        }
        note(process.id, .ends(status: 0))
    }

    private func envelope(of operation: Policy.Operation, isDated: Bool) -> [UInt8] {
        let header = operation.header
        var members = [#""drainq":1"#, #""type":"\#(header.type)""#]
        if header.id.description.utf8.starts(with: "own-".utf8) { members.append(#""id":"\#(header.id)""#) }
        if isDated { members.append(#""createdAt":"\#(header.createdAt.rfc3339)""#) }
        if let key = header.key { members.append(#""key":"\#(key)""#) }
        if let time = header.notBefore { members.append(#""notBefore":"\#(time.rfc3339)""#) }
        if let time = header.expiresAt { members.append(#""expiresAt":"\#(time.rfc3339)""#) }
        members.append(#""payload":\#(String(decoding: operation.body, as: UTF8.self))"#)
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    private func write(_ bytes: [UInt8], _ file: Int32, _ calls: SystemCalls) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let rest = Array(bytes[written...])
            let result: Result<Int, Errno> = rest.withUnsafeBytes { buffer in
                do throws(Errno) { return .success(try calls.write(file, buffer)) } catch { return .failure(error) }
            }
            written += try result.get()
        }
    }
}
