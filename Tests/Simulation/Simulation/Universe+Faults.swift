internal import CSystem
internal import Drain
internal import Policy

/// What goes wrong, and when.
extension Universe {
    func prepare(_ fault: Plan.Fault) {
        func at(_ moment: Duration, _ action: @escaping () -> Void) {
            scheduler.plan(at: moment) { [unowned self] in if !isCalm { action() } }
        }
        switch fault {
        case .kill(let actor, let call), .stop(let actor, let call, _), .stall(let actor, let call, _),
            .interrupt(let actor, let call), .error(let actor, let call, _):
            faults[actor, default: .init()].byCall[call] = fault
        case .errors(let actor, _, _, _, _), .lateError(let actor, _, _, _):
            faults[actor, default: .init()].ofKinds.append(fault)
        case .cutPower(let moment): at(moment) { [unowned self] in cutPower() }
        case .cutPowerAfter(let promise, let wait): cuts[promise] = wait
        case .damage(let moment, let place): at(moment) { [unowned self] in damage(place) }
        case .spoil(let moment, let directory, let place, let zeros):
            at(moment) { [unowned self] in spoil(directory, place, zeros: zeros) }
        case .fillDisk(let moment, let free, let time):
            at(moment) { [unowned self] in disk.freeBytes = free }
            scheduler.plan(at: moment + time) { [unowned self] in disk.freeBytes = nil }
        case .refuseFile(let moment, let place, let code, let time):
            at(moment) { [unowned self] in refusedFile = name(ofWaiting: place).map { ("\($0.id)", code) } }
            scheduler.plan(at: moment + time) { [unowned self] in refusedFile = nil }
        case .standStill(let moment, let time): at(moment) { [unowned self] in standStill(time) }
        }
    }

    /// Lets the fault at a call of a process happen.
    func meet(_ process: SimulatedProcess, _ call: Call) throws(Errno) {
        guard !isCalm, let planned = process.faults else { return }
        if let refusedFile, call.name.takesName, call.path.contains(refusedFile.part) {
            try fail(process, call, refusedFile.code)
        }
        if !planned.ofKinds.isEmpty {
            process.callsOfKinds[call.name, default: 0] += 1
            let count = process.callsOfKinds[call.name]!
            for case .errors(_, of: call.name, let from, let many, let code) in planned.ofKinds
            where (from..<from + many).contains(count) {
                try fail(process, call, code)
            }
        }
        guard !planned.byCall.isEmpty, let fault = planned.byCall[process.calls] else { return }
        switch fault {
        case .kill:
            note(process.id, .killed)
            scheduler.kill(process, isCurrent: true)
        case .stop(_, _, let time):
            note(process.id, .stopped)
            process.stoppedUntil = scheduler.time + time
            process.sleep(until: scheduler.time)
            note(process.id, .woken)
        case .stall(_, _, let time):
            note(process.id, .stalled)
            process.sleep(until: scheduler.time + time)
            note(process.id, .woken)
        case .interrupt:
            note(process.id, .interrupted)
            process.signals.append(SIGTERM)
        case .error(_, _, let code): try fail(process, call, code)
        case .cutPower, .cutPowerAfter, .damage, .fillDisk, .errors, .lateError, .refuseFile, .spoil, .standStill: break
        }
    }

    /// Fails a call that has taken effect.
    func failLate(_ process: SimulatedProcess, _ call: Call) throws(Errno) {
        guard !isCalm, let faults = process.faults else { return }
        for case .lateError(_, of: call.name, let nth, let code) in faults.ofKinds
        where process.callsOfKinds[call.name] == nth {
            try fail(process, call, code)
        }
    }

    private func fail(_ process: SimulatedProcess, _ call: Call, _ code: Int32) throws(Errno) {
        note(process.id, .refusedCall(call.name.rawValue, path: call.path, code))
        throw Errno(code)
    }

    func cutPower() {
        if isCalm { return }
        note(.world, .cutPower)
        for process in scheduler.processes where process.isAlive { scheduler.kill(process, isCurrent: false) }
        disk.cutPower(using: &chance)
    }

    private func standStill(_ time: Duration) {
        let processes = scheduler.processes.filter(\.isAlive)
        for process in processes {
            note(process.id, .stopped)
            process.stoppedUntil = scheduler.time + time
        }
        scheduler.plan(at: scheduler.time + time) { [unowned self] in
            for process in processes where process.isAlive { note(process.id, .woken) }
        }
    }

    // MARK: - Files

    /// Returns the canonical files in directories, the newest first.
    private func files(in directories: String...) -> [(file: LeftFile, name: EntryName)] {
        directories.flatMap { disk.files(in: $0) }.compactMap { file in
            file.path.split(separator: "/").last.flatMap { EntryName(String($0)) }.map { (file: file, name: $0) }
        }.sorted { ($0.name.createdAt, $0.name.id) > ($1.name.createdAt, $1.name.id) }
    }

    private func name(ofWaiting place: Int) -> EntryName? {
        let files = files(in: "new", "deferred")
        return files.isEmpty ? nil : files[place % files.count].name
    }

    /// Returns the label of the operation in a file, also of a foreign file.
    func label(in file: LeftFile) -> Label? {
        let place = Place(file)
        return place.payload.flatMap { SimulatedServers.labels(in: String(decoding: $0, as: UTF8.self)).first }
    }

    private func damage(_ place: Int) {
        let files = files(in: "new", "deferred")
        if files.isEmpty { return }
        let file = files[place % files.count].file
        guard let label = label(in: file.bytes) else { return }
        disk.change(file.path, to: Array(file.bytes.prefix(file.bytes.count / 2)))
        note(.world, .damaged(label))
    }

    private func spoil(_ directory: String, _ place: Int, zeros: Bool) {
        let files = files(in: directory)
        if files.isEmpty { return }
        let file = files[place % files.count].file
        guard let label = label(in: file.bytes) else { return }
        var bytes = file.bytes
        if zeros {
            bytes = [UInt8](repeating: 0, count: bytes.count)
        } else {
            bytes[chance.below(bytes.count)] ^= 1 << chance.below(7)
        }
        disk.change(file.path, to: bytes)
        note(.world, .damaged(label))
    }
}

extension Call.Name {
    /// Whether the call takes the name of a file.
    fileprivate var takesName: Bool {
        switch self {
        case .open, .rename, .renameNoReplace, .link, .unlink: true
        case .close, .write, .read, .fsync, .syncfs, .chmod, .removeDirectory, .makeDirectory, .status, .statusAt,
            .realPath, .lock, .unlock, .list, .listPart, .freeBytes:
            false
        }
    }
}
