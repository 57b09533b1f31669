# What the suites of connections share: certificates, nginx with and without TLS, what is asked of a queue, and the
# search for secrets at the end. Sourced after common.bash.

# Readable by squid's own user; what is secret lies in a directory apart, where `kept` does not look.
chmod 711 "$work"
mkdir -m 711 "$work/secrets"
cd "$work" || exit
passphrase=p4ssphrase-$RANDOM$RANDOM password=pr0xy-w0rd-$RANDOM$RANDOM
wrong=wr0ng-$RANDOM$RANDOM
(umask 077 && for name in passphrase password wrong; do echo "${!name}" >"secrets/$name"; done)

tls=$(free_port) expired=$(free_port) mutual=$(free_port) plain=$(free_port)

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

await "$tls" "$plain" || { cat nginx.log; exit 1; }

# What was asked of an operation

last() { drainq list --json | jq -r ".$1"; }
seen() { grep -c -F -- "$1" "$2" || true; }

# comes COUNT TEXT LOG: until so many lines of the log have the text: servers log a request behind its answer.
comes() {
    local n
    for ((n = 0; n < 400; n++)); do
        if (($(seen "$2" "$3") >= $1)); then return; fi
        sleep 0.05
    done
    echo "only $(seen "$2" "$3") of $1 lines have come: $2"
    return 1
}

# logged COUNT TEXT LOG: so many lines of the log have the text, and no more.
logged() {
    comes "$@"
    equal "$1" "$(seen "$2" "$3")"
}

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
    equal null "$(drainq status --json | jq -c '.destinations[0].coolDownUntil')"
    equal '[]' "$(drainq status --json | jq -c .holds)"
}

trust="caFile: \"$work/ca.pem\""

# trusting COMMAND…: where the system's authorities are ours.
trusting() {
    unshare -rm sh -c 'mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && shift && exec "$@"' sh "$work/ca.pem" "$@"
}

# kept: nothing that was left behind or said has a secret in it.
kept() {
    local basic
    basic=$(printf 'drainq:%s' "$password" | base64)
    # It looks where it should: what it looks for is in the directory apart.
    equal 3 "$(grep -r -l -a -F -e "$passphrase" -e "$password" -e "$wrong" "$work" | grep -c "^$work/secrets/")"
    (($(find "$work" -path '*/q/*/*' -name '*.json' -type f | wc -l) > 0))
    [[ -s said && -s logs ]]
    equal "" "$(grep -r -l -a -F -e "$passphrase" -e "$password" -e "$wrong" -e "${basic%%=*}" --exclude-dir secrets "$work")"
}
