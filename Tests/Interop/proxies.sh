#!/usr/bin/env bash
# drainq through proxies that nobody here wrote, squid and microsocks, to nginx. Prints `ok …` or `not ok …`, a line for
# each test.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
source Tests/Interop/connections.bash
open=$(free_port) closed=$(free_port) sealed=$(free_port) socks=$(free_port) nobody=$(free_port)

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

# It alone knows the host of its own.
{ cat /etc/hosts; echo '127.0.0.1 behind.proxy.example'; } >hosts
unshare -rm sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$work/hosts" \
    microsocks -i 127.0.0.1 -p "$socks" -u drainq -P "$password" >microsocks.log 2>&1 &

# squid behind TLS
cat >haproxy.cfg <<END_OF_FILE
defaults
    mode tcp
    timeout connect 1s
    timeout client 10s
    timeout server 10s
listen sealed
    bind 127.0.0.1:$sealed ssl crt $work/server.both.pem
    server squid 127.0.0.1:$closed
END_OF_FILE
haproxy -db -f haproxy.cfg >haproxy.log 2>&1 &

await "$open" "$sealed" "$socks" || { cat ./*.log ./*.out; exit 1; }

# Proxies

by_user() { echo "proxy: '$1://drainq:\${secret:word}@127.0.0.1:$2'"; } # SCHEME PORT
word="secrets: { word: { file: '$work/secrets/password' } }"

by_configuration() {
    queue "http://127.0.0.1:$plain/configured" '' "proxy: \"http://127.0.0.1:$open\""
    lines 2 | drainq add
    drainq run
    logged 2 "POST http://127.0.0.1:$plain/configured" squid/access.log
    queue "https://127.0.0.1:$tls/tunnel" '' "proxy: \"http://127.0.0.1:$open\", $trust"
    lines 2 | drainq add
    drainq run
    logged 2 'HTTP/2.0 127.0.0.1 /tunnel' access.log
    comes 1 "CONNECT 127.0.0.1:$tls" squid/access.log
}
test_that "squid is gone through where the configuration says so, by CONNECT for https" by_configuration

by_environment() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/$transport/environment" '' "transport: \"$transport\""
        lines 1 | drainq add
        http_proxy=http://127.0.0.1:$open drainq run
        logged 1 "POST http://127.0.0.1:$plain/$transport/environment" squid/access.log
        lines 1 | drainq add
        http_proxy=http://127.0.0.1:$open no_proxy=127.0.0.1 drainq run
        logged 1 "POST http://127.0.0.1:$plain/$transport/environment" squid/access.log
        logged 2 "/$transport/environment" access.log
    done
}
test_that "squid is gone through where the environment says so, over both transports, but for no_proxy" by_environment

tunnel_by_environment() {
    queue "https://127.0.0.1:$tls/words/tunnel" '' 'transport: "urlsession"'
    lines 2 | drainq add
    local before
    before=$(seen "CONNECT 127.0.0.1:$tls" squid/access.log)
    https_proxy=http://127.0.0.1:$open trusting "$binary" run
    comes $((before + 1)) "CONNECT 127.0.0.1:$tls" squid/access.log
    logged 2 '/words/tunnel' access.log
}
test_that "URLSession tunnels through squid" tunnel_by_environment

direct() {
    queue "http://127.0.0.1:$plain/direct" '' 'proxy: "direct"'
    lines 1 | drainq add
    http_proxy=http://127.0.0.1:$nobody all_proxy=http://127.0.0.1:$nobody drainq run
    equal 0 "$(seen "127.0.0.1:$plain/direct" squid/access.log)"
    logged 1 /direct access.log
}
test_that "'direct' is direct, whatever the environment says" direct

credentials() {
    for url in "http://127.0.0.1:$plain/known" "https://127.0.0.1:$tls/known"; do
        queue "$url" '' "$(by_user http "$closed"), $trust" "$word"
        lines 2 | drainq add
        drainq run
        equal "" "$(state)"
    done
    logged 4 /known access.log
    queue "https://127.0.0.1:$tls/known/sealed" '' "$(by_user https "$sealed"), $trust" "$word"
    lines 2 | drainq add
    drainq run
    logged 2 /known/sealed access.log
}
test_that "a proxy gets its credentials from a secret, behind TLS too" credentials

credentials_of_environment() {
    for transport in urlsession libcurl; do
        queue "http://127.0.0.1:$plain/$transport/named" '' "transport: '$transport'"
        lines 1 | drainq add
        http_proxy=http://drainq:$password@127.0.0.1:$closed drainq run
        logged 1 "/$transport/named" access.log
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
    queue "$2" 'retry: { schedule: ["1m"], attempts: 2 }' "circuitBreaker: 1, $4 transport: \"$1\""
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
    logged 2 'behind.proxy.example /socks5h' access.log
    queue "http://127.0.0.1:$plain/socks5" '' "$(by_user socks5 "$socks")" "$word"
    lines 1 | drainq add
    drainq run
    logged 1 '127.0.0.1 /socks5' access.log
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

test_that "nothing that was left behind or said has a secret in it" kept

exit "$failed"
