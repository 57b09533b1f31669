#!/usr/bin/env bash
# The example that signs by Standard Webhooks, against the specification's vector and openssl's own HMAC, under each sh
# that is there. Prints `ok …` and `not ok …`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
sign=$PWD/etc/drainq/examples/standard-webhooks-sign
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# check NAME EXPECTED GOT
check() {
    if [[ $2 == "$3" ]]; then
        echo "ok $shell: $1"
    else
        echo "not ok $shell: $1"
        printf '# expected %q\n# got      %q\n' "$2" "$3"
        failed=1
    fi
}

# request ID [MEMBERS]: the line that a headersCommand gets.
request() {
    printf '{%s"bodyLength":1,"headers":{"x":"\\"idempotencyKey\\":\\"no\\""},"idempotencyKey":"%s","method":"POST","url":"https://a.example/b?c=%%7B"}\n' "${2-}" "$1"
}

# signed KEYFILE: signs standard input at a fixed time.
signed() {
    PATH=$scratch/bin:$PATH $shell "$sign" "$@" 2>"$scratch/errors"
}

# expected ID KEYHEX BODYFILE
expected() {
    printf 'webhook-id: %s\nwebhook-timestamp: 1614265330\nwebhook-signature: v1,%s' "$1" "$(
        { printf '%s.1614265330.' "$1"; cat "$3"; } |
            openssl dgst -sha256 -mac HMAC -macopt "hexkey:$2" -binary | openssl base64 -A
    )"
}

if ! command -v openssl >/dev/null; then
    echo "ok webhooks # SKIP openssl is not installed"
    exit 0
fi

mkdir "$scratch/bin"
printf '#!/bin/sh\necho 1614265330\n' >"$scratch/bin/date"
chmod +x "$scratch/bin/date"
head -c 100000 /dev/urandom >"$scratch/random"
printf 'a\0b\n\n' >"$scratch/binary"
: >"$scratch/empty"

for shell in sh dash 'bash --posix' 'busybox sh'; do
    command -v "${shell%% *}" >/dev/null || continue
    # Some busyboxes have a date of their own, whatever PATH says: the time of a signature cannot be fixed there.
    [[ $(PATH=$scratch/bin:$PATH $shell -c date) == 1614265330 ]] || continue

    # https://github.com/standard-webhooks/standard-webhooks: the vector of all its libraries.
    echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >"$scratch/key"
    got=$({ request msg_p5jXN8AQM9LWM0D4loKWxJek; printf '{"test": 2432232314}'; } | signed "$scratch/key")
    check 'the vector of the specification' "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek
webhook-timestamp: 1614265330
webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" "$got"

    for length in 1 24 63 64 65 200; do
        openssl rand "$length" >"$scratch/raw"
        hex=$(od -An -v -tx1 "$scratch/raw" | tr -d ' \n')
        printf 'whsec_%s\r\n' "$(openssl base64 -A <"$scratch/raw")" >"$scratch/key"
        for body in empty binary random; do
            got=$({ request op-1; cat "$scratch/$body"; } | signed "$scratch/key")
            check "a key of $length bytes, $body body" "$(expected op-1 "$hex" "$scratch/$body")" "$got"
        done
    done

    openssl base64 <"$scratch/raw" >"$scratch/key"
    got=$(request op-2 "\"bodyFile\":\"$scratch/random\"," | signed "$scratch/key")
    check 'a body that is a file, a key in several lines without prefix' "$(expected op-2 "$hex" "$scratch/random")" "$got"

    # refused NAME ERROR [ARGUMENT…]: nothing is answered, and the status is not 0.
    refused() {
        local name=$1 error=$2 got status=0
        shift 2
        got=$(signed "$@") || status=$?
        check "$name" "$error, status 1, ''" "$(sed 's/^[^:]*: //' "$scratch/errors"), status $status, '$got'"
    }
    refused 'no key file' 'usage: standard-webhooks-sign KEYFILE' <<<"$(request a)"
    refused 'an empty key file' 'there is no key in the file' "$scratch/empty" <<<"$(request a)"
    refused 'no request' 'there is no request on standard input' "$scratch/key" </dev/null
    refused 'no idempotency key' 'the request has no idempotency key, or one with a quote or backslash in it' "$scratch/key" <<<'{"headers":{},"method":"POST"}'
    refused 'an idempotency key that needs escaping' 'the request has no idempotency key, or one with a quote or backslash in it' "$scratch/key" <<<"$(request 'a\"b')"
    refused 'a body that is not there' 'the file that is the body cannot be read' "$scratch/key" <<<"$(request a "\"bodyFile\":\"$scratch/none\",")"
    refused 'a body whose path needs escaping' 'the file that is the body cannot be read' "$scratch/key" <<<"$(request a "\"bodyFile\":\"$scratch/a\\\"b\",")"
done

# Every program that is started writes down its arguments: the key is in none of them.
shell='sh'
for tool in openssl od tr sed cat; do
    printf '#!/bin/sh\nprintf "%%s\\n" "$0 $*" >>"%s"\nexec %s "$@"\n' "$scratch/arguments" "$(command -v "$tool")" >"$scratch/bin/$tool"
    chmod +x "$scratch/bin/$tool"
done
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >"$scratch/key"
{ request msg_p5jXN8AQM9LWM0D4loKWxJek; printf '{}'; } | signed "$scratch/key" >"$scratch/answer"
check 'it answers' 3 "$(wc -l <"$scratch/answer")"
check 'programs have been watched' true "$( (($(wc -l <"$scratch/arguments") > 5)) && echo true)"
check 'the key is in no argument list' '' "$(grep -E -i 'MfKQ9r8G|31f290f6|31 f2 90 f6|066[0-9]' "$scratch/arguments")"
exit "$failed"
