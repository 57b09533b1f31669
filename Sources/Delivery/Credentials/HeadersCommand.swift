import CSystem
package import Policy

/// A route's `headersCommand`: a program that makes header fields for a request, such as a signature.
///
/// drainq runs the program before each attempt, in the directory of the configuration, by its argument vector and never
/// through a shell, with the environment variables of `SecretStore.commandEnvironment`.
///
/// Standard input is one line of JSON, a newline, and then the body's bytes as they will be sent, to the end of input.
/// The line is an object with
/// - `method` and `url`;
/// - `headers`: an object with the request's fields so far. Names are in lower case; the values of fields with the same
///   name are joined by `, `;
/// - `idempotencyKey`: the same at every attempt of an operation; without the quotes of the header field;
/// - `bodyLength`: in bytes; 0 if there is no body;
/// - `bodyFile`: the absolute path, if the body is a file. Then no bytes follow the line.
///
/// The program writes at most 64 lines `Name: value` and 16 KB to standard output and exits with status 0 within ten
/// seconds. Each field replaces the request's fields of its name. The program cannot set fields of the connection
/// (`Host`, `Content-Length`, …), `Idempotency-Key` or `Drainq-Attempt`. Empty lines are skipped. Standard error is
/// ignored. If the command fails, the request is not sent, and the operation is deferred. With status 77, or after an
/// answer that cannot be used, the destination is held.
package struct HeadersCommand: Sendable {
    private let command: ExternalCommand
    private let timeout: Duration

    /// Upper bound on the fields of an answer.
    package static let fieldLimit = 64
    /// Upper bound on the length of an answer, in bytes.
    package static let answerLimit = 16_384

    /// - Parameter environment: `SecretStore.commandEnvironment`.
    package init(
        _ arguments: [String], directory: String, environment: ProgramEnvironment, timeout: Duration = .seconds(10)
    ) {
        command = ExternalCommand(arguments, directory: directory, environment: environment)
        self.timeout = timeout
    }

    /// Runs the command for a request and returns its fields, all of which can be sent.
    ///
    /// Throws `headersCommand`, whose reason quotes no output of the command but the name of a field that it must not
    /// set, or `noCredentials` if the command may succeed later.
    package func headers(for request: OutgoingRequest) throws(RequestError) -> [HeaderField] {
        let ended = command.run(
            input: try Self.input(for: request), within: timeout, outputLimit: Self.answerLimit)
        let name = escapedForDisplay(command.arguments.first ?? "")
        if let failure = ended.failure, ended.isPassing {
            throw .noCredentials(reason: "the route's headersCommand '\(name)' \(failure)", for: .zero)
        }
        do throws(Flaw) {
            if let failure = ended.failure { throw Flaw(reason: failure) }
            if ended.isCut { throw Flaw(reason: "wrote more than \(Self.answerLimit / 1024) KB") }
            return try Self.fields(in: ended.output)
        } catch {
            throw .headersCommand(reason: "'\(name)' \(error.reason)")
        }
    }

    // MARK: - The request

    private struct Description: Encodable {
        var method: String
        var url: String
        var headers: [String: String]
        var idempotencyKey: String?
        var bodyLength: Int
        var bodyFile: String?
    }

    private static func input(for request: OutgoingRequest) throws(RequestError) -> [UInt8] {
        var headers: [String: String] = [:]
        for field in request.headers {
            let name = field.name.lowercased()
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        let description = Description(
            method: request.method, url: request.url, headers: headers,
            idempotencyKey: headers["idempotency-key"].map(unquoted),
            bodyLength: request.bodyFile?.length ?? request.body?.count ?? 0, bodyFile: request.bodyFile?.path)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(description) else {
            throw .headersCommand(reason: "cannot be given the request as JSON")
        }
        return line + [UInt8(ascii: "\n")] + (request.bodyFile == nil ? request.body ?? [] : [])
    }

    /// Returns the text of a string in quotes (RFC 8941 §3.3.3).
    private static func unquoted(_ value: String) -> String {
        guard value.utf8.count >= 2, value.begins(with: "\""), value.ends(with: "\"") else { return value }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in value.utf8.dropFirst().dropLast() {
            if byte == UInt8(ascii: "\\") && !isEscaped {
                isEscaped = true
            } else {
                text.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: - The answer

    /// The defect of the command's answer, as a predicate.
    private struct Flaw: Error {
        var reason: String
    }

    private static func fields(in output: [UInt8]) throws(Flaw) -> [HeaderField] {
        guard let text = String(validating: output, as: UTF8.self) else {
            throw Flaw(reason: "wrote something other than UTF-8")
        }
        var fields: [HeaderField] = []
        for (index, line) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = line.last == 0x0D ? line.dropLast() : line
            if line.isEmpty { continue }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                throw Flaw(reason: "wrote line \(index + 1), which is no header field")
            }
            let field = HeaderField(
                name: String(decoding: line[..<colon], as: UTF8.self),
                value: line[line.index(after: colon)...].trimmedText)
            switch field.defect {
            case .reserved: throw Flaw(reason: "wrote a header '\(field.name)', which drainq writes itself")
            case .some(let defect): throw Flaw(reason: "wrote line \(index + 1), which \(defect)")
            case nil: fields.append(field)
            }
        }
        if fields.count > fieldLimit { throw Flaw(reason: "wrote more than \(fieldLimit) header fields") }
        return fields
    }
}
