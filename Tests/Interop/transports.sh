#!/usr/bin/env bash
# drainq's connections against servers that nobody here wrote: TLS and unix sockets of nginx, TLS of haproxy, and bodies
# that a Python server counts. Prints `ok …` or `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
source Tests/Interop/connections.bash
strict=$(free_port) counter=$(free_port)

# A server that refuses in the handshake, as most but nginx do.
cat >haproxy.cfg <<END_OF_FILE
defaults
    mode http
    timeout connect 1s
    timeout client 10s
    timeout server 10s
frontend front
    bind 127.0.0.1:$strict ssl crt $work/server.both.pem ca-file $work/ca.pem verify required
    http-request return status 204
END_OF_FILE
haproxy -db -f haproxy.cfg >haproxy.log 2>&1 &

cat >counter.py <<'END_OF_FILE'
"""Answers a request with how many bytes of body came, /endless with 100 MB; each is noted in the file `counts`."""
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self, count):
        with open("counts", "a") as counts:
            counts.write(f"{self.path} {count}\n")

    def do_PUT(self):
        count, space = 0, memoryview(bytearray(1 << 20))
        while count < int(self.headers["Content-Length"]):
            some = self.rfile.readinto1(space)
            if not some:
                break
            count += some
        self.note(count)
        self.answer(str(count).encode())

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000000")
        self.end_headers()
        count, piece = 0, b"x" * 100_000
        try:
            while count < 100_000_000:
                self.wfile.write(piece)
                count += len(piece)
        except OSError:
            self.close_connection = True
        self.note(count)

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END_OF_FILE
python3 counter.py "$counter" >counter.log 2>&1 &
await "$strict" "$counter" || { cat ./*.log; exit 1; }

# TLS

trusted() {
    queue "https://127.0.0.1:$tls/trusted" '' "$trust"
    lines 5 | drainq add
    drainq run
    equal "" "$(state)"
    logged 5 'HTTP/2.0 127.0.0.1 /trusted' access.log
}
test_that "an authority of one's own is trusted, and TLS offers HTTP/2" trusted

trusted_by_system() {
    queue "https://127.0.0.1:$tls/system" '' 'transport: "urlsession"'
    lines 1 | drainq add
    trusting "$binary" run
    equal "" "$(state)"
    logged 1 'HTTP/1.1 127.0.0.1 /system' access.log
}
test_that "URLSession delivers where the system trusts the authority" trusted_by_system

# nginx says 204 and ends the stream before it has read the body.
answered_early() {
    for _ in {1..20}; do
        queue "https://127.0.0.1:$tls/early" '' "$trust"
        lines 1 | drainq add
        drainq run -v
    done
    logged 20 'HTTP/2.0 127.0.0.1 /early' access.log
}
test_that "an answer over HTTP/2 that does not wait for the body is an answer" answered_early

# With a body that is larger than what HTTP/2 lets through unread, it is known when nothing moves any more.
answered_early_at_length() {
    for transport in urlsession libcurl; do
        queue "https://127.0.0.1:$tls/words/$transport" 'timeouts: { request: "1s" }' "transport: '$transport'"
        printf '"%0100000d"\n' 1 | drainq add
        trusting "$binary" run -v
        logged 1 "/words/$transport" access.log
    done
}
test_that "so it is to a large body" answered_early_at_length

distrusted() { # URL REGEX SETTINGS
    queue "$1" '' "$3"
    lines 2 | drainq add
    ends 69 drainq run 2>complaint
    cat complaint
    [[ $(<complaint) =~ $2 && $(<complaint) =~ hint:.*caFile ]]
    equal held=2 "$(state)"
    equal '[0,0]' "$(drainq list --json | jq -sc 'map(.attempts)')"
    # Once, and in status from then on.
    ends 69 drainq run 2>complaint
    [[ ! -s complaint ]]
    says "$2" drainq status
}
for transport in urlsession libcurl; do
    test_that "an authority that nobody trusts holds, over $transport" \
        distrusted "https://127.0.0.1:$tls/" 'certificate' "transport: \"$transport\""
done
test_that "a name that the certificate has not holds" distrusted "https://localhost:$tls/" 'localhost' "$trust"
test_that "an expired certificate holds" distrusted "https://127.0.0.1:$expired/" 'expired' "$trust"

reconfigured() {
    queue "https://127.0.0.1:$tls/reconfigured"
    lines 1 | drainq add
    ends 69 drainq run
    sed -i "s|there: {|&$trust|" "$DRAINQ_QUEUE/drainq.json"
    drainq run
    equal "" "$(state)"
}
test_that "what a certificate holds goes on when caFile is set" reconfigured

# Client certificates

mine="clientCertificate: { certificate: '$work/client.pem', key: '$work/client.locked.key', passphrase: '\${secret:pass}' }"
pass="secrets: { pass: { file: '$work/secrets/passphrase' } }"
shown() {
    for port in "$mutual" "$strict"; do
        queue "https://127.0.0.1:$port/mine" '' "$trust, $mine" "$pass"
        lines 3 | drainq add
        drainq run
        equal "" "$(state)"
    done
}
test_that "a client certificate is shown to nginx and haproxy, its key opened by a secret" shown

not_shown() {
    queue "https://127.0.0.1:$strict/" '' "$trust"
    lines 2 | drainq add
    ends 69 drainq run
    equal held=2 "$(state)"
    says 'certificate' drainq status
    # nginx lets everybody in, and answers 400.
    queue "https://127.0.0.1:$mutual/" '' "$trust"
    lines 1 | drainq add
    ends 1 drainq run
    says 'No required SSL certificate was sent' drainq show "$(last id)"
    queue "https://127.0.0.1:$mutual/" '' "$trust"
    lines 12 | drainq add
    ends 69 drainq run
    equal held=12 "$(state)"
}
test_that "without a client certificate a handshake holds, and nginx's 400 fails one but never all" not_shown

locked() {
    queue "https://127.0.0.1:$mutual/" '' "$trust, ${mine/, passphrase*/ \}}"
    lines 1 | drainq add
    ends 69 drainq run
    queue "https://127.0.0.1:$mutual/" '' "$trust, $mine" "secrets: { pass: { file: '$work/secrets/none' } }"
    lines 1 | drainq add
    ends 69 drainq run
    says "secret 'pass'" drainq status
    equal held=1 "$(state)"
}
test_that "a key without its passphrase holds" locked

