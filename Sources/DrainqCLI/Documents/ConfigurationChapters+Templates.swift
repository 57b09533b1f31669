extension ConfigurationChapters {
    static let templates = #"""
        .Sh TEMPLATES
        The texts of
        .Ic url ,
        .Ic headers ,
        .Ic body ,
        .Ic batch.body ,
        .Ic key
        and
        .Ic idempotencyKey
        are templates.
        Each request fills them in:
        .Bl -tag -width "{payload.NAME}"
        .It Li {id}
        The operation's id.
        .It Li {type}
        Its type.
        .It Li {key}
        Its key.
        An operation without one fails unsent.
        .It Li {createdAt}
        When it was created, as in 2026-11-21T09:15:00Z.
        .It Li {attempt}
        The number of this attempt, from 1.
        .It Li {payload}
        Its payload.
        .It Li {payload.NAME}
        The member
        .Ar NAME
        of a payload that is a JSON object;
        .Li {payload.a.b}
        is a member of a member, and
        .Li {payload.list.0}
        the first element of a list.
        An operation without it fails unsent.
        .It Li {payload:base64}
        The payload's bytes in Base64 (RFC 4648).
        Any word can be followed by
        .Li :base64 .
        .It Li {items}
        In
        .Ic batch.body
        alone: the operations of the batch, each as
        .Ic body
        makes it.
        .It Li ${secret:NAME}
        A secret, see
        .Sx SECRETS .
        Not in
        .Ic key
        and
        .Ic idempotencyKey .
        .It Li {{
        A brace itself, where a word could be meant.
        Every other brace stands for itself: JSON is written as it is.
        .El
        .Pp
        A value is escaped for the place that it stands in, and never ends it:
        .Bl -tag -width "in a header" -compact
        .It in a url
        Percent-encoded.
        In the path it may not be empty,
        .Sq \&.
        or
        .Sq .. .
        .It in a header
        As it is.
        A value with a control character is refused.
        .It in JSON
        Outside of quotes a JSON value, byte for byte as it was given:
        .Li {id}
        is a string,
        .Li {attempt}
        a number,
        .Li {payload}
        any value.
        Between quotes the inside of a string: a text is its characters, anything else
        its JSON text.
        .It in a form
        Percent-encoded, where the header Content-Type is
        application/x-www-form-urlencoded.
        .It in other text
        As it is, where Content-Type is neither JSON nor a form.
        .El
        .Pp
        A url, a header and a key take texts, numbers, true and false;
        an operation whose value is null, an array or an object fails unsent.
        An unknown word and a secret that is not defined are errors of the
        configuration; they are never sent as they stand.
        .Bd -literal -offset indent
        {
          routes: {
            profile: { url: \(dqhttps://api.example.com/profile/{key}\(dq, key: \(dq{payload.user.id}\(dq },
            // {"text":"…"} for Slack, whatever the payload is.
            alert: {
              url: \(dqhttps://hooks.example.com/services/${secret:api}\(dq,
              body: '{ \(dqtext\(dq: \(dq{payload.user.id}: {payload.content}\(dq }',
            },
            // Kafka's REST proxy: an envelope around a batch.
            metric: {
              url: \(dqhttps://kafka.example.com/topics/metrics\(dq,
              headers: { \(dqContent-Type\(dq: \(dqapplication/vnd.kafka.json.v2+json\(dq },
              batch: { max: 500, body: '{ \(dqrecords\(dq: [{items}] }' },
              body: '{ \(dqkey\(dq: {id}, \(dqvalue\(dq: {payload} }',
            },
            // Elasticsearch: two lines for each operation.
            log: {
              url: \(dqhttps://es.example.com/logs/_bulk\(dq,
              batch: { max: 500, format: \(dqndjson\(dq },
              body: '{ \(dqcreate\(dq: { \(dq_id\(dq: \(dq{id}\(dq } }\en{payload}',
            },
          },
          secrets: { api: { file: \(dq/etc/drainq/api.token\(dq } },
        }
        .Ed

        """#
}
