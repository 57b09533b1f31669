/// What a 2xx answer must look like to be a delivery: a captive portal's page and `{"success": false}` are none.
package struct AcceptRule: Hashable, Sendable {
    /// The media type without its parameters, compared without case; `application/*` is any of a kind.
    package var contentType: String?
    /// All of them must hold; an answer that is not JSON meets none.
    package var json: [JSONCondition]
    /// What an answer is that does not agree: `deferred` unless the configuration says otherwise.
    package var otherwise: Outcome

    package init(contentType: String? = nil, json: [JSONCondition] = [], otherwise: Outcome = .deferred) {
        self.contentType = contentType
        self.json = json
        self.otherwise = otherwise
    }
}
