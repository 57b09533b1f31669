extension Operation {
    /// The body as one JSON value. Throws `notJSON` if the body is empty or not JSON.
    var payload: JSONDocument {
        get throws(RequestError) {
            if body.isEmpty { throw .notJSON(reason: "is empty, and the route needs JSON") }
            do throws(JSONSyntaxError) {
                return try JSONDocument(body)
            } catch {
                throw .notJSON(reason: "is not JSON, which the route needs: \(error)")
            }
        }
    }
}
