/// The sections of drainq-config(5) that tell what several keys do together, in mdoc(7).
enum ConfigurationChapters {
    static let text = [
        templates, secrets, headersCommand, signed, accept, batches, order, callable, gallery, transports, urlsession,
        errorNames,
        files,
    ]
    .joined()

    private static let secrets = #"""
        .Sh SECRETS
        A credential is kept somewhere else, has a name in
        .Ic secrets ,
        and
        .Li ${secret:NAME}
        stands for it:
        .Bl -bullet -compact
        .It
        in the templates of a route, see
        .Sx TEMPLATES ,
        escaped for their place;
        .It
        in the user information of a
        .Ic proxy ,
        percent-encoded;
        .It
        in the
        .Ic passphrase
        of a client certificate.
        .El
        .Pp
        Anywhere else it is an error, or plain text: a host has no secrets in it, nor
        has what an operation brings itself.
        .Bd -literal -offset indent
        {
          routes: {
            default: {
              url: \(dqhttps://api.example.com/v1/{type}\(dq,
              headers: {
                Authorization: \(dqBearer ${secret:api}\(dq,
                \(dqX-Tenant\(dq: \(dq${secret:tenant}\(dq,
              },
            },
            chat: { headers: { Authorization: \(dqBearer ${secret:chat}\(dq } },
            report: { headers: { Authorization: \(dq${secret:report}\(dq } },
          },
          secrets: {
            api: { file: \(dq/etc/drainq/api.token\(dq },
            tenant: { env: \(dqTENANT\(dq },
            chat: { command: [\(dq/usr/local/bin/chat-token\(dq], ttl: \(dq50m\(dq },
            report: { credential: \(dqreport.token\(dq },
          },
        }
        .Ed
        .Pp
        A secret is one line of text, at most 64 KB.
        Line breaks at its end do not count.
        .Bl -tag -width "credential"
        .It Ic file
        Read for each attempt: a renewed token is used at once.
        The file belongs to root, to the user that runs drainq or to the owner of
        the configuration's directory.
        Others may not read it and its group may not write it: mode 0600 or 0640.
        A symbolic link is followed, and what it leads to is judged.
        .It Ic env
        A variable of the run's environment.
        Programs that drainq starts do not get it.
        .It Ic credential
        A file in the directory that
        .Ev CREDENTIALS_DIRECTORY
        names, under the rules of
        .Ic file .
        In a unit of systemd:
        .Dl LoadCredential=report.token:/etc/drainq/report.token
        .It Ic command
        What a program writes to standard output.
        It is run in the directory of the configuration, without a shell, with the
        variables of
        .Sx ENVIRONMENT OF COMMANDS ,
        and has ten seconds; it must end with status 0.
        Standard error is ignored.
        The answer is kept in memory for
        .Ic ttl ,
        and for one run at most.
        A command that failed is run again after ten seconds at the earliest.
        .El
        .Pp
        After an answer with 401, or
        .Li UNAUTHENTICATED
        of a callable function, the secrets are looked up anew, and commands are run
        again although their
        .Ic ttl
        is not over.
        This does not depend on what
        .Ic classify
        makes of the answer.
        If one is another than before, the request is sent again, once, as the same
        attempt.
        Otherwise, or if it is refused again, the answer counts: the destination is
        held unless
        .Ic classify
        says otherwise.
        A command that answers the same again is not run once more for ten seconds.
        Nor are secrets looked up anew for ten seconds after a destination has
        refused fresh ones.
        .Pp
        The hold ends by itself as soon as a file, a variable or a credential has
        changed.
        What a command would answer is not asked just to see: that hold ends by a
        probe
        .Pq Ic holdProbe
        or by
        .Nm drainq Cm release .
        .Pp
        A secret that cannot be had holds the destination too, and nothing is sent.
        .Nm drainq Cm check
        finds files that are not as they should be.

        """#

    private static let headersCommand = #"""
        .Sh HEADERS COMMAND
        The command of
        .Ic headersCommand
        is run before each attempt, in the directory of the configuration, without a
        shell and with the variables of
        .Sx ENVIRONMENT OF COMMANDS .
        .Pp
        Standard input is one line of JSON, a newline, and the bytes of the body as
        they will be sent, to the end:
        .Bd -literal -offset indent
        {\(dqbodyLength\(dq:8,\(dqheaders\(dq:{\(dqcontent-type\(dq:\(dqapplication/json\(dq},
         \(dqidempotencyKey\(dq:\(dq6f9619ff\(dq,\(dqmethod\(dq:\(dqPOST\(dq,
         \(dqurl\(dq:\(dqhttps://api.example.com/in\(dq}
        {\(dqn\(dq:10}
        .Ed
        .Pp
        The line is not broken as it is here.
        .Bl -tag -width "idempotencyKey"
        .It Li method , url
        Of the request, everything filled in.
        .It Li headers
        The fields so far, names in lower case; several of one name are one,
        separated by a comma and a blank.
        .It Li idempotencyKey
        The same at every attempt, without the quotes of the header field.
        .It Li bodyLength
        In bytes; 0 where there is no body.
        .It Li bodyFile
        Only where the body is a file: its absolute path.
        No bytes follow the line then.
        .El
        .Pp
        Standard output is header fields, one a line:
        .Bd -literal -offset indent
        webhook-timestamp: 1795252500
        webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
        .Ed
        .Pp
        At most 64 lines and 16 KB; empty ones are skipped.
        Each field takes the place of those of its name.
        The fields that
        .Ic headers
        may not set it may not set either.
        The command has ten seconds and must end with status 0; standard error is
        ignored.
        Anything else holds the destination, and nothing is sent.
        Such a hold ends by a probe or by
        .Nm drainq Cm release .
        .Pp
        .Pa share/drainq/examples/standard-webhooks-sign
        signs by Standard Webhooks, in
        .Xr sh 1 .

        """#

    private static let signed = #"""
        .Sh SIGNED REQUESTS
        With
        .Ic sign.aws
        each attempt of a route is signed for a service of Amazon, or for a store that
        speaks as S3 does: AWS Signature Version 4, with the time of the attempt.
        .Bd -literal -offset indent
        {
          routes: {
            default: {
              url: \(dqhttps://sqs.eu-central-1.amazonaws.com/\(dq,
              sign: {
                aws: {
                  service: \(dqsqs\(dq, region: \(dqeu-central-1\(dq,
                  accessKey: \(dq${secret:id}\(dq, secretKey: \(dq${secret:key}\(dq,
                },
              },
            },
          },
          secrets: {
            id: { file: \(dq/etc/drainq/aws.id\(dq },
            key: { file: \(dq/etc/drainq/aws.key\(dq },
          },
        }
        .Ed
        .Pp
        Signed are the method, the address, the body, Content-Type and the fields whose
        names begin with
        .Li x-amz- .
        .Ic headersCommand
        comes before it.
        drainq writes Authorization, X-Amz-Date, X-Amz-Content-Sha256 and
        X-Amz-Security-Token in the place of others.
        Both transports send such requests.
        .Pp
        The address is sent in the one way in which all services read it: what is not a
        letter, a digit or one of
        .Li -._~
        is percent-encoded, a plus sign of the query is
        .Li %20 ,
        and for S3 an encoded slash of the path is a slash.
        .Pp
        A body that is a file is sent to S3 alone and by https alone, because its
        content is not in the signature: TLS protects it.
        Elsewhere such an operation is refused.
        .Pp
        Amazon refuses a time that is more than five minutes off, fifteen for S3: this
        machine's clock has to be right.
        An answer of 403 holds the destination, and an answer of 400 to a wrong key has
        to be told by a rule of
        .Ic answers ,
        as in the example
        .Li sqs .

        """#

    private static let batches = #"""
        .Sh BATCHES
        .Bd -literal -offset indent
        {
          routes: {
            telemetry: {
              url: \(dqhttps://api.example.com/v1/telemetry\(dq,
              batch: {
                max: 100,
                format: \(dqjson\(dq,
                results: { pointer: \(dq/items\(dq, status: \(dq/status\(dq, error: \(dq/error\(dq },
              },
            },
          },
        }
        .Ed
        .Pp
        One request carries up to
        .Ic max
        operations that are due, oldest first.
        They go together if they are of one type and have the same URL, method and
        header fields.
        A run does not wait for a batch to fill.
        The route's
        .Ic body
        makes each of them, and the batch's
        .Ic body
        what stands around them, see
        .Sx TEMPLATES .
        Bodies that are files, and callable functions, cannot be batched.
        .Pp
        The idempotency key of a batch is made of those of its operations and their
        order: the same batch has the same one at each attempt, another batch
        another.
        A batch of one has its operation's own.
        .Pp
        An answer that is no delivery as a whole holds for all operations: all are
        deferred, or all are put back and the destination is held.
        One that would fail them all makes the run send each half by itself, down to
        the operation that is bad; nothing is charged for that.
        So no operation fails for good before it was sent alone: an operation that
        .Ic results
        fails is sent again by itself, and one whose attempts or age may end with the
        next attempt is not put into a batch.
        .Pp
        In an answer that is a delivery,
        .Ic results
        finds what became of each.
        .Ic status
        is judged like an HTTP status, by
        .Ic answers ,
        .Ic classify
        and the defaults.
        .Ic error
        fails the operation where it is there and neither null nor false.
        The status, with a Retry-After of the whole answer, also decides whether the
        attempt counts.
        With both, the error counts where the status is 2xx or is not there.
        Without
        .Ic results
        a delivery is one for all.
        .Pp
        The results are in the order of the batch, or they name their operations:
        .Bl -tag -width Ds
        .It Li "{ pointer: \(dq/items\(dq, status: \(dq/status\(dq }"
        The array is as long as the batch and in its order.
        .It Li "{ pointer: \(dq/items\(dq, match: \(dq/id\(dq, status: \(dq/status\(dq }"
        Each element names its operation, in any order: by the id, which the route's
        .Ic body
        has sent as
        .Li {id} ,
        or by its place in the batch, from 0.
        An operation that no element names is deferred.
        .It Li "{ failed: \(dq/Failed\(dq, match: \(dq/Id\(dq }"
        The array has the failures only.
        An operation that is not in it is delivered.
        One that is in it fails, unless its
        .Ic status
        or a rule of
        .Ic answers
        says otherwise: in Amazon SQS,
        .Li "{ json: { pointer: \(dq/SenderFault\(dq, equals: false }, is: \(dqdefer\(dq }" .
        .El
        .Pp
        Where the array is missing, has another length, or names an operation twice or
        one that is not in the batch, nobody knows which were taken: all are deferred.
        So is an operation without a status where one belongs.

        """#

    private static let order = #"""
        .Sh COALESCING AND ORDERING
        Operations have an order by
        .Li createdAt ,
        and by their id where that is the same.
        The operations of one
        .Nm drainq Cm add
        keep the order of its input.
        .Bl -tag -width Ds
        .It Ic coalesce : Li true
        Of the operations of one type, key and destination only the newest is sent.
        The older ones are superseded: their files are removed, durably, before the
        newest is sent.
        One that is being attempted meanwhile is superseded if it fails, now or for
        good; if it is delivered, the newer one follows it.
        So an older value is never sent after a newer one.
        A newer operation that may not be sent before a time of its own
        .Pq Fl -delay , Fl -at
        replaces older ones only from then on.
        Each operation has an idempotency key of its own, so a server does not take
        a new value for a repetition.
        .It Ic coalesce : Li \(dqmerge\(dq
        The same, but the newest does not replace the older ones:
        one request of the newest carries what all of them change,
        their payloads being JSON Merge Patches (RFC 7396).
        When it is delivered so are the older ones.
        While it is deferred or held they wait with it,
        and when its attempts are used up they fail with it.
        Where the server refuses the merged document for good, each is sent by
        itself, oldest first.
        So is what one patch cannot say, such as an object after a value in its
        place, a payload that is no object and is followed by one that is, a body in
        a file of its own, or another
        .Ic url
        or method of an operation\(aqs own;
        no other operation of the key goes before it.
        Except for this document a body is sent byte for byte.
        .It Ic ordering : Li \(dqkey\(dq
        Operations of one key that go to one destination are sent one after the
        other, oldest first, whatever their types.
        .It Ic ordering : Li \(dqstrict\(dq
        The same for all operations of a destination whose routes say so.
        .It Ic onFailure : Li \(dqhold\(dq
        The operations behind one that failed for good are held with it, in this run
        and all later ones.
        .Nm drainq Cm retry
        of the failed one sends it first and the others after it;
        .Nm drainq Cm drop
        of it releases them and says how many.
        It is held for as long as the failed one is in
        .Pa failed/ :
        .Ic retention.failed
        releases them too.
        .El
        .Pp
        An operation without a key waits for none, but with
        .Li strict .
        .Pp
        The next one goes when the one before it is delivered, has failed, has
        expired, or is dropped.
        While that one is deferred, or held by itself, the others wait behind it,
        and other keys do not.
        Choose a
        .Ic retry
        and an
        .Ic expiresAfter
        that bound the wait.
        .Pp
        All this is so across runs: one run at a time attempts what has an order,
        and another one that meets it leaves these operations alone and sends the
        rest.
        .Nm drainq Cm send
        goes behind what waits.
        It ends where a person puts an operation back:
        .Nm drainq Cm retry
        of a failed one sends it after newer ones that have been delivered
        meanwhile.
        .Bd -literal -offset indent
        {
          routes: {
            default: { url: \(dqhttps://api.example.com/v1/{type}/{key}\(dq, method: \(dqPUT\(dq },
            profile: { coalesce: true, expiresAfter: \(dq7d\(dq },
            note: { ordering: \(dqkey\(dq, retry: \(dqdoubling\(dq },
          },
        }
        .Ed

        """#

    private static let files = #"""
        .Sh FILES
        .Bl -tag -width "drainq.json"
        .It Pa drainq.json
        in the queue directory; written by
        .Nm drainq Cm init
        with every key behind
        .Li // ,
        and replaced by
        .Fl -config Ar FILE .
        A credential that is written in it is as safe as the file's mode; keep it in
        .Ic secrets .
        .It Pa share/drainq/examples/*.json5
        below the prefix of the program: the configurations of
        .Sx GALLERY .
        .El
        .Pp
        A path that is not absolute starts from the directory of the configuration,
        wherever drainq is started.
        So do the
        .Ic file
        of a secret,
        .Ic caFile ,
        .Ic clientCertificate ,
        .Ic unixSocket
        and a command with a slash in its name; a command without one is looked for
        in
        .Ev PATH .
        All commands run in that directory.
        The directories of
        .Ic bodyFiles
        are absolute.

        """#
}
