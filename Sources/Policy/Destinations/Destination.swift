/// A named place that requests go to, as a run tells one from another.
package struct Destination: Hashable, Sendable {
    /// Of the name's text: of an origin's, so that a name's `o=` and a route's url meet, or of the name that the
    /// configuration gives it.
    package var digest: Digest
    /// The origin, or the name that the configuration gives it; where only its digest is known, or where there is no
    /// url, what stands for it.
    package var name: String

    package init(digest: Digest, name: String) {
        self.digest = digest
        self.name = name
    }

    package init(named name: String) {
        self.init(digest: Digest(of: name), name: name)
    }
}
