package import Policy

extension AttemptReport.Result {
    /// Returns the result with its answer's body decoded (RFC 9110 §8.4), up to `limit` bytes.
    ///
    /// The message has ended, so the answer counts by its status, whatever its coding. A body that cannot be decoded to
    /// its end is cut. A body in an unknown coding is dropped unless it is text: a compressed secret of the request
    /// would escape redaction.
    package func decoded(upTo limit: Int) -> Self {
        guard case .answer(var answer) = self, !answer.body.isEmpty else { return self }
        let codings = answer.headers.lazy.filter { $0.isNamed("Content-Encoding") }
            .flatMap { $0.value.pieces(at: ",") }.map { $0.utf8.trimmedText.lowercased() }
            .filter { !["", "identity"].contains($0) }
        guard let coding = codings.first else { return self }
        let isGzip = ["gzip", "x-gzip"].contains(coding) && codings.count == 1
        let (bytes, isWhole) = isGzip ? Gzip.decompressed(answer.body, upTo: limit) : ([], false)
        // Some servers name a character set as the coding, or a coding that they have not applied.
        if bytes.isEmpty, !isWhole, String(validating: answer.body, as: UTF8.self) != nil { return self }
        (answer.body, answer.isCut) = (bytes, answer.isCut || !isWhole)
        return .answer(answer)
    }
}
