import CCurl
import Synchronization

/// libcurl of this machine, opened at run time.
enum Libcurl {
    /// curl_multi_poll and curl_multi_wakeup work together from here on.
    private static let leastVersion: UInt32 = 0x07_44_00

    /// Whether it shows the connection before each request on it (CURLOPT_PREREQFUNCTION).
    ///
    /// Without that a kept connection cannot be looked at and a repeated request cannot be stopped: an older library gets
    /// HTTP/1.1 and a connection for each attempt, on which it never repeats a request.
    static let showsConnections = ccurl_version_number() >= 0x07_50_00

    /// Opens it for the rest of the process, once; `nil`, or why it cannot be used.
    static let defect: String? = {
        if let defect = open() { return defect }
        if ccurl_global_init() == 0 { return nil }
        ccurl_close()
        return "libcurl cannot be initialised"
    }()

    fileprivate static func open() -> String? {
        if let reason = ccurl_open() { return "libcurl cannot be used: \(String(cString: reason))" }
        if ccurl_version_number() >= leastVersion { return nil }
        let version = String(cString: ccurl_version())
        ccurl_close()
        return "libcurl \(version) cannot be used: 7.68.0 or later is needed"
    }
}

/// Whether the second transport is there.
package enum LibcurlAvailability {
    private static let turn = Mutex(())

    /// `nil` if it is there; else why not.
    ///
    /// Opens the library and closes it again: for a process that makes no attempts itself and stays small. Not for an
    /// agent, which keeps it open.
    package static func check() -> String? {
        turn.withLock { _ in
            if let defect = Libcurl.open() { return defect }
            ccurl_close()
            return nil
        }
    }
}
