package import Policy
package import Spool

/// A request that a run would send now, for one operation or for several.
package struct PlannedRequest {
    /// The operations in the request, in their order.
    package var ids: [OperationID]
    package var destination: String
    /// The request, or why none can be made.
    package var request: Result<ShownRequest, RequestError>
}

/// The requests that a run would send now, made by the code of runs with marks in place of secrets. Claims and sends
/// nothing, reads no secret, and runs no command.
package struct RequestPreview {
    private let run: Run
    private let marks: SecretMarks

    package init(spool: SpoolDirectory, configuration: Configuration, options: RunOptions, world: World) {
        var world = world
        let marks = SecretMarks(using: &world.generator)
        world.credentials = Credentials(
            values: { names, _ in marks.values(names) }, refresh: { _ in false }, signed: { _, _ in [] })
        world.gzip = { [gzip = world.gzip] body throws(RequestError) in marks.occur(in: body) ? body : try gzip(body) }
        self.marks = marks
        run = Run(spool: spool, configuration: configuration, options: options, world: world) { _ in }
    }

    /// Calls `body` with the requests that the run would send, in order; with none if the queue is paused.
    ///
    /// An answer can change what follows: a refused batch or merged document is sent again in parts.
    package func forEachRequest(_ body: (PlannedRequest) -> Void) throws(SpoolError) {
        if try run.parts.spool.isPaused { return }
        var pass = try run.plannedPass()
        _ = pass.takeMerged()
        var batched: Set<OperationID> = []
        for (index, candidate) in pass.chosen.enumerated() where !batched.contains(candidate.entry.name.id) {
            let destination = run.parts.book[candidate]
            let type = candidate.entry.name.type
            let maker = run.parts.book.maker(of: type, to: destination)
            for (first, older) in try members(of: candidate, in: pass, maker) {
                var members = [first]
                if var draft = isSentAlone(first, maker) ? nil : maker.batch(beginningWith: first.operation) {
                    for other in pass.chosen[(index + 1)...] where other.entry.name.type == type {
                        if other.destination.digest != destination.digest { continue }
                        guard !draft.isFull, let (next, _) = try self.members(of: other, in: pass, maker).first,
                            !isSentAlone(next, maker), draft.admit(next.operation)
                        else { break }
                        members.append(next)
                        batched.insert(next.name.id)
                    }
                }
                body(planned(members, older, destination, maker))
            }
        }
    }

    /// Returns the request that would send an operation alone now, whatever it waits for.
    package func request(
        of operation: Operation, _ name: EntryName, to destination: Destination
    ) throws(SpoolError) -> PlannedRequest {
        let destination = try run.parts.book.read(destination, run.parts.world.now())
        let maker = run.parts.book.maker(of: name.type, to: destination)
        let member = try filled(Member(operation: operation, name: name), maker)
        return planned([member], [], destination, maker)
    }

    private func planned(
        _ members: [Member], _ older: [OperationID], _ destination: RunDestination, _ maker: RequestMaker
    ) -> PlannedRequest {
        for member in members { _ = destination.control.takeName(of: member.operation) }
        let attempt = Attempt(members: members, destination: destination, maker: maker, began: run.parts.world.now())
        let request = Result { () throws(RequestError) in
            ShownRequest(try run.parts.sender.makeRequest(for: attempt).request, of: maker.route, marks)
        }
        return PlannedRequest(ids: older + members.map(\.name.id), destination: destination.name, request: request)
    }

    private func isSentAlone(_ member: Member, _ maker: RequestMaker) -> Bool {
        Settlement.isSentAlone(
            member.operation, name: member.name, route: maker.route, now: run.parts.world.now())
    }

    /// Reads an operation, and the operations in the same request too. Returns a member for each request, with the
    /// older operations merged into it; none if there is no such file any more.
    private func members(
        of candidate: Candidate, in pass: Pass, _ maker: RequestMaker
    ) throws(SpoolError) -> [(member: Member, older: [OperationID])] {
        guard let member = try member(candidate.entry, maker) else { return [] }
        guard let entries = pass.merged[member.name.id] else { return [(member, [])] }
        var older: [Member] = []
        for entry in entries { if let one = try self.member(entry, maker) { older.append(one) } }
        var document = MergedDocument(
            into: member.operation, by: maker, atMost: run.parts.configuration.limits.operationBytes)
        guard older.allSatisfy({ document.add($0.operation) }), let merged = document.merged() else {
            return (older + [member]).map { ($0, []) }
        }
        member.operation = merged
        return [(member, older.map(\.name.id))]
    }

    private func member(_ entry: Entry, _ maker: RequestMaker) throws(SpoolError) -> Member? {
        guard case .operation(let stored) = try run.parts.spool.read(entry) else { return nil }
        return try filled(Member(operation: stored.operation, name: entry.name), maker)
    }

    private func filled(_ member: Member, _ maker: RequestMaker) throws(SpoolError) -> Member {
        _ = try fillKeptValues(maker.keptNames, of: &member.operation, maker.route, in: run.parts.spool)
        return member
    }
}
