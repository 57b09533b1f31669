import Delivery
import Policy

/// Makes the requests of one route to one destination: what the route says, the secrets it names, and the fields that its
/// command signs.
final class RequestMaker {
    let route: Route
    private let form: RequestForm
    private let settings: DestinationSettings
    private let secretNames: Set<String>
    /// The values that its requests take from answers to earlier operations of the key.
    let keptNames: Set<String>
    /// The credentials of its requests, by name; see `RequestForm.credentials`.
    let credentialNames: String
    private let version: String
    private let credentials: Credentials
    private let available: [Transport]
    private let now: () -> Timestamp
    private let gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8]
    /// The redaction of the last request. The next one has the same secrets as a rule.
    private var redactions: (values: [String: String], redaction: Redaction) = ([:], .none)

    /// A request, and what it was made with.
    struct Made {
        var request: OutgoingRequest
        var secrets: SecretValues
        /// Redacts everything that the answer may echo.
        var redaction: Redaction
    }

    init(_ route: Route, _ settings: DestinationSettings, _ world: World) {
        self.route = route
        self.settings = settings
        form = RequestForm(route)
        secretNames = form.secretNames(settings: settings)
        keptNames = form.keptNames
        credentialNames = form.credentials(settings: settings, headersCommand: route.headersCommand)
        version = world.version
        credentials = world.credentials
        available = world.transports
        now = world.now
        gzip = world.gzip
    }

    /// Whether the bodies of operations may be left in their files: nothing but the transport needs them.
    var leavesBodies: Bool { form.sendsBodiesAsTheyAre && !route.mergesPayloads }

    /// Whether a request may have to wait for credentials.
    var mayTakeLong: Bool { !secretNames.isEmpty || route.headersCommand != nil }

    /// More operations for the request of this one; `nil` where it goes alone.
    func batch(beginningWith operation: Operation) -> BatchDraft? {
        BatchDraft(operation, form: form)
    }

    /// One request for these operations: one of them as it is, several as a batch. Whether there is the transport that it
    /// names the sink says.
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
        // Before all that is made of the bytes that go out.
        try request.compress(by: route.compress, gzip)
        var signed: [HeaderField] = []
        if let command = route.headersCommand {
            switch credentials.signed(command, request) {
            case .headers(let fields):
                try request.setHeaders(fromCommand: fields)
                signed = fields
            case .failure(let reason): throw .headersCommand(reason: reason)
            }
        }
        if let signing = route.awsSigning { signed += try request.sign(by: signing, with: secrets, at: now()) }
        let redaction = signed.isEmpty ? redaction(of: secrets) : Redaction(secrets, signed: signed)
        return Made(request: request, secrets: secrets, redaction: redaction)
    }

    /// Gives the request another transport if the sink cannot use the one it has, and the settings and the request permit
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
        return try sink.defect(of: request.transport)
    }

    private func redaction(of secrets: SecretValues) -> Redaction {
        if secrets.values != redactions.values { redactions = (secrets.values, Redaction(secrets)) }
        return redactions.redaction
    }
}
