import CCurl
import CSystem
import Synchronization

/// This machine's libcurl, opened at run time.
enum Libcurl {
    /// The first version in which curl_multi_poll and curl_multi_wakeup work together.
    private static let leastVersion: UInt32 = 0x07_44_00

    /// Whether libcurl shows the connection before each request on it (CURLOPT_PREREQFUNCTION).
    ///
    /// Without these hooks, kept connections cannot be checked and repeated requests cannot be stopped. So an older
    /// library gets HTTP/1.1 and a new connection for each attempt, on which it never repeats a request.
    static let hasConnectionHooks = ccurl_version_number() >= 0x07_50_00

    /// Whether HTTP/2 is spoken: only if the version that a connection has negotiated is known. A status line names
    /// any.
    static let speaksHTTP2 = hasConnectionHooks && ccurl_sees_tls()

    /// Opens the library for the rest of the process, once. The reason why it cannot be used; `nil` if it can.
    static let defect: String? = {
        if let defect = open() { return defect }
        if ccurl_global_init() == 0 { return nil }
        ccurl_close()
        return "libcurl cannot be initialised"
    }()

    /// Returns the number of codings that a header line of Transfer-Encoding names; 0 for any other line.
    static func codings(in line: UnsafeRawBufferPointer) -> Int {
        Int(ccurl_codings(line.baseAddress, line.count))
    }

    fileprivate static func open() -> String? {
        if let reason = ccurl_open() { return "libcurl cannot be used: \(String(cString: reason))" }
        if ccurl_version_number() >= leastVersion {
            // libcurl reads host names outside ASCII in the locale's character set; without a locale it refuses them.
            setlocale(LC_CTYPE, "C.UTF-8")
            return nil
        }
        let version = String(cString: ccurl_version())
        ccurl_close()
        return "libcurl \(version) cannot be used: 7.68.0 or later is needed"
    }
}

/// Whether libcurl can be used on this machine.
package enum LibcurlAvailability {
    private static let lock = Mutex(())

    /// Returns why libcurl cannot be used; `nil` if it can.
    ///
    /// Opens the library and closes it again, for a process that makes no attempts and stays small. Not for an agent,
    /// which keeps the library open.
    package static func check() -> String? {
        lock.withLock { _ in
            if let defect = Libcurl.open() { return defect }
            ccurl_close()
            return nil
        }
    }
}
