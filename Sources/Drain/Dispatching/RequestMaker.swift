import Delivery
import Policy

/// The requests of one route to one destination: made from the route, the secrets named by the route, and the fields
/// signed by its command.
final class RequestMaker {
    var route: Route { sharedRoute.value }
    let sharedRoute: Shared<Route>
    private let form: RequestForm
    private let settings: DestinationSettings
    private let secretNames: Set<String>
    /// The names of the kept values in its requests.
    let keptNames: Set<String>
    /// Whether its requests have kept values, or values of their answers are kept.
    let isInChains: Bool
    let sendsBatches: Bool
    /// The names of all credentials of its requests as one text (`RequestForm.credentials`). Two requests with the same
    /// text use the same credentials.
    let credentialNames: String
    private lazy var usualAttemptsAllowed = route.bounds(isRateLimited: false).attemptsAllowed
    private let version: String
    private let credentials: Credentials
    private let available: [Transport]
    private let now: () -> Timestamp
    private let gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8]
    /// The redaction of the last request, used again while the secrets are the same.
    private var redactions: (values: [String: String], redaction: Redaction) = ([:], .none)

    /// A request, with the secrets in it and their redaction.
    struct Made {
        var request: OutgoingRequest
        var secrets: SecretValues
        /// Redacts everything that the answer may echo.
        var redaction: Redaction
    }

    init(_ route: Route, _ settings: DestinationSettings, _ world: World) {
        sharedRoute = Shared(route)
        self.settings = settings
        form = RequestForm(route)
        secretNames = form.secretNames(settings: settings)
        keptNames = form.keptNames
        isInChains = !form.keptNames.isEmpty || !route.keep.isEmpty
        sendsBatches = route.batch != nil
        credentialNames = form.credentials(settings: settings, headersCommand: route.headersCommand)
        version = world.version
        credentials = world.credentials
        available = world.transports
        now = world.now
        gzip = world.gzip
    }

    /// Whether bodies may stay in their files, because only the transport needs them.
    var leavesBodies: Bool { form.sendsBodiesAsTheyAre && !route.mergesPayloads }

    /// Whether making a request may have to wait for credentials.
    var mayTakeLong: Bool { !secretNames.isEmpty || route.headersCommand != nil }

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

    /// Returns one request for these operations: one operation as it is, several as a batch. The sink says whether it
    /// has the request's transport.
    func request(
        for operations: [(operation: Operation, attempt: Int)]
    ) throws(RequestError) -> Made {
        let secrets = secretNames.isEmpty ? .none : credentials.values(secretNames)
        var request: OutgoingRequest
        if operations.count == 1, let (operation, attempt) = operations.first {
            request = try form.request(
                for: operation, attempt: attempt, version: version, settings: settings, secrets: secrets,
                available: available)
        } else {
            request = try form.batchRequest(
                for: operations.map(\.operation), attempt: operations.map(\.attempt).max() ?? 1, version: version,
                settings: settings, secrets: secrets, available: available)
        }
        // Compressed first: signatures cover the bytes that are sent.
        try request.compress(by: route.compress, gzip)
        var signed: [HeaderField] = []
        if let command = route.headersCommand {
            signed = try credentials.signed(command, request)
            try request.setHeaders(fromCommand: signed)
        }
        if let signing = route.awsSigning { signed += try request.sign(by: signing, with: secrets, at: now()) }
        let redaction = signed.isEmpty ? redaction(of: secrets) : Redaction(secrets, signed: signed)
        return Made(request: request, secrets: secrets, redaction: redaction)
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
        if secrets.values != redactions.values { redactions = (secrets.values, Redaction(secrets)) }
        return redactions.redaction
    }
}
