/// The features whose histories break a sentence by a defect of the code that is not mended yet, and the sentences that
/// the code does not keep yet. The default campaign leaves them out; `--open` has them.
///
/// Whoever mends a defect takes its line away.
package enum OpenDefects {
    package static let features: [Feature: [Property]] = [:]
    /// The sentences, with the defect in words.
    package static let sentences: [Property: String] = [:]

    /// Returns a line for each.
    package static var lines: [String] {
        let lines = Feature.allCases.map { feature in
            guard let broken = features[feature] else { return feature.rawValue }
            return "\(feature.rawValue): open, breaks \(broken.map(\.rawValue).joined(separator: ", "))"
        }
        return lines
            + Property.allCases.compactMap { property in
                sentences[property].map { "sentence '\(property.rawValue)': open, \($0)" }
            }
    }
}
