import CSystem
import Policy

extension OutgoingRequest {
    /// Returns whether libcurl's error message is about a proxy that the environment names: the message names another
    /// host or port than the request's.
    package func hasFailedAtProxy(_ errorMessage: String) -> Bool {
        guard Self.environmentHasProxy, let origin = Origin(url: url),
            let match = errorMessage.firstMatch(of: /Failed to connect to (\S+) port (\d+)/)
        else { return false }
        let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
        return errorMessage.contains(" via ") || match.1.lowercased() != host || match.2 != "\(origin.port)"
    }

    package static let environmentHasProxy = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        .contains { (name: String) in getenv(name) != nil }
}
