import Policy

/// Makes requests of operations: what the route says, the secrets it names, and the fields that its command signs.
struct RequestMaker {
    let route: Route
    let settings: DestinationSettings
    let version: String
    let credentials: Credentials

    /// One request for these operations: one of them as it is, several as a batch. Whether there is the transport that it
    /// names the sink says.
    func request(
        for operations: [(operation: Operation, attempt: Int)]
    ) throws(RequestError) -> (request: OutgoingRequest, secrets: SecretValues) {
        let names = route.secretNames(settings: settings)
        let secrets = names.isEmpty ? .none : credentials.values(names)
        var request: OutgoingRequest
        if operations.count == 1, let (operation, attempt) = operations.first {
            request = try route.request(
                for: operation, attempt: attempt, version: version, settings: settings, secrets: secrets,
                hasLibcurl: true)
        } else {
            request = try route.batchRequest(
                for: operations.map(\.operation), attempt: operations.map(\.attempt).max() ?? 1, version: version,
                settings: settings, secrets: secrets, hasLibcurl: true)
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
