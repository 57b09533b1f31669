struct ManualCommand: Command {
    static let name = "manual"

    /// The name of a page, or nothing.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }

    static let description = CommandDescription(
        Self.self, "print this manual, or another one",
        """
        Prints a manual page in the mdoc language of `mandoc` and `groff`: `drainq`, which is the default, \
        `drainq-apps`, `drainq-config`, `drainq-json`, `drainq-queue`, `drainq-setup` or \
        `drainq-sizing`. The program has all of them.
        """,
        operands: .optional(of: ManualPage.allCases.map(\.rawValue), placeholder: "PAGE"),
        onlyPrints: true,
        examples: [
            Example("drainq manual | man -l -", "read the manual without installing it"),
            Example("drainq manual drainq-config | man -l -", "read the manual of the configuration"),
        ])

    func perform(environment: [String: String]) -> ExitStatus {
        let page = words.first.flatMap(ManualPage.init(rawValue:)) ?? .drainq
        standardOutput.write(page.text)
        return .ok
    }
}
