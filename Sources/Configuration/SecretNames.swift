import Policy

/// Whether secrets and destinations may be called so: as types are, so that a name fits everywhere.
func isName(_ text: String) -> Bool {
    TypeName(text) != nil
}

extension ConfigurationFindings {
    /// Reads a text as a template and notes the secrets that it names; false, and a finding, where it is none.
    @discardableResult
    mutating func check(_ text: String, as use: TemplateUse, at position: SourcePosition) -> Bool {
        do throws(RouteProblem) {
            let template = try Template(text, for: use)
            for name in template.secretNames { mention(.secret, name, at: position) }
            for name in template.keptNames { mention(.keptValue, name, at: position) }
            return true
        } catch {
            add(error.reason, at: position, hint: error.hint)
            return false
        }
    }
}

extension ConfigurationValue<String> {
    /// A text that requests fill in.
    static func template(_ use: TemplateUse, hint: String? = nil) -> ConfigurationValue<String> {
        ConfigurationValue("template", .text()) { value, findings in
            guard let text = value.string else {
                findings.add(
                    "\(value.quoted) is not text", at: value.position, hint: hint ?? "a template is text in quotes")
                return nil
            }
            return findings.check(text, as: use, at: value.position) ? text : nil
        }
    }
}
