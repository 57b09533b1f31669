/// One line of `add --json` and `import --json`.
struct AddResult: Encodable {
    var id: String?
    /// Where it is now, or where the one of that id is already.
    var state: String?
    var duplicate: Bool?
    /// It has taken the place of the one of that id.
    var replaced: Bool?
    var error: String?
    var source: String?
    var line: Int?
}
