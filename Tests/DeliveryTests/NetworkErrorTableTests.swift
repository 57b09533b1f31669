import CSystem
import Policy
import Testing

@testable import Delivery

struct NetworkErrorTableTests {
    struct Row: Sendable {
        let code: Int
        let message: String
        let name: NetworkError

        init(_ code: Int, _ message: String, _ name: NetworkError) {
            (self.code, self.message, self.name) = (code, message, name)
        }
    }

    static let rows: [Row] = [
        Row(-1003, "Could not resolve host: nowhere.invalid", .dns),
        Row(-1004, "Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server", .refused),
        Row(-1004, "", .refused),
        Row(-1004, "Empty reply from server", .emptyAnswer),
        Row(-1004, "Recv failure: Connection reset by peer", .reset),
        Row(-1004, "transfer closed with 5 bytes remaining to read", .truncated),
        Row(-1004, "SSL certificate problem: self-signed certificate", .tls),
        Row(-1000, "HTTP URL must have a host", .badURL),
        Row(-1002, "Protocol \"ftp\" not supported", .badURL),
        Row(-1002, "Received HTTP/0.9 when not allowed", .malformedAnswer),
        Row(-1103, "resource exceeds maximum size", .badURL),
        Row(-1001, "", .timeout),
        Row(-1001, "Failed to connect to 10.0.0.1 port 80 after 300000 ms: Connection timed out", .connectTimeout),
        Row(-1001, "Failed to connect to 10.0.0.1 port 80 after 130000 ms: Timeout was reached", .connectTimeout),
        Row(-1001, "Resolving timed out after 5000 milliseconds", .dns),
        Row(-1001, "Operation timed out after 5000 milliseconds with 0 bytes received", .timeout),
        Row(-1005, "Recv failure: Connection reset by peer", .reset),
        Row(-1011, "Empty reply from server", .emptyAnswer),
        Row(-999, "cancelled", .cancelled),
        Row(-1009, "The Internet connection appears to be offline.", .offline),
        Row(-1200, "An SSL error has occurred", .tls),
        Row(-1, "SSL certificate problem: self-signed certificate", .tls),
        Row(-1, "SSL: no alternative certificate subject name matches target host name 'a'", .tls),
        Row(-1, "error:0A00010B:SSL routines::wrong version number", .tls),
        Row(-1, "OpenSSL SSL_connect: Connection reset by peer in connection to a:443", .reset),
        Row(-1, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a:443", .reset),
        Row(-1, "OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0", .reset),
        Row(-1, "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", .tls),
        Row(-1, "transfer closed with 5 bytes remaining to read", .truncated),
        Row(-1, "transfer closed with outstanding read data remaining", .truncated),
        Row(-1, "Received HTTP code 403 from proxy after CONNECT", .other),
        Row(-1, "CONNECT tunnel failed, response 403", .proxy),
        Row(-1, "Proxy CONNECT aborted", .proxy),
        Row(-1, "Could not resolve proxy: nowhere.invalid", .proxy),
        Row(-1, "Header without colon", .malformedAnswer),
        Row(-1, "Unsupported HTTP version in response", .malformedAnswer),
        Row(-1002, "Unsupported response code in HTTP response", .malformedAnswer),
        Row(-1, "Received HTTP/0.9 when not allowed", .malformedAnswer),
        Row(-1, "Illegal or missing hexadecimal sequence in chunked-encoding", .malformedAnswer),
        Row(-1, "Error while processing content unencoding: incorrect header check", .malformedAnswer),
        Row(-1, "Failed to connect to 10.0.0.1 port 80: Network is unreachable", .unreachable),
        Row(-1, "Failed to connect to 10.0.0.1 port 80: No route to host", .unreachable),
        Row(-1, "Send failure: Broken pipe", .reset),
        Row(-1, "words that nobody has heard", .other),
        Row(-4321, "", .other),
    ]

    @Test(arguments: rows)
    func `each code and message of URLSession has its error name`(row: Row) {
        #expect(NetworkError(urlErrorCode: row.code, message: row.message) == row.name)
    }

    @Test func `an answer that breaks off after its status is truncated`() {
        for (code, words) in [
            (-1005, "Recv failure: Connection reset by peer"), (-1, "transfer closed with 5 bytes remaining to read"),
            (-1, "SSL_read: unexpected eof while reading"), (-1, "who knows"), (-1004, "Empty reply from server"),
        ] {
            #expect(NetworkError(urlErrorCode: code, message: words, hasStatus: true) == .truncated)
        }
    }

    @Test func `the status of CONNECT does not turn a later failure into a truncated answer`() {
        for (words, name) in [
            ("CONNECT tunnel failed, response 403", NetworkError.proxy), ("SSL certificate problem: expired", .tls),
        ] {
            #expect(NetworkError(urlErrorCode: -1, message: words, hasStatus: true) == name)
        }
    }

    @Test func `a time-out after a status is still a time-out`() {
        #expect(NetworkError(urlErrorCode: -1001, message: "", hasStatus: true) == .timeout)
    }

    struct CurlRow: Sendable {
        let failure: CurlFailure
        let name: NetworkError

        init(_ failure: CurlFailure, _ name: NetworkError) { (self.failure, self.name) = (failure, name) }
    }

    static let curlRows: [CurlRow] = [
        CurlRow(CurlFailure(code: 1, errorMessage: "Protocol \"ftp\" not supported"), .badURL),
        CurlRow(
            CurlFailure(code: 1, errorMessage: "Received HTTP/0.9 when not allowed", wasConnected: true),
            .malformedAnswer),
        CurlRow(CurlFailure(code: 3), .badURL),
        CurlRow(CurlFailure(code: 5), .proxy),
        CurlRow(CurlFailure(code: 6), .dns),
        CurlRow(CurlFailure(code: 7, systemError: ECONNREFUSED), .refused),
        CurlRow(CurlFailure(code: 7, systemError: ENOENT), .refused),
        CurlRow(CurlFailure(code: 7, systemError: ENETUNREACH), .unreachable),
        CurlRow(CurlFailure(code: 7, systemError: EHOSTUNREACH), .unreachable),
        CurlRow(CurlFailure(code: 7, systemError: ETIMEDOUT), .connectTimeout),
        CurlRow(CurlFailure(code: 8), .malformedAnswer),
        CurlRow(CurlFailure(code: 16), .reset),
        CurlRow(CurlFailure(code: 16, errorMessage: "Error in the HTTP2 framing layer"), .reset),
        CurlRow(CurlFailure(code: 16, errorMessage: "nghttp2_session_mem_recv() returned -902"), .malformedAnswer),
        CurlRow(CurlFailure(code: 18), .emptyAnswer),
        CurlRow(CurlFailure(code: 18, hasStatus: true), .truncated),
        CurlRow(CurlFailure(code: 27, wasConnected: true), .malformedAnswer),
        CurlRow(CurlFailure(code: 28, errorMessage: "Connection timed out after 300 milliseconds"), .connectTimeout),
        CurlRow(CurlFailure(code: 28, errorMessage: "Resolving timed out after 300 milliseconds"), .dns),
        CurlRow(CurlFailure(code: 28, wasConnected: true), .timeout),
        CurlRow(CurlFailure(code: 35, errorMessage: "error:0A00010B:SSL routines::wrong version number"), .tls),
        CurlRow(CurlFailure(code: 35, errorMessage: "OpenSSL SSL_connect: Connection reset by peer"), .reset),
        CurlRow(CurlFailure(code: 52), .emptyAnswer),
        CurlRow(CurlFailure(code: 55, errorMessage: "Send failure: Broken pipe"), .reset),
        CurlRow(CurlFailure(code: 56, errorMessage: "Recv failure: Connection reset by peer"), .reset),
        CurlRow(
            CurlFailure(code: 56, errorMessage: "Recv failure: Connection reset by peer", hasStatus: true), .truncated),
        CurlRow(
            CurlFailure(code: 56, errorMessage: "OpenSSL SSL_read: tlsv13 alert certificate required, errno 0"), .tls),
        CurlRow(CurlFailure(code: 58), .tls),
        CurlRow(CurlFailure(code: 60), .tls),
        CurlRow(CurlFailure(code: 61, hasStatus: true), .malformedAnswer),
        CurlRow(CurlFailure(code: 67), .badURL),
        CurlRow(CurlFailure(code: 77), .tls),
        CurlRow(CurlFailure(code: 56, wasConnected: true, alert: 116), .tls),
        CurlRow(CurlFailure(code: 55, errorMessage: "SSL_write: Broken pipe", wasConnected: true, alert: 42), .tls),
        // The server's proper end is no refusal, and an answer decides whatever follows it.
        CurlRow(CurlFailure(code: 56, wasConnected: true, alert: 0), .reset),
        CurlRow(CurlFailure(code: 56, wasConnected: true, alert: 80), .reset),
        CurlRow(
            CurlFailure(code: 1, errorMessage: "Received HTTP/0.9", wasConnected: true, alert: 0), .malformedAnswer),
        CurlRow(CurlFailure(code: 56, hasStatus: true, wasConnected: true, alert: 116), .truncated),
        CurlRow(
            CurlFailure(code: 92, errorMessage: "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR"), .reset),
        CurlRow(CurlFailure(code: 92), .reset),
        CurlRow(CurlFailure(code: 92, hasStatus: true), .truncated),
        CurlRow(CurlFailure(code: 97), .proxy),
        CurlRow(CurlFailure(code: 98), .tls),
        CurlRow(CurlFailure(code: 100), .malformedAnswer),
        CurlRow(CurlFailure(code: 12345), .other),
    ]

    @Test(arguments: curlRows)
    func `each result of libcurl has its error name`(row: CurlRow) {
        #expect(NetworkError(row.failure) == row.name)
    }

    @Test func `no result of libcurl after connecting proves that the request was not sent`() {
        for code in Int32(1)...100 where ![3, 5, 6, 7, 67, 97].contains(code) {
            let name = NetworkError(CurlFailure(code: code, wasConnected: true))
            #expect(
                !name.provesNotSent,
                "code \(code) is '\(name.rawValue)', which proves that nothing was sent: except a code that ends connecting"
            )
        }
    }
}
