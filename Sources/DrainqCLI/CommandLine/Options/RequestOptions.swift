/// The options that show requests in place of operations.
struct RequestOptions: Sendable {
    var isRequest = false
    var isCurl = false

    var showsRequests: Bool { isRequest || isCurl }

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .request, \.isRequest, "print the request as it would be sent now",
            """
            Prints the request that would be sent now: method and URL, the header fields, an empty line, and the \
            body byte for byte. The transport adds fields of its own, such as `Host`. Reads no secret: `[secret \
            NAME]` stands for a secret, in whatever way its place escapes it, and `[signature]` for a signature. A \
            body with secrets is printed as it is before compression. Does not run `headersCommand`.
            """)
        Option(
            .curl, \.isCurl, "print the request as a curl command",
            """
            Prints the request as commands of a POSIX shell that send it with curl(1). They take each secret from \
            a variable, and end if it is empty.
            """)
    }
}
