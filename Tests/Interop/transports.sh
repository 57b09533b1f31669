#!/usr/bin/env bash
# drainq's connections against servers that nobody here wrote: TLS and unix sockets of nginx and haproxy, squid and
# microsocks as proxies, a Python server that counts. Prints `ok …` or `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# Readable by squid's own user; what is secret lies in a directory apart, which the last test leaves out.
chmod 711 "$work"
mkdir -m 711 "$work/secrets"
cd "$work" || exit
passphrase=p4ssphrase-$RANDOM$RANDOM password=pr0xy-w0rd-$RANDOM$RANDOM
wrong=wr0ng-$RANDOM$RANDOM
(umask 077 && for name in passphrase password wrong; do echo "${!name}" >"secrets/$name"; done)

tls=$(free_port) expired=$(free_port) mutual=$(free_port) strict=$(free_port) plain=$(free_port) counter=$(free_port)
open=$(free_port) closed=$(free_port) sealed=$(free_port) socks=$(free_port) nobody=$(free_port)

# Certificates

certify() { # NAME DAYS EXTENSION
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days "$2" -extfile <(echo "$3") -out "$1.pem"
}
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=authority -days 2 -keyout ca.key -out ca.pem
    certify server 2 'subjectAltName=IP:127.0.0.1'
    # Over in the second in which it begins.
    certify expired 0 'subjectAltName=IP:127.0.0.1'
    certify client 2 'extendedKeyUsage=clientAuth'
    openssl ec -aes256 -passout file:secrets/passphrase -in client.key -out client.locked.key
    cat server.pem server.key >server.both.pem
} 2>/dev/null || { echo "not ok certificates"; exit 1; }

# Servers

cat >nginx.conf <<END_OF_FILE
daemon off; pid $work/nginx.pid; error_log $work/nginx.log; worker_processes 1;
events { worker_connections 256; }
http {
    log_format line '\$server_protocol \$host \$request_uri';
    access_log $work/access.log line;
    client_body_temp_path $work/a; proxy_temp_path $work/b; fastcgi_temp_path $work/c; uwsgi_temp_path $work/d;
    scgi_temp_path $work/e; ssl_certificate server.pem; ssl_certificate_key server.key; ssl_client_certificate ca.pem;
    server { listen 127.0.0.1:$tls ssl http2; location / { return 204; } location /words { return 200 words; } }
    server { listen 127.0.0.1:$expired ssl; ssl_certificate expired.pem; ssl_certificate_key expired.key; return 204; }
    server { listen 127.0.0.1:$mutual ssl http2; ssl_verify_client on;
             location / { if (\$ssl_client_s_dn != CN=client) { return 403; } return 204; } }
    server { listen 127.0.0.1:$plain; listen unix:$work/socket; return 204; }
    include ipv6[.]conf;
}
END_OF_FILE
ipv6=
if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
    ipv6=$(free_port)
    echo "server { listen [::1]:$ipv6; return 204; }" >ipv6.conf
fi
nginx -p "$work" -e nginx.log -c nginx.conf &
pids+=($!)

# A server that refuses in the handshake, as most but nginx do; and squid behind TLS.
cat >haproxy.cfg <<END_OF_FILE
defaults
    mode http
    timeout connect 1s
    timeout client 10s
    timeout server 10s
frontend front
    bind 127.0.0.1:$strict ssl crt $work/server.both.pem ca-file $work/ca.pem verify required
    http-request return status 204
listen sealed
    mode tcp
    bind 127.0.0.1:$sealed ssl crt $work/server.both.pem
    server squid 127.0.0.1:$closed
END_OF_FILE
haproxy -db -f haproxy.cfg >haproxy.log 2>&1 &
pids+=($!)

# squid lets everybody through at one port and asks for a password at the other; CONNECT goes to the TLS port alone.
printf 'drainq:%s\n' "$(openssl passwd -apr1 -in secrets/password)" >users
cat >squid.conf <<END_OF_FILE
http_port 127.0.0.1:$open name=open
http_port 127.0.0.1:$closed name=closed
pid_filename none
cache deny all
cache_log $work/squid.log
access_log stdio:$work/squid/access.log
coredump_dir none
shutdown_lifetime 0 seconds
pinger_enable off
auth_param basic program /usr/lib/squid/basic_ncsa_auth $work/users
acl tls port $tls
acl CONNECT method CONNECT
acl closed myportname closed
acl known proxy_auth REQUIRED
http_access deny CONNECT !tls
http_access deny closed !known
http_access allow all
END_OF_FILE
mkdir squid && chmod 777 squid && : >squid.log && chmod 666 squid.log
squid -N -f squid.conf >squid.out 2>&1 &
pids+=($!)

