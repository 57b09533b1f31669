import Policy

/// Makes the requests of one route to one destination: what the route says, the secrets it names, and the fields that its
/// command signs.
final class RequestMaker {
    let route: Route
    private let form: RequestForm
    private let settings: DestinationSettings
    private let secretNames: Set<String>
    private let version: String
    private let credentials: Credentials
    private let available: [Transport]

    init(_ route: Route, _ settings: DestinationSettings, _ world: Run.World) {
        self.route = route
        self.settings = settings
        form = RequestForm(route)
        secretNames = form.secretNames(settings: settings)
        version = world.version
        credentials = world.credentials
        available = world.transports
    }

    /// More operations for the request of this one; `nil` where it goes alone.
    func batch(beginningWith operation: Operation) -> BatchDraft? {
        BatchDraft(operation, form: form)
    }

    /// One request for these operations: one of them as it is, several as a batch. Whether there is the transport that it
    /// names the sink says.
    func request(
        for operations: [(operation: Operation, attempt: Int)]
    ) throws(RequestError) -> (request: OutgoingRequest, secrets: SecretValues) {
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
        guard let command = route.headersCommand else { return (request, secrets) }
        switch credentials.signed(command, request) {
        case .headers(let fields):
            try request.setHeaders(fromCommand: fields)
            return (request, secrets)
        case .failure(let reason): throw .headersCommand(reason: reason)
        }
    }
}
