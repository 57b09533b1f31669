import Delivery
import Policy

/// The requests of one route to one destination: made from the route, the secrets named by the route, and the fields
/// signed by its command.
final class RequestMaker {
    let route: Route
    let sharedRoute: Shared<Route>
    let form: RequestForm
    private let settings: DestinationSettings
    private let secretNames: Set<String>
    /// The names of the kept values in its requests.
    let keptNames: Set<String>
    /// Whether its requests have kept values, or values of their answers are kept.
    let isInChains: Bool
    let sendsBatches: Bool
    /// Whether bodies may stay in their files, because only the transport needs them.
    let leavesBodies: Bool
    /// The names of the credentials of its requests, see `RequestForm.credentialNames`.
    let credentialNames: String
    private lazy var usualAttemptsAllowed = route.bounds(isRateLimited: false).attemptsAllowed
    private let version: String
    private let credentials: Credentials
    /// The sources of secrets, by name.
    private let sources: [String: SecretSource]
    private let available: [Transport]
    private let now: () -> Timestamp
    private let gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8]
    /// The number of failures of the route's command in a row, and the time until which operations wait after the last
    /// of them.
    private var signatureFailures = (count: 0, until: Timestamp(microseconds: 0))
    /// The redaction of the last request, used again while the secrets are the same.
    private var redactions = (secrets: SecretValues.none.$values, redaction: Redaction.none)
    /// The credentials of the last request without any of its operations' own, used again in the same way.
    private var lastCredentials: (secrets: Bytewise<[String: String]>, credentials: RequestCredentials)?
    /// The base of the last request, used again while it is the same.
    private var lastBase: RequestBase?

    /// A request, with the secrets in it and their redaction.
    final class Made {
        var request: OutgoingRequest
        let secrets: SecretValues
        let credentials: RequestCredentials
        /// Redacts everything that the answer may echo.
        fileprivate(set) var redaction = Redaction.none

        init(_ request: OutgoingRequest, _ secrets: SecretValues, _ credentials: RequestCredentials) {
            (self.request, self.secrets, self.credentials) = (request, secrets, credentials)
        }
    }

    init(
        _ route: Route, _ settings: DestinationSettings, _ sources: [String: SecretSource], _ world: World
    ) {
        self.route = route
        sharedRoute = Shared(route)
        self.settings = settings
        form = RequestForm(route, sources: sources)
        secretNames = form.secretNames(settings: settings)
        keptNames = form.keptNames
        isInChains = !form.keptNames.isEmpty || !route.keep.isEmpty
        sendsBatches = route.batch != nil
        leavesBodies = form.sendsBodiesAsTheyAre && !route.mergesPayloads
        credentialNames = form.credentialNames(settings: settings)
        self.sources = sources
        version = world.version
        credentials = world.credentials
        available = world.transports
        now = world.now
        gzip = world.gzip
    }

    // MARK: - Decisions

    // Within the maker the route is not copied for a call.

    /// Returns the settlement of an operation that must not be sent, because it has expired or could do harm when sent
    /// again; `nil` if it may be sent.
    func unsent(_ operation: Operation, _ name: EntryName, at now: Timestamp) -> Settlement? {
        Settlement.decide(onExpiryOf: operation, route: route, now: now)
            ?? Settlement.decide(onAmbiguityOf: operation, name: name, route: route, now: now)
    }

    /// Returns the verdict on a report for all operations of its request.
    func verdict(on report: SealedReport, mayHaveArrived: Bool, at now: Timestamp) -> Verdict {
        Classification.verdict(on: report, route: route, mayHaveArrived: mayHaveArrived, now: now)
    }

    /// Decides what becomes of an operation by the verdict on its answer.
    func settlement(
        of member: Member, _ answer: AttemptAnswer, as verdict: Verdict, keepsDelivered: Bool, at now: Timestamp,
        using chance: SharedGenerator
    ) -> Settlement {
        let attempt = answer.attempt
        var chance = chance
        return Settlement.decide(
            on: answer.report, verdict: verdict, of: member.operation, name: member.name, route: route,
            inBatch: attempt.isShared || attempt.members.count > 1, keepsDelivered: keepsDelivered,
            start: attempt.began, now: now, using: &chance)
    }

    /// Returns the number of attempts that an operation gets in all, see `Route`; `nil` if nothing limits them. Most
    /// answers are of one kind, whose number is counted once.
    func attemptsAllowed(after records: [AttemptRecord], _ last: AttemptRecord, counted: Int) -> Int? {
        if last.isRateLimited { return route.attemptsAllowed(after: records + [last], counted: counted) }
        return usualAttemptsAllowed.map { max(counted, $0) }
    }

    /// Returns a batch beginning with this operation; `nil` if the operation is sent alone.
    func batch(beginningWith operation: Operation) -> BatchDraft? {
        BatchDraft(operation, form: form)
    }

    /// Returns the files of the operation's own secrets, by name; `nil` if no request can be made of the operation.
    func secretFiles(of operation: Operation) -> [String: String]? {
        // try?: making the request says what is wrong.
        try? form.secretFiles(of: operation)
    }

    /// Returns the work for which requests for this operation wait: commands and endpoints of secrets. `nil` if there
    /// is none.
    func secretWork(for operation: Operation) -> (() -> Void)? {
        guard credentials.waitsBeside, credentials.mayWait(secretNames) else { return nil }
        guard let files = secretFiles(of: operation) else { return nil }
        return { [credentials, secretNames] in _ = credentials.values(secretNames, files) }
    }

    /// Returns the fields that the route's command gives, which may take long; none without a command.
    func fields(of request: OutgoingRequest) -> Result<[HeaderField], RequestError> {
        guard let command = route.headersCommand else { return .success([]) }
        return Result { () throws(RequestError) in try credentials.signed(command, request) }
    }

    /// Returns one request for these operations: one operation as it is, several as a batch. Without the fields of the
    /// route's command, and without a signature. The sink says whether it has the request's transport. `attempt` is
    /// the highest of their attempts.
    func unsigned(for operations: [Operation], attempt: Int) throws(RequestError) -> Made {
        let files = try operations.first.map { (first) throws(RequestError) in try form.secretFiles(of: first) }
        let secrets = secretNames.isEmpty ? .none : credentials.values(secretNames, files ?? [:])
        var request =
            operations.count == 1
            ? try form.request(
                for: operations[0], attempt: attempt, version: version, settings: settings, secrets: secrets,
                available: available, base: lastBase)
            : try form.batchRequest(
                for: operations, attempt: attempt, version: version, settings: settings, secrets: secrets,
                available: available, base: lastBase)
        lastBase = request.base
        // Compressed first: signatures cover the bytes that are sent.
        try request.compress(by: route.compress, gzip)
        return Made(request, secrets, credentials(of: operations, secrets))
    }

    /// Gives a request the fields that the route's command has given, and its signature.
    func finish(_ made: Made, signed fields: [HeaderField]) throws(RequestError) {
        var signed = fields
        signatureFailures.count = 0
        try made.request.setHeaders(fromCommand: fields)
        if let signing = route.awsSigning {
            signed += try made.request.sign(by: signing, with: made.secrets, at: now())
        }
        made.redaction = signed.isEmpty ? redaction(of: made.secrets) : Redaction(made.secrets, signed: signed)
    }

    /// Returns the time for which an operation waits after the route's command has failed. Failures for several
    /// operations within one wait are one failure.
    func delayOfNextSignature() -> Duration {
        let now = now()
        let left = signatureFailures.until - now
        // A wait that is longer than it was made is of a clock that was set back.
        if signatureFailures.count > 0, left > .zero,
            left <= SecretStore.delay(afterFailures: signatureFailures.count)
        {
            return left
        }
        signatureFailures.count += 1
        let delay = SecretStore.delay(afterFailures: signatureFailures.count)
        signatureFailures.until = now + delay
        return delay
    }

    private func credentials(of operations: [Operation], _ secrets: SecretValues) -> RequestCredentials {
        let mayHaveOwn =
            form.fillsInCredentials || operations.contains(where: \.mayHaveOwnCredentials)
        if !mayHaveOwn, let last = lastCredentials, last.secrets == secrets.$values { return last.credentials }
        let credentials = form.credentials(of: operations, secrets: secrets, sources: sources)
        if !mayHaveOwn { lastCredentials = (secrets.$values, credentials) }
        return credentials
    }

    /// Gives the request another transport if the sink cannot use its own, and the settings and the request permit
    /// another. Returns why the request has no usable transport; `nil` if it has one.
    func fitTransport(of request: inout OutgoingRequest, to sink: any Sink) throws(SinkError) -> String? {
        guard let defect = try sink.defect(of: request.transport) else { return nil }
        let others = available.filter { $0 != request.transport }
        do throws(RequestError) {
            request.transport = try TransportChoice.choose(for: request, settings: settings, available: others)
                .transport
        } catch {
            return defect
        }
        do throws(SinkError) {
            return try sink.defect(of: request.transport)
        } catch {
            // Both transports are out of order. An operator must mend them.
            return "\(defect); \(error)"
        }
    }

    private func redaction(of secrets: SecretValues) -> Redaction {
        if secrets.$values != redactions.secrets { redactions = (secrets.$values, Redaction(secrets)) }
        return redactions.redaction
    }
}
