import CSystem
import Policy

extension OutgoingRequest {
    /// The proxy that carries the request, by its settings or by the environment; `nil` for none. No other code, and
    /// not libcurl, decides it.
    var proxy: String? { connection.proxy(for: url) }
}

extension ConnectionOptions {
    /// The proxy that carries requests to a url, by these options or by the environment; `nil` for none.
    func proxy(for url: String) -> String? {
        switch proxy {
        case .direct: nil
        case .url(let proxy): proxy
        case .environment: unixSocket == nil ? EnvironmentProxy.own.proxy(for: url) : nil
        }
    }
}

/// The proxies named by the environment, read as libcurl 7.88 reads them.
struct EnvironmentProxy {
    private var variables: [String: String] = [:]
    /// The hosts without a proxy; `nil` for all of them.
    private let excluded: [String]?

    /// The proxies named by the environment of this process.
    static let own = EnvironmentProxy(OwnEnvironment.read())

    /// libcurl does not read `HTTP_PROXY`, which a server may set from a header field of a request. An empty variable
    /// counts as not set.
    init(_ environment: [String: String]) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        for name in ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"] {
            variables[name] = variable(name)
        }
        let list = variable("no_proxy") ?? variable("NO_PROXY") ?? ""
        excluded = list == "*" ? nil : list.utf8.split { ", \t".utf8.contains($0) }.map { Substring($0).lowercased() }
    }

    /// Returns the proxy for a URL; `nil` if it needs none.
    func proxy(for url: String) -> String? {
        guard !variables.isEmpty, let origin = Origin(url: url) else { return nil }
        let names = origin.scheme == .https ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard let proxy = (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap({ variables[$0] }).first, let excluded,
            !excluded.contains(where: { Self.covers($0, origin.host.lowercased()) })
        else { return nil }
        return proxy
    }

    /// Returns whether an entry of `no_proxy` covers a host: as an address, as a network (`10.0.0.0/8`), or as a domain
    /// with all its hosts.
    private static func covers(_ entry: String, _ host: String) -> Bool {
        if let address = IPAddress(host) {
            let first = entry.upTo("/")
            guard let network = IPAddress(String(first)) else { return false }
            let bits = entry[first.endIndex...].afterFirstByte
            if bits.isEmpty { return network == address }
            return Int(bits).map { network.shares(bits: $0, with: address) } ?? false
        }
        var domain = entry.utf8[...]
        if domain.first == UInt8(ascii: ".") { domain = domain.dropFirst() }
        if domain.last == UInt8(ascii: ".") { domain = domain.dropLast() }
        var name = host.utf8[...]
        if name.last == UInt8(ascii: ".") { name = name.dropLast() }
        guard !domain.isEmpty, name.count >= domain.count, name.suffix(domain.count).elementsEqual(domain) else {
            return false
        }
        return name.count == domain.count || name.dropLast(domain.count).last == UInt8(ascii: ".")
    }
}

/// The bytes of an IPv4 or IPv6 address.
private struct IPAddress: Equatable {
    private let bytes: [UInt8]

    /// Reads an address, an IPv6 address also in brackets; `nil` for every other text.
    init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        let isBracketed = text.utf8.first == UInt8(ascii: "[") && text.utf8.last == UInt8(ascii: "]")
        let inner = isBracketed ? String(text.utf8.dropFirst().dropLast()) ?? "" : text
        if inet_pton(AF_INET, inner, &four) == 1 {
            bytes = withUnsafeBytes(of: &four) { Array($0) }
        } else if inet_pton(AF_INET6, inner, &six) == 1 {
            bytes = withUnsafeBytes(of: &six) { Array($0) }
        } else {
            return nil
        }
    }

    /// Returns whether the first bits of two addresses of a kind are equal.
    func shares(bits: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count, (0...bytes.count * 8).contains(bits) else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return bytes[bit / 8] & mask == other.bytes[bit / 8] & mask
        }
    }
}
