/// An envelope around payloads: `{"event": {payload}, "sent": "{createdAt}"}`.
///
/// `{payload}` is replaced by the payload byte for byte; `{payload.name}`, `{id}`, `{type}`, `{key}` and `{createdAt}` by
/// texts escaped as the inside of a JSON string. Every other brace stands for itself.
package struct BodyTemplate: Hashable, Sendable {
    package let text: String

    package init(text: String) {
        self.text = text
    }
}
