import Policy

/// Returns whether a text may name a secret or a destination: the same rule as for types.
func isName(_ text: String) -> Bool { TypeName(text) != nil }

extension ConfigurationFindings {
    /// Checks a template and notes its names of secrets and kept values. Returns `false`, and adds an error, if wrong.
    @discardableResult
    mutating func check(_ text: String, as use: TemplateUse, at position: SourcePosition) -> Bool {
        do throws(RouteProblem) {
            let template = try Template(text, for: use)
            for name in template.secretNames { addReference(.secret, name, at: position) }
            for name in template.keptNames { addReference(.keptValue, name, at: position) }
            return true
        } catch {
            add(error.reason, at: position, hint: error.hint)
            return false
        }
    }
}

extension ConfigurationValue<String> {
    /// A template: a text with placeholders that each request replaces.
    static func template(_ use: TemplateUse, hint: String? = nil) -> ConfigurationValue<String> {
        ConfigurationValue("template", .text()) { value, findings in
            guard let text = value.string else {
                return findings.refuse(value, "is not text", hint: hint ?? "a template is text in quotes")
            }
            return findings.check(text, as: use, at: value.position) ? text : nil
        }
    }
}