locked_by_another() {
    queue "https://127.0.0.1:$mutual/" '' "$trust, $mine" "secrets: { pass: { file: '$work/secrets/wrong' } }"
    lines 1 | drainq add
    ends 69 drainq run
    drainq status
    equal held=1 "$(state)"
    # The hold is over as soon as the secret is another one.
    cp secrets/passphrase secrets/wrong
    drainq run
    equal "" "$(state)"
}
test_that "a key with a wrong passphrase holds, until it is the right one" locked_by_another

# Addresses

unix_socket() {
    queue "http://collector.example/socket" '' "unixSocket: \"$work/socket\""
    lines 2 | drainq add
    drainq run
    logged 2 'collector.example /socket' access.log
    queue "http://collector.example/socket" '' "unixSocket: \"$work/none\""
    lines 1 | drainq add
    ends 75 drainq run
    equal refused "$(last lastError)"
}
test_that "a unix socket is connected to, and one that is not there is a refusal" unix_socket

ipv6() {
    queue "http://[::1]:$ipv6/six"
    lines 2 | drainq add
    drainq run
    logged 2 '[::1] /six' access.log
}
if [[ $ipv6 ]]; then test_that "an IPv6 address is a host" ipv6; fi

non_ascii() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/$transport/{payload.path}?q={payload.query}" '' "transport: \"$transport\""
        drainq add <<<'{"path":"grün/ü b","query":"ä&b=c d+€"}'
        drainq run
        logged 1 "/$transport/gr%C3%BCn%2F%C3%BC%20b?q=%C3%A4%26b%3Dc%20d%2B%E2%82%AC" access.log
    done
    queue "http://127.0.0.1:$plain/configured-grün"
    lines 1 | drainq add
    drainq run
    logged 1 "/configured-gr%C3%BCn" access.log
}
test_that "what is not ASCII is percent-encoded alike over both transports, from payloads and configurations" non_ascii

forced() {
    for key in "proxy: 'http://127.0.0.1:1'" "proxy: 'direct'" "$trust" "unixSocket: '$work/socket'"; do
        queue "https://127.0.0.1:$tls/" '' "transport: 'urlsession', $key"
        lines 1 | drainq add
        ends 69 drainq run 2>complaint
        cat complaint
        [[ $(<complaint) == *"'${key%%:*}"* && $(<complaint) != *routes.default.url* ]]
        equal held=1 "$(state)"
        says "${key%%:*}" drainq check
    done
}
test_that "what URLSession cannot do is held by a line that names the key, and found by check" forced

# Bodies

big_file() {
    mkdir -p bodies
    truncate -s 1200000000 bodies/big
    queue "http://127.0.0.1:$counter/big" 'method: "PUT"' '' "bodyFiles: ['$work/bodies']"
    drainq add --body-file "$work/bodies/big"
    prlimit --data=250000000 "$binary" run -v --json | tee run.json
    equal "" "$(state)"
    equal '/big 1200000000' "$(grep '^/big' counts)"
}
test_that "a body file of 1.2 GB is sent within 250 MB of memory" big_file

changed_file() {
    echo first >bodies/changing
    queue "http://127.0.0.1:$counter/changing" 'method: "PUT"' '' "bodyFiles: ['$work/bodies']"
    drainq add --body-file "$work/bodies/changing"
    echo second, and longer >bodies/changing
    ends 1 drainq run 2>complaint
    cat complaint
    [[ $(<complaint) == *bodies/changing* ]]
    equal failed=1 "$(state)"
    says 'bodies/changing.*changed' drainq show "$(last id)"
    drainq add --body-file "$work/bodies/changing"
    rm bodies/changing
    ends 1 drainq run
    equal failed=2 "$(state)"
    equal 0 "$(seen /changing counts)"
}
test_that "a body file that has changed or gone is not sent, and is named" changed_file

foreign_file() {
    echo foreign >foreign
    ln -sf "$work/foreign" bodies/link
    queue "http://127.0.0.1:$counter/" 'method: "PUT"' '' "bodyFiles: ['$work/bodies']"
    for path in "$work/foreign" "$work/bodies/../foreign" "$work/bodies/link" "$work/bodies" "$work/bodies/none"; do
        ends 65 drainq add --body-file "$path"
    done
    equal "" "$(state)"
}
test_that "a body file outside of bodyFiles is refused by add" foreign_file

endless() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$counter/endless/$transport" 'method: "GET", body: "", answerLimit: "100kB"' "transport: '$transport'"
        lines 1 | drainq add
        drainq run
        equal "" "$(state)"
    done
    # What had been sent when the connection was closed is noted by the server, a moment later.
    comes 2 /endless counts
    cat counts
    (($(sed -n 's|^/endless/libcurl ||p' counts) < 20000000))
    (($(sed -n 's|^/endless/urlsession ||p' counts) < 100000000))
}
test_that "of an answer of 100 MB only the beginning is read" endless

test_that "nothing that was left behind or said has a secret in it" kept

exit "$failed"
