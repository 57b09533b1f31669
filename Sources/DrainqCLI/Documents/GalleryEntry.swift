/// What drainq-config(5) says of one of the examples: how its service is asked, and what its answers mean.
struct GalleryEntry: Sendable {
    /// The name of the file without its ending.
    var name: String
    /// Whether the tests ask the server itself, or an emulation.
    var isReal: Bool
    var requests: String
    var order: String
    /// Who removes duplicates, and by what.
    var duplicates: String
    /// What is tried again, held and failed, besides what holds for every service.
    var deferred: String
    var held: String
    var failed: String

    init(
        _ name: String, _ server: Server, _ requests: String, order: String, duplicates: String, deferred: String = "",
        held: String = "", failed: String = ""
    ) {
        self.name = name
        isReal = server == .real
        self.requests = requests
        self.order = order
        self.duplicates = duplicates
        self.deferred = deferred
        self.held = held
        self.failed = failed
    }

    enum Server { case real, emulated }

    static let table: [GalleryEntry] = [
        GalleryEntry(
            "alertmanager", .real, "batches", order: "none", duplicates: "Alertmanager, by labels",
            failed: "400: no label"),
        GalleryEntry(
            "chat", .emulated, "one each", order: "by key", duplicates: "the database, by path",
            held: "401: token", failed: "401: rules"),
        GalleryEntry(
            "clickhouse", .real, "batches", order: "none", duplicates: "ClickHouse, by id", deferred: "500: too many",
            held: "401, 404: table", failed: "400, 500: row"),
        GalleryEntry(
            "discord", .emulated, "one each", order: "strict", duplicates: "nobody", deferred: "429: retry_after",
            held: "404: webhook", failed: "400: message"),
        GalleryEntry(
            "elasticsearch", .emulated, "batches", order: "none", duplicates: "Elasticsearch, by _id",
            deferred: "429: queue is full", held: "404, 429: index", failed: "400: mapping"),
        GalleryEntry(
            "eventbridge", .real, "batches", order: "none", duplicates: "the consumer, by id",
            deferred: "ThrottlingException", held: "400: bus, key", failed: "ErrorCode"),
        GalleryEntry(
            "github", .emulated, "one each", order: "strict", duplicates: "nobody", deferred: "403, 429: limits",
            held: "401, 403, 404, 410", failed: "422: fields"),
        GalleryEntry(
            "healthchecks", .emulated, "one each", order: "by check", duplicates: "not needed",
            deferred: "200: rate limited", failed: "200: not found"),
        GalleryEntry(
            "influxdb", .real, "batches", order: "none", duplicates: "InfluxDB, by series and time",
            deferred: "503: too many", held: "401, 404: database", failed: "400: point"),
        GalleryEntry(
            "kafka", .emulated, "batches", order: "in a batch", duplicates: "the consumer, by id",
            deferred: "error_code 2", held: "404: topic", failed: "error_code 1"),
        GalleryEntry(
            "kafka3", .emulated, "one each", order: "by user", duplicates: "the consumer, by id",
            deferred: "error_code 429, 500", held: "404: topic", failed: "error_code 400"),
        GalleryEntry(
            "loki", .emulated, "batches", order: "none", duplicates: "Loki, by time and line",
            deferred: "429: rate", failed: "400: too old"),
        GalleryEntry(
            "memory", .real, "one each", order: "none", duplicates: "the function",
            deferred: "UNAVAILABLE", held: "UNAUTHENTICATED", failed: "INVALID_ARGUMENT"),
        GalleryEntry(
            "notes", .emulated, "one each", order: "by row", duplicates: "PostgREST, by primary key",
            deferred: "409: reference", held: "401, 403: token", failed: "403: row security"),
        GalleryEntry(
            "otlp", .emulated, "batches", order: "none", duplicates: "the store, by log.record.uid",
            deferred: "429, 502-504", failed: "partial success"),
        GalleryEntry(
            "profile", .emulated, "the newest", order: "by user", duplicates: "not needed", deferred: "500-599",
            held: "401: session", failed: "400"),
        GalleryEntry(
            "pubsub", .emulated, "batches", order: "none", duplicates: "the subscriber, by id",
            deferred: "429, 503", held: "401, 403, 404", failed: "400: message"),
        GalleryEntry(
            "pushgateway", .real, "the newest", order: "by group", duplicates: "not needed", held: "401: password",
            failed: "400: text"),
        GalleryEntry(
            "rabbitmq", .real, "one each", order: "none", duplicates: "the consumer, by message_id",
            deferred: "400: queue is full", held: "not routed, 404", failed: "400: request"),
        GalleryEntry(
            "s3", .real, "one each", order: "none", duplicates: "not needed", deferred: "503: SlowDown",
            held: "403, 404: bucket", failed: "400: request"),
        GalleryEntry(
            "slack", .emulated, "one each", order: "strict", duplicates: "nobody", deferred: "429: Retry-After",
            held: "403, 404, 410", failed: "400: message"),
        GalleryEntry(
            "sns", .real, "one each", order: "none", duplicates: "nobody", deferred: "400: Throttling",
            held: "403, 404: topic", failed: "400: parameter"),
        GalleryEntry(
            "sqs", .real, "batches", order: "by user", duplicates: "SQS, for five minutes",
            deferred: "SenderFault false", held: "400: queue, 403", failed: "SenderFault true"),
        GalleryEntry(
            "stripe", .emulated, "one each", order: "by customer", duplicates: "Stripe, for 24 hours",
            deferred: "409: key in use", held: "older than a day", failed: "402: card"),
        GalleryEntry(
            "victoriametrics", .real, "batches", order: "none", duplicates: "the server, if told to",
            deferred: "503: too many", failed: "require, unsent"),
        GalleryEntry(
            "webdav", .real, "one each", order: "none", duplicates: "not needed",
            deferred: "409, 423, 507", held: "401: password", failed: "413: too large"),
        GalleryEntry(
            "webdis", .real, "one each", order: "none", duplicates: "Redis, by HSETNX",
            deferred: "200: OOM", held: "200: WRONGTYPE"),
        GalleryEntry(
            "webhooks", .emulated, "one each", order: "none", duplicates: "the receiver, by webhook-id",
            held: "410: gone", failed: "400"),
    ]
}