# It alone knows the host of its own.
{ cat /etc/hosts; echo '127.0.0.1 behind.proxy.example'; } >hosts
unshare -rm sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$work/hosts" \
    microsocks -i 127.0.0.1 -p "$socks" -u drainq -P "$password" >microsocks.log 2>&1 &
pids+=($!)

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
pids+=($!)
await "$tls" "$plain" "$strict" "$sealed" "$open" "$socks" "$counter" || { cat ./*.log ./*.out; exit 1; }

# What was asked of an operation

last() { drainq list --json | jq -r ".$1"; }
seen() { grep -c -F -- "$1" "$2" || true; }

env_drainq() { # VARIABLE=VALUE ARGUMENT…
    local -x "${1?}"
    shift
    drainq "$@"
}

# uncharged ERROR: one operation waits, not one attempt counted, and its destination is open.
uncharged() {
    drainq status
    equal deferred "$(last state)"
    equal 0 "$(last attempts)"
    equal "$1" "$(last lastError)"
    equal null "$(drainq status --json | jq -c '.destinations[0].suspendedUntil')"
    equal '[]' "$(drainq status --json | jq -c .holds)"
}

# TLS

trusted() {
    queue "https://127.0.0.1:$tls/trusted" '' "caFile: \"$work/ca.pem\""
    lines 5 | drainq add
    drainq run
    equal "" "$(state)"
    equal 5 "$(seen 'HTTP/2.0 127.0.0.1 /trusted' access.log)"
}
test_that "an authority of one's own is trusted, and TLS offers HTTP/2" trusted

# trusting COMMAND…: where the system's authorities are ours.
trusting() {
    unshare -rm sh -c 'mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && shift && exec "$@"' sh "$work/ca.pem" "$@"
}
trusted_by_system() {
    queue "https://127.0.0.1:$tls/system" '' 'transport: "urlsession"'
    lines 1 | drainq add
    trusting "$binary" run
    equal "" "$(state)"
    equal 1 "$(seen 'HTTP/2.0 127.0.0.1 /system' access.log)"
}
test_that "URLSession delivers where the system trusts the authority" trusted_by_system

# nginx says 204 and ends the stream before it has read the body.
answered_early() {
    for _ in {1..20}; do
        queue "https://127.0.0.1:$tls/early" '' 'transport: "urlsession"'
        lines 1 | drainq add
        trusting "$binary" run -v
    done
    equal 20 "$(seen 'HTTP/2.0 127.0.0.1 /early' access.log)"
}
test_that "an answer over HTTP/2 that does not wait for the body is an answer" answered_early

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
trust="caFile: \"$work/ca.pem\""
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
    equal 2 "$(seen 'collector.example /socket' access.log)"
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
    equal 2 "$(seen '[::1] /six' access.log)"
}
if [[ $ipv6 ]]; then test_that "an IPv6 address is a host" ipv6; fi

non_ascii() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/$transport/{payload.path}?q={payload.query}" '' "transport: \"$transport\""
        drainq add <<<'{"path":"grün/ü b","query":"ä&b=c d+€"}'
        drainq run
        equal 1 "$(seen "/$transport/gr%C3%BCn%2F%C3%BC%20b?q=%C3%A4%26b%3Dc%20d%2B%E2%82%AC" access.log)"
    done
    queue "http://127.0.0.1:$plain/grün"
    says 'percent-encode' drainq check
    lines 1 | ends 78 drainq add
}
test_that "what is not ASCII is percent-encoded from payloads alike over both transports, and refused in a configuration" non_ascii

# Proxies

by_user() { echo "proxy: '$1://drainq:\${secret:word}@127.0.0.1:$2'"; } # SCHEME PORT
word="secrets: { word: { file: '$work/secrets/password' } }"

by_configuration() {
    queue "http://127.0.0.1:$plain/configured" '' "proxy: \"http://127.0.0.1:$open\""
    lines 2 | drainq add
    drainq run
    equal 2 "$(seen "POST http://127.0.0.1:$plain/configured" squid/access.log)"
    queue "https://127.0.0.1:$tls/tunnel" '' "proxy: \"http://127.0.0.1:$open\", $trust"
    lines 2 | drainq add
    drainq run
    equal 2 "$(seen 'HTTP/2.0 127.0.0.1 /tunnel' access.log)"
    (($(seen "CONNECT 127.0.0.1:$tls" squid/access.log) >= 1))
}
test_that "squid is gone through where the configuration says so, by CONNECT for https" by_configuration

by_environment() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/$transport/environment" '' "transport: \"$transport\""
        lines 1 | drainq add
        http_proxy=http://127.0.0.1:$open drainq run
        equal 1 "$(seen "POST http://127.0.0.1:$plain/$transport/environment" squid/access.log)"
        lines 1 | drainq add
        http_proxy=http://127.0.0.1:$open no_proxy=127.0.0.1 drainq run
        equal 1 "$(seen "POST http://127.0.0.1:$plain/$transport/environment" squid/access.log)"
        equal 2 "$(seen "/$transport/environment" access.log)"
    done
}
test_that "squid is gone through where the environment says so, over both transports, but for no_proxy" by_environment

tunnel_by_environment() {
    queue "https://127.0.0.1:$tls/words/tunnel" '' 'transport: "urlsession"'
    lines 2 | drainq add
    local before after
    before=$(seen "CONNECT 127.0.0.1:$tls" squid/access.log)
    https_proxy=http://127.0.0.1:$open trusting "$binary" run
    after=$(seen "CONNECT 127.0.0.1:$tls" squid/access.log)
    ((after > before))
    equal 2 "$(seen '/words/tunnel' access.log)"
}
test_that "URLSession tunnels through squid" tunnel_by_environment

direct() {
    queue "http://127.0.0.1:$plain/direct" '' 'proxy: "direct"'
    lines 1 | drainq add
    http_proxy=http://127.0.0.1:$nobody all_proxy=http://127.0.0.1:$nobody drainq run
    equal 0 "$(seen "127.0.0.1:$plain/direct" squid/access.log)"
    equal 1 "$(seen /direct access.log)"
}
test_that "'direct' is direct, whatever the environment says" direct

credentials() {
    for url in "http://127.0.0.1:$plain/known" "https://127.0.0.1:$tls/known"; do
        queue "$url" '' "$(by_user http "$closed"), $trust" "$word"
        lines 2 | drainq add
        drainq run
        equal "" "$(state)"
    done
    equal 4 "$(seen /known access.log)"
    queue "https://127.0.0.1:$tls/known/sealed" '' "$(by_user https "$sealed"), $trust" "$word"
    lines 2 | drainq add
    drainq run
    equal 2 "$(seen /known/sealed access.log)"
}
test_that "a proxy gets its credentials from a secret, behind TLS too" credentials

credentials_of_environment() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/$transport/named" '' "transport: '$transport'"
        lines 1 | drainq add
        http_proxy=http://drainq:$password@127.0.0.1:$closed drainq run
        equal 1 "$(seen "/$transport/named" access.log)"
        lines 1 | drainq add
        ends 75 env_drainq "http_proxy=http://drainq:$password@127.0.0.1:$nobody" run -v
        uncharged proxy
    done
}
test_that "a proxy gets its credentials from the environment, and no error quotes them" credentials_of_environment

unknown() { # TRANSPORT URL ENVIRONMENT SETTINGS
    queue "$2" '' "$4 transport: \"$1\""
    lines 2 | drainq add
    ends 69 env_drainq "$3" run
    equal held=2 "$(state)"
    says 407 drainq status
    equal '[0,0]' "$(drainq list --json | jq -sc 'map(.attempts)')"
}
gate=http://127.0.0.1:$closed
test_that "a proxy's 407 holds, configured" unknown libcurl "http://127.0.0.1:$plain/" X= "proxy: '$gate',"
test_that "a proxy's 407 to CONNECT holds, configured" unknown libcurl "https://127.0.0.1:$tls/" X= "proxy: '$gate', $trust,"
for transport in urlsession libcurl; do
    test_that "a proxy's 407 holds, from the environment, over $transport" \
        unknown $transport "http://127.0.0.1:$plain/" "http_proxy=$gate" ""
    test_that "a proxy's 407 to CONNECT holds, from the environment, over $transport" \
        unknown $transport "https://127.0.0.1:$tls/" "https_proxy=$gate" ""
done

broken_proxy() { # TRANSPORT URL ENVIRONMENT SETTINGS
    queue "$2" 'retry: { schedule: ["1m"], attempts: 2 }' "suspendAfter: 1, $4 transport: \"$1\""
    lines 1 | drainq add
    ends 75 env_drainq "$3" run
    uncharged proxy
    for _ in 1 2 3; do ends 75 env_drainq "$3" run --now; done
    uncharged proxy
}
void=http://127.0.0.1:$nobody
test_that "a proxy that is down is charged to nobody, configured" \
    broken_proxy libcurl "http://127.0.0.1:$plain/" X= "proxy: '$void',"
test_that "a proxy that refuses CONNECT is charged to nobody, configured" \
    broken_proxy libcurl "https://127.0.0.1:$mutual/" X= "proxy: 'http://127.0.0.1:$open',"
for transport in urlsession libcurl; do
    for scheme in http https; do
        test_that "a proxy for $scheme that is down is charged to nobody, from the environment, over $transport" \
            broken_proxy $transport "$scheme://127.0.0.1:$tls/" "${scheme}_proxy=$void" ""
    done
    test_that "a proxy that refuses CONNECT is charged to nobody, from the environment, over $transport" \
        broken_proxy $transport "https://127.0.0.1:$mutual/" "https_proxy=http://127.0.0.1:$open" ""
done

behind_socks() {
    queue "http://behind.proxy.example:$plain/socks5h" '' "$(by_user socks5h "$socks")" "$word"
    lines 2 | drainq add
    drainq run
    equal 2 "$(seen 'behind.proxy.example /socks5h' access.log)"
    queue "http://127.0.0.1:$plain/socks5" '' "$(by_user socks5 "$socks")" "$word"
    lines 1 | drainq add
    drainq run
    equal 1 "$(seen '127.0.0.1 /socks5' access.log)"
}
test_that "socks5h asks the proxy for the host, and both kinds get their credentials from a secret" behind_socks

socks_refuses() {
    queue "http://127.0.0.1:$plain/refused" '' "proxy: 'socks5h://drainq:wrong@127.0.0.1:$socks'"
    lines 1 | drainq add
    ends 75 drainq run
    uncharged proxy
    queue "http://127.0.0.1:$plain/refused" '' "proxy: 'socks5h://127.0.0.1:$nobody'"
    lines 1 | drainq add
    ends 75 drainq run
    uncharged proxy
}
test_that "a SOCKS proxy that is down or lets nobody in is charged to nobody" socks_refuses

forced() {
    for key in "proxy: 'http://127.0.0.1:$open'" "proxy: 'direct'" "$trust" "unixSocket: '$work/socket'"; do
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
    for _ in $(seq 50); do if (($(seen /endless counts) == 2)); then break; fi; sleep 0.1; done
    cat counts
    (($(sed -n 's|^/endless/libcurl ||p' counts) < 20000000))
    (($(sed -n 's|^/endless/urlsession ||p' counts) < 100000000))
}
test_that "of an answer of 100 MB only the beginning is read" endless

# Secrets

kept() {
    local basic
    basic=$(printf 'drainq:%s' "$password" | base64)
    # It looks where it should: what it looks for is in the directory apart.
    equal 3 "$(grep -r -l -a -F -e "$passphrase" -e "$password" "$work" | grep -c "^$work/secrets/")"
    (($(find "$work" -path '*/failed/*' -type f | wc -l) > 0))
    [[ -s said && -s logs && -s squid/access.log ]]
    equal "" "$(grep -r -l -a -F -e "$passphrase" -e "$password" -e "$wrong" -e "${basic%%=*}" --exclude-dir secrets "$work")"
}
test_that "nothing that was left behind or said has a secret in it" kept

exit "$failed"
