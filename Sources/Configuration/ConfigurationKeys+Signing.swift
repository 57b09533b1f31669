import Policy

extension ConfigurationKeys {
    /// The keys of an object of `sign.aws`.
    static let awsSigning: [ConfigurationKey<AWSSigning>] = [
        ConfigurationKey(
            "service", .scopeWord, example: #""sqs""#, "sqs, sns, s3, events …",
            "The name of the service in AWS signatures: sqs, sns, s3, events, kinesis, lambda.",
            isRequired: true, set: { $0.service = $1 }),
        ConfigurationKey(
            "region", .scopeWord, example: #""eu-central-1""#, "the service's region",
            "The service's region.",
            isRequired: true, set: { $0.region = $1 }),
        ConfigurationKey(
            "accessKey", .keyTemplate, example: #""AKIDEXAMPLE""#, "the access key's id",
            "The access key's id, literal or ${secret:NAME}.",
            isRequired: true, set: { $0.accessKey = $1 }),
        ConfigurationKey(
            "secretKey", .keyTemplate, example: #""${secret:api}""#, "the secret access key",
            "The secret access key, usually ${secret:NAME}.",
            isRequired: true, set: { $0.secretKey = $1 }),
        ConfigurationKey(
            "sessionToken", optional: .keyTemplate, example: #""${secret:token}""#,
            "the session token of temporary keys",
            "The session token that belongs to temporary keys, usually ${secret:NAME}.",
            into: \.sessionToken),
    ]
}

extension ConfigurationValue<AWSSigning> {
    static let awsSigning = object(
        "signature", of: ConfigurationKeys.awsSigning,
        from: AWSSigning(service: "", region: "", accessKey: "", secretKey: "")
    ) { signing, _, _ in signing }
}

extension ConfigurationValue<String> {
    /// A word of a signature's scope.
    fileprivate static let scopeWord = ConfigurationValue(
        "name", .text(pattern: "^[a-z0-9-]+$"), hint: "as AWS writes it, in small letters: sqs, eu-central-1"
    ) { value in
        value.string.flatMap { $0.wholeMatch(of: /[a-z0-9-]+/) == nil ? nil : $0 }
    }

    static let keyTemplate = template(.setting).checked("empty") { !$0.isEmpty }
}
