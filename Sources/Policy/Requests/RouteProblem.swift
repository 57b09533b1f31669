/// A mistake in the settings of a route, found when a configuration is read.
package struct RouteProblem: Error, Hashable, Sendable {
    /// The key that must be changed; `nil` if the caller knows it.
    package var key: String?
    /// Lower case, without a period: `'{payload}' stands inside of quotes`.
    package var reason: String
    package var hint: String?
}
