import Policy

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Timestamp {
    /// The wall clock, read here and passed on: no room below asks for the time itself.
    static func now() -> Timestamp {
        // A Double holds microseconds exactly until the year 2255.
        Timestamp(microseconds: Int64(saturating: (Date().timeIntervalSince1970 * 1_000_000).rounded(.down)))
    }
}
