import CSystem
package import Policy

/// Quarantine: files that are no operations, and operations too dangerous to try again, each with its reason beside it.
extension SpoolDirectory {
    /// Returns the files in quarantine, in the order of their file names.
    package func quarantined() throws(SpoolError) -> [QuarantineItem] {
        var items: [QuarantineItem] = []
        for name in try names(in: QueueState.quarantine.path) {
            guard let text = String(validating: name, as: UTF8.self), !text.hasSuffix(QuarantineItem.reasonSuffix)
            else { continue }
            var item = QuarantineItem(fileName: text, name: EntryName(text, mayBeInput: true))
            // try?: the file is shown without a reason that cannot be read.
            if let reason = try? readFile(item.reasonPath, limit: QuarantineItem.reasonLimit) {
                item.readReason(reason)
            }
            items.append(item)
        }
        return items.sorted { $0.fileName < $1.fileName }
    }

    /// Input that is no operation, such as a bad line of `add`, and why.
    package struct BadInput: Sendable {
        package var bytes: [UInt8]
        package var reason: String
        /// The name of its origin in messages.
        package var source: String
        /// How the command read the bytes.
        package var reading: Reading

        package init(_ bytes: [UInt8], reason: String, source: String, reading: Reading) {
            self.bytes = bytes
            self.reason = reason
            self.source = source
            self.reading = reading
        }
    }

    /// Keeps input that is no operation, so no input of an operator is lost: row W → Q (rows: `SpoolDirectory`). After
    /// the return all inputs survive a power cut, if `durable`; they share the syncs. A crash or a thrown error may
    /// have kept only some of the inputs.
    package func keepBadInput(
        _ inputs: [BadInput], by rule: AdmissionRule, durable: Bool = true, now: Timestamp
    ) throws(SpoolError) -> [QuarantineItem] {
        let scratch = try ScratchDirectory(self, now: now)
        defer { scratch.close() }
        return try attempt("keep bad input in", QueueState.quarantine.path) { () throws(Errno) in
            let isGrouped = inputs.count >= Self.groupSize
            var temporaries: [QueuePath] = []
            for input in inputs {
                temporaries.append(scratch.nextPath())
                try createFile(temporaries.last!, input.bytes, durable: durable && !isGrouped)
            }
            if durable, isGrouped { try system.syncfs(root) }
            var items: [QuarantineItem] = []
            var generator = system.generator
            for (input, temporary) in zip(inputs, temporaries) {
                // The id and the time under which `retry` reads the input, however often.
                var reading = input.reading
                if reading.form != .export, reading.form != .replacement {
                    reading.id = reading.id ?? .random(using: &generator)
                    reading.createdAt = reading.createdAt ?? now
                }
                let item = try quarantine(
                    temporary, as: inputName(of: input.bytes, reading, rule), originalName: Array(input.source.utf8),
                    reason: input.reason, source: input.source, reading: reading, isDurable: false, now)
                items.append(item)
            }
            if durable, let parent = temporaries.first?.parent {
                try sync(QueueState.quarantine.path)
                try sync(parent)
            }
            return items
        }
    }

    /// Any row → Q. Writes the reason first, so a crash leaves at worst a reason without a file. Without `isDurable`
    /// the caller syncs both directories.
    ///
    /// The file has an operation's name if the name has room for the suffix and is free in `quarantine/`; otherwise the
    /// file gets a made-up name. Equal input gets a name a microsecond later.
    func quarantine(
        _ path: QueuePath, as name: EntryName?, originalName: [UInt8], reason: String, source: String,
        reading: Reading? = nil, isDurable: Bool = true, _ now: Timestamp
    ) throws(Errno) -> QuarantineItem {
        var name = name
        while let taken = name, taken.isInput, try exists(QueuePath("quarantine/\(taken)")) {
            name?.createdAt = taken.createdAt + .microseconds(1)
        }
        var item = QuarantineItem(
            fileName: name?.description ?? "", name: name, at: now, reason: reason,
            originalName: QueuePath.escaped(originalName), source: source, reading: reading)
        let keepsName = name != nil && item.fileName.utf8.count + QuarantineItem.reasonSuffix.utf8.count <= 255
        for keeps in [keepsName, false] {
            if !keeps {
                item.name = nil
                item.reading = item.reading ?? Reading(.foreign)
                item.fileName = "\(now.compactMicroseconds)-\(system.random())"
            }
            if try exists(item.path) { continue }
            // A reason without a file is from a crash. Errors are ignored: the file must leave its place on a full disk
            // too.
            try? system.unlink(root, item.reasonPath.bytes)
            // try?: a full disk must not keep a file from quarantine.
            try? createFile(item.reasonPath, item.reasonBytes, durable: false)
            do throws(Errno) {
                try move(path, item.path)
                guard isDurable else { return item }
                try sync(QueueState.quarantine.path)
                try sync(path.parent)
                return item
            } catch let error where error == .exists {
                continue
            } catch {
                try? system.unlink(root, item.reasonPath.bytes)
                throw error
            }
        }
        throw .exists
    }
}
