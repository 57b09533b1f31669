#!/usr/bin/env bash
# drainq against servers that nobody here wrote: nginx, haproxy and Python's http.server, on loopback ports of their own.
# Prints `ok …` or `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

limited=$(free_port) plain=$(free_port) backend=$(free_port) python=$(free_port) proxy=$(free_port)

cat >"$work/nginx.conf" <<END
daemon off;
pid $work/nginx.pid;
error_log $work/error.log;
worker_processes 1;
events { worker_connections 256; }
http {
    access_log $work/access.log;
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/f; uwsgi_temp_path $work/u;
    scgi_temp_path $work/s;
    limit_req_zone \$binary_remote_addr zone=slow:1m rate=2r/s;
    limit_req_status 429;
    server {
        listen 127.0.0.1:$limited;
        error_page 429 @later;
        location = /x { limit_req zone=slow burst=3 nodelay; proxy_pass http://127.0.0.1:$plain/ok; }
        location @later { add_header Retry-After 1 always; return 429; }
    }
    server {
        listen 127.0.0.1:$plain;
        location = /ok { return 204; }
        location = /401 { return 401; }
        location = /404 { return 404; }
        location = /301 { return 301 /ok; }
        location = /elsewhere { return 307 http://127.0.0.1:$limited/; }
        location = /413 { client_max_body_size 10; proxy_pass http://127.0.0.1:$plain/ok; }
        location = /502 { proxy_pass http://127.0.0.1:$backend; }
        location = /gzip { gzip on; gzip_min_length 1; gzip_types application/json; default_type application/json;
                           return 200 '{"success":true,"padding":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}'; }
    }
}
END
nginx -e "$work/error.log" -c "$work/nginx.conf" &

cat >"$work/haproxy.cfg" <<END
defaults
    mode http
    timeout connect 1s
    timeout client 30s
    timeout server 30s
    timeout tarpit 30s
frontend front
    bind 127.0.0.1:$proxy
    http-request tarpit if { path /silent }
    http-request deny deny_status 403 if { path /denied }
    http-request return status 503 hdr Retry-After 2 if { path /later }
    http-request return status 429 if { path /busy } { rand(100) lt 50 }
    default_backend back
backend back
    server one 127.0.0.1:$plain
    http-request set-path /ok
END
haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &

mkdir "$work/www"
python3 -m http.server --bind 127.0.0.1 --directory "$work/www" "$python" >"$work/python.log" 2>&1 &
await "$limited" "$plain" "$proxy" "$python" || exit 1

delivers() {
    queue "http://127.0.0.1:$plain/ok"
    lines 50 | drainq add
    equal "" "$(drainq run 2>&1)"
    equal "" "$(state)"
}
test_that "nginx takes fifty operations and nobody says a word" delivers

obeys_limit() {
    queue "http://127.0.0.1:$limited/x"
    lines 15 | drainq add
    drainq run --until-empty --max-time 60s --json | tee "$work/run.json" | tail -1
    equal "" "$(state)"
    # Held back as a whole: far fewer refusals than operations times attempts.
    local refused
    refused=$(jq -r 'select(.event == "attempt" and .status == 429) | .id' "$work/run.json" | wc -l)
    ((refused >= 1 && refused <= 30))
    jq -se 'map(select(.event == "attempt") | .attempts) | max <= 1' "$work/run.json"
}
test_that "nginx's limit_req is obeyed, its Retry-After waited for, and no attempt is charged" obeys_limit

holds() {
    queue "http://127.0.0.1:$plain/401"
    lines 3 | drainq add
    ends 69 drainq run
    equal "held=3" "$(state)"
}
test_that "a 401 holds" holds

fails() {
    queue "http://127.0.0.1:$plain/404"
    lines 1 | drainq add
    ends 1 drainq run
    equal "failed=1" "$(state)"
}
test_that "a 404 fails" fails

too_large() {
    queue "http://127.0.0.1:$plain/413"
    printf '{"text":"%s"}\n' "$(head -c 1000 /dev/zero | tr '\0' x)" | drainq add
    ends 1 drainq run
    equal 413 "$(drainq list --json | jq -r .lastStatus)"
}
test_that "a 413 fails" too_large

bad_gateway() {
    queue "http://127.0.0.1:$plain/502"
    lines 2 | drainq add
    ends 75 drainq run
    equal "deferred=2" "$(state)"
}
test_that "an upstream that is down defers" bad_gateway

follows() {
    queue "http://127.0.0.1:$plain/301" 'redirects: "same-origin"'
    lines 1 | drainq add
    drainq run
    queue "http://127.0.0.1:$plain/301"
    lines 1 | drainq add
    ends 69 drainq run
    queue "http://127.0.0.1:$plain/elsewhere" 'redirects: "same-origin"'
    lines 1 | drainq add
    ends 69 drainq run
}
test_that "a redirect is followed at the same origin where the route says so, and nowhere else" follows

zipped() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/gzip" 'accept: { json: { pointer: "/success", equals: true } }' \
            "transport: \"$transport\""
        lines 1 | drainq add
        drainq run
    done
}
test_that "a compressed answer is read, over both transports" zipped

drops() {
    queue "http://127.0.0.1:$proxy/silent" 'timeouts: { connect: "2s", request: "2s", total: "2s" }'
    lines 1 | drainq add
    ends 75 drainq run
    [[ $(drainq list --json | jq -r .lastError) =~ ^(timeout|deadline)$ ]]
}
test_that "haproxy's tarpit ends by a time-out of our own" drops

later() {
    queue "http://127.0.0.1:$proxy/later"
    lines 5 | drainq add
    ends 75 drainq run --concurrency 1
    drainq list --json | jq -se 'map(.attempts) | max == 0'
    drainq status
}
test_that "haproxy's 503 with Retry-After holds back the destination and charges nobody" later

busy() {
    queue "http://127.0.0.1:$proxy/busy" 'retryRateLimited: { schedule: ["100ms"], attempts: 50, jitter: 0 }'
    lines 20 | drainq add
    drainq run --until-empty --max-time 60s
    equal "" "$(state)"
}
test_that "a server that is busy half of the time gets everything in the end" busy

python_refuses() {
    queue "http://127.0.0.1:$python/x"
    lines 1 | drainq add
    ends 1 drainq run
    equal 501 "$(drainq list --json | jq -r .lastStatus)"
    queue "http://127.0.0.1:$python/" 'method: "GET", body: ""'
    lines 1 | drainq add
    drainq run
}
test_that "Python's http.server: a POST is not implemented and fails, a GET is delivered" python_refuses

offline() {
    queue "http://192.0.2.1/x"
    echo '{ routes: { default: { url: "http://192.0.2.1/x" } }, conditions: { network: "online" } }' >"$DRAINQ_QUEUE/drainq.json"
    lines 2 | drainq add
    # A network namespace of its own has no way out.
    ends 75 unshare -rn "$binary" run -v
    equal "new=2" "$(state)"
    says "there is no network" unshare -rn "$binary" run -v
}
test_that "without a network nothing is attempted where the configuration says so" offline

exit "$failed"
