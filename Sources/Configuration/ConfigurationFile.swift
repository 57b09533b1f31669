package import Policy

/// Reads drainq.json: returns a `Configuration` or throws the list of its errors.
package enum ConfigurationFile {
    /// Upper bound on the size of the file, in bytes. A larger file is a mistake.
    package static let maximumBytes = 1_048_576

    /// Reads the bytes of a configuration file. An empty object is valid and gives the defaults.
    ///
    /// - Parameters:
    ///   - name: the file's name in errors.
    ///   - directory: the absolute directory from which relative paths in the file start.
    package static func read(
        _ bytes: [UInt8], name: String, directory: String
    ) throws(ConfigurationErrors) -> Configuration {
        var findings = ConfigurationFindings(directory: directory)
        var configuration = Configuration()
        let start = SourcePosition(line: 1, column: 1)
        if bytes.count > maximumBytes {
            findings.add("the file is larger than \(maximumBytes) bytes", at: start)
        } else {
            do throws(JSON5SyntaxError) {
                let value = try JSON5Parser.value(of: bytes)
                if let newer = newerVersion(in: value) {
                    // The meaning of keys in a newer format is unknown, so only its version is reported.
                    readObject(newer, by: ConfigurationKeys.file, into: &configuration, &findings)
                } else {
                    readObject(value, by: ConfigurationKeys.file, into: &configuration, &findings)
                    checkReferences(in: configuration, &findings)
                }
            } catch {
                findings.add(error.reason, at: error.position, hint: error.hint)
            }
        }
        if let errors = findings.errors(in: name) { throw errors }
        return configuration
    }

    /// Returns why `url` cannot be the url of a route; `nil` if it can.
    package static func urlError(_ url: String) -> String? {
        if let problem = URLTemplateSyntax.problem(in: url) {
            return "\(quote(withoutUserInformation(url))) \(problem.reason)"
                + (problem.hint.map { hint in " (\(hint))" } ?? "")
        }
        // The file that `drainq init` writes defines no secret.
        return url.contains("${secret:") ? "\(quote(url)) names a secret, which must be defined first" : nil
    }

    /// Reports used names that are not defined. Runs last, because a name may be used before its definition.
    private static func checkReferences(in configuration: Configuration, _ findings: inout ConfigurationFindings) {
        if findings.references.isEmpty { return }
        let routes = [configuration.defaultRoute] + configuration.routes.values
        let destinations = Set(routes.compactMap(\.destination) + routes.compactMap { $0.origin?.description })
        let kept = Set(routes.flatMap(\.keep.keys))
        for reference in findings.references {
            switch reference.kind {
            case .secret where !findings.definedSecrets.contains(reference.name):
                findings.add(
                    "there is no secret \(quote(reference.name))", about: reference,
                    hint: didYouMean(reference.name, among: findings.definedSecrets.sorted())
                        ?? "define it: secrets: { \(reference.name): { file: \"/etc/drainq/\(reference.name)\" } }")
            case .destination where !destinations.contains(reference.name):
                findings.add(
                    "no route has the destination \(quote(reference.name))", about: reference,
                    hint: didYouMean(reference.name, among: destinations.sorted())
                        ?? "a destination is an origin such as https://api.example.com, or the 'destination' of a route"
                )
            case .keptValue where !kept.contains(reference.name):
                findings.add(
                    "no route keeps a value \(quote(reference.name))", about: reference,
                    hint: didYouMean(reference.name, among: kept.sorted())
                        ?? "add to the route whose answer contains it: keep: { \(reference.name): \"/id\" }")
            case .secret, .destination, .keptValue: break
            }
        }
    }

    /// Returns the object with only its version, if that is newer than this drainq; otherwise `nil`.
    private static func newerVersion(in value: JSON5Value) -> JSON5Value? {
        guard case .object(let members) = value.content,
            let version = members.first(where: { $0.name == "version" }),
            let number = version.value.integer, number > 1
        else { return nil }
        return JSON5Value(position: value.position, content: .object([version]))
    }
}
