/// The common part of a route's requests, computed once. Each operation fills in the form.
package final class RequestForm: Sendable {
    package let route: Route
    /// The route's own url; `nil` without a usable url.
    private let url: URLTemplate?
    /// The reason why the route's own url cannot be used.
    private let urlDefect: RequestError?
    /// The reason why the route's own method cannot be used.
    private let methodDefect: RequestError?
    /// The route's header fields, with that of Basic authentication.
    let fields: [Field]
    /// The body's template within what its protocol puts around it; `nil` sends the body as given.
    let body: Template?
    /// The template around the members of a batch; `nil` uses the format's template.
    let batchBody: Template?
    /// The templates of requests, but for the url.
    private let templates: [Template]
    private let key: Template?
    private let idempotencyKey: Template?
    /// The paths of the secrets' files that differ from operation to operation, by name.
    let secretPaths: [String: Template]
    /// The names of the values that requests take from answers to earlier operations of the key.
    package let keptNames: Set<String>
    /// The reason why one of the route's own templates or fields cannot be used.
    private let defect: RequestError?

    struct Field: Hashable {
        var name: String
        var value: Template
    }

    /// - Parameter sources: the sources of secrets, by name. Without them no secret has a file for each operation.
    package init(_ route: Route, sources: [String: SecretSource] = [:]) {
        self.route = route
        do throws(RequestError) {
            url = try route.url.map { text throws(RequestError) in try URLTemplate(text) }
            urlDefect = nil
        } catch {
            url = nil
            urlDefect = error
        }
        methodDefect = Self.defect(ofMethod: route.method, ownedBy: .route)
        var defect = Self.defect(of: route.headers, ownedBy: .route)
        func template(_ text: String?, _ use: TemplateUse, _ key: String) -> Template? {
            do throws(RequestError) {
                return try text.map { text throws(RequestError) in try Template(text, for: use, of: key) }
            } catch {
                defect = defect ?? error
                return nil
            }
        }
        var fields = route.headers.compactMap { header in
            template(header.value, .header, "headers.\(header.name)").map { Field(name: header.name, value: $0) }
        }
        body = template(route.bodyInItsProtocol, .body(route.bodySyntax), "body")
        batchBody = template(route.batch?.body, .batch, "batch.body")
        key = template(route.key, .key, "key")
        idempotencyKey = template(route.idempotencyKey, .idempotencyKey, "idempotencyKey")
        do throws(RequestError) {
            if let user = route.basicUser {
                let value = try Template(basicUser: user, password: route.basicPassword ?? "")
                fields.append(Field(name: "Authorization", value: value))
            }
        } catch {
            defect = defect ?? error
        }
        self.fields = fields
        self.defect = defect
        templates = fields.map(\.value) + [body, batchBody].compactMap(\.self)
        keptNames = Set(templates.flatMap(\.keptNames)).union(url?.keptNames ?? [])
        let secrets =
            templates.flatMap(\.secretNames) + (url?.secretNames ?? []) + (route.awsSigning?.secretNames ?? [])
        var paths: [String: Template] = [:]
        for name in Set(secrets) {
            if case .operationFile(let path)? = sources[name] { paths[name] = try? Template(path, for: .file) }
        }
        secretPaths = paths
    }

    /// Whether only the transport needs an operation's body: it is sent as in its file, and may be left there.
    package var sendsBodiesAsTheyAre: Bool {
        route.batch == nil && body == nil && route.require.isEmpty && route.compress == .none
            && route.headersCommand == nil && route.awsSigning == nil
            && !templates.contains(where: \.usesPayload) && url?.usesPayload != true
            && !secretPaths.values.contains(where: \.usesPayload)
    }

    /// Returns the templates of a request with these of the route's fields, but for the url.
    private func templates(sending fields: [Field]) -> [Template] {
        fields.map(\.value) + [body, batchBody].compactMap(\.self)
    }

    /// Returns the names of the secrets that attempts on this route need.
    package func secretNames(settings: DestinationSettings) -> Set<String> {
        Set(templates.flatMap(\.secretNames))
            .union(url?.secretNames ?? []).union(settings.connection.secretNames)
            .union(route.awsSigning?.secretNames ?? [])
    }

    /// The words of the user's values without which an operation fails unsent.
    var neededWords: [TemplateWord] {
        let chain = route.chain.flatMap { try? Template($0, for: .idempotencyKey) }
        let texts =
            (url?.neededWords ?? [])
            + (templates + [key, idempotencyKey, chain].compactMap(\.self) + secretPaths.values)
            .flatMap(\.neededWords)
        return texts.filter { word in
            if case .kept = word { return true }
            return word.mayBeMissing && !(word == .key && key != nil)
        }
    }

    /// Throws if the operation's chain cannot be made, or if its request needs kept values and it has no chain.
    private func checkChain(of operation: Operation) throws(RequestError) {
        if operation.header.key != nil, route.chain == nil { return }
        if keptNames.isEmpty, route.keep.isEmpty { return }
        if try route.chain(of: operation) == nil, let name = keptNames.min() {
            throw .unusableValue(
                placeholder: TemplateWord.kept(name).text,
                reason: "is remembered by key, and the operation has no key")
        }
    }

    // MARK: - Drafts

    /// Returns a request as its operation determines it, at any attempt. On a route with `batch`, a batch of one.
    func draft(of operation: Operation) throws(RequestError) -> RequestDraft {
        try draft(TemplateValues(operation))
    }

    /// Returns a request without what the attempt's transport and destination add.
    func draft(_ values: TemplateValues) throws(RequestError) -> RequestDraft {
        guard let operation = values.operation else { preconditionFailure("a draft of an operation") }
        var draft = try head(values)
        draft.content = try content(of: operation, method: draft.method, values)
        if draft.method == "HEAD", !draft.content.isEmpty { throw .bodyOfHead }
        if let file = draft.content.file, let reason = route.awsSigning?.refusalOfFile(goingTo: draft.url) {
            throw .badBodyFile(path: file.path, reason: reason)
        }
        return draft
    }

    /// Returns a draft without its content.
    func head(_ values: TemplateValues) throws(RequestError) -> RequestDraft {
        guard let operation = values.operation else { preconditionFailure("a draft of an operation") }
        let method = try method(for: operation.header)
        let routeFields = try fields(besides: operation.header)
        try checkChain(of: operation)
        let url = try address(values)
        if let defect { throw defect }
        try checkRequirements(of: operation)
        var headers: [HeaderField] = []
        for field in routeFields {
            if let value = try field.value.fieldValue(values) {
                headers.append(HeaderField(name: field.name, value: value))
            }
        }
        return RequestDraft(
            method: method, url: url, headers: headers + operation.header.headers,
            secretFiles: try secretFiles(of: operation))
    }

    /// Whether the request of an operation would have the same address, header fields, secrets and kept values with
    /// another operation's payload: the templates of all of them may take values from it.
    package func sendsAlike(_ operation: Operation, withBodyOf other: Operation) -> Bool {
        guard route.chainOrNone(of: operation).hasBytes(of: route.chainOrNone(of: other)) else { return false }
        var twin = operation
        twin.body = other.body
        // try?: an operation of which no request can be made goes alone, and making its request says why.
        return (try? head(TemplateValues(twin))) == (try? head(TemplateValues(operation)))
    }

    /// Returns the files of the operation's secrets, by name; empty if its secrets are those of all operations.
    package func secretFiles(of operation: Operation) throws(RequestError) -> [String: String] {
        var files: [String: String] = [:]
        for (name, path) in secretPaths { files[name] = try path.text(of: operation) }
        return files
    }

    /// Returns the route's fields of a request. Throws if the operation's own fields cannot be used, whatever its body.
    private func fields(besides header: OperationHeader) throws(RequestError) -> [Field] {
        try checkOverrides(by: header)
        if let defect = Self.defect(of: header.headers, ownedBy: .operation) { throw defect }
        var own = Set(header.headers.map { $0.name.lowercased() })
        // The route's Content-Type is for JSON payloads and templates. A body sent unchanged keeps its own.
        if let type = header.contentType, type != "application/json", body == nil, route.batch == nil {
            own.insert("content-type")
        }
        let routeFields = own.isEmpty ? fields : fields.filter { !own.contains($0.name.lowercased()) }
        try checkCredentials(routeFields, goingTo: header.url)
        return routeFields
    }

    /// Returns why no operation with these fields of its own can be sent, whatever its body.
    package func defect(ofFields header: OperationHeader) -> RequestError? {
        do throws(RequestError) {
            _ = (try method(for: header), try fields(besides: header))
            return nil
        } catch {
            return error.outcome == .failed ? error : nil
        }
    }

    /// Returns why the operation can never be sent, whatever the secrets: such an operation is refused when it is
    /// added. `nil` if the operation can be sent, or if the route must be fixed.
    package func defect(of operation: Operation) -> RequestError? {
        do throws(RequestError) {
            _ = (try draft(of: operation), try idempotencyKey(of: operation).quotedKey, try key(of: operation))
            return nil
        } catch {
            return error.outcome == .failed ? error : nil
        }
    }

    // MARK: - Keys

    /// Returns an operation's key, or else the route's for it; `nil` if the route gives none, or an empty one.
    package func key(of operation: Operation) throws(RequestError) -> String? {
        guard operation.header.key == nil, let key else { return operation.header.key }
        let text = try key.text(of: operation)
        return text.isEmpty ? nil : text
    }

    /// Returns the idempotency key of an operation, the same at each of its attempts.
    func idempotencyKey(of operation: Operation) throws(RequestError) -> String {
        if let own = operation.header.idempotencyKey { return own }
        guard let idempotencyKey else { return operation.header.id.description }
        return try idempotencyKey.text(of: operation)
    }

    // MARK: - Address

    /// Returns the url of an operation: its own, percent-encoded, or the route's with its placeholders filled in. The
    /// url may be shown if `values` have no secrets.
    func address(_ values: TemplateValues) throws(RequestError) -> String {
        guard let operation = values.operation else { preconditionFailure("the address of an operation") }
        if let own = operation.header.url {
            guard let parts = URLParts(own) else { throw .badURL(own, ownedBy: .operation) }
            return try parts.encoded(as: own, ownedBy: .operation)
        }
        if let urlDefect { throw urlDefect }
        guard let url else { throw .noURL(operation.header.type) }
        return try url.expanded(values)
    }

    // MARK: - Checks

    private func method(for header: OperationHeader) throws(RequestError) -> String {
        let defect = header.method.map { Self.defect(ofMethod: $0, ownedBy: .operation) } ?? methodDefect
        if let defect { throw defect }
        return header.method ?? route.method
    }

    private static func defect(ofMethod method: String, ownedBy owner: RequestError.Owner) -> RequestError? {
        // CONNECT and TRACE are for proxies, and take no ordinary URLs.
        let isUsable =
            method.isToken && method.utf8.count <= 32 && !["CONNECT", "TRACE"].contains(method.uppercased())
        return isUsable ? nil : .badMethod(method, ownedBy: owner)
    }

    private static func defect(of fields: [HeaderField], ownedBy owner: RequestError.Owner) -> RequestError? {
        for field in fields {
            if let defect = field.defect { return .badHeader(name: field.name, reason: defect, ownedBy: owner) }
        }
        return nil
    }

    private func checkOverrides(by header: OperationHeader) throws(RequestError) {
        func check(_ field: OverridableField) throws(RequestError) {
            if !route.overrides.contains(field) { throw .notOverridable(field) }
        }
        if header.method != nil { try check(.method) }
        if header.url != nil { try check(.url) }
        if !header.headers.isEmpty { try check(.headers) }
    }

    /// Throws if the route's credentials or kept values would go to another origin, where anyone who adds operations
    /// could collect them, wherever in the request they stand. `fields` are the sent fields. A route without a url has
    /// no origin to which they belong.
    private func checkCredentials(_ fields: [Field], goingTo own: String?) throws(RequestError) {
        guard let own, let origin = Origin(url: own), origin != route.origin else { return }
        if route.headersCommand != nil || route.awsSigning != nil
            || fields.contains(where: { isNamedAsCredential($0.name) })
            || templates(sending: fields).contains(where: { !$0.secretNames.isEmpty || !$0.keptNames.isEmpty })
        {
            throw .credentialsElsewhere(origin: origin.description)
        }
    }

    private func checkRequirements(of operation: Operation) throws(RequestError) {
        if route.require.isEmpty { return }
        if let file = operation.header.bodyFile {
            throw .badBodyFile(path: file.path, reason: "is not looked into, and the route has requirements")
        }
        let payload = try operation.payload
        for condition in route.require where !condition.holds(in: payload) { throw .requirementNotMet(condition) }
    }
}
