# What manuals.sh, newcomer.sh and installed.sh share: the commands of a document, run as they stand there in a world made
# for them.
# What they call a host or a place of the system is, by these rules and no others, something in that world:
#   https://api.example.com, any host with `example`   a receiver on this machine
#   /var/…, /etc/drainq…, /usr/local/…, /run/…         the same below the world's directory
#   port 8080                                          a port that is free

source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
world=$work/world
mkdir "$work/bin"
ln -s "$(realpath --canonicalize-missing "$binary")" "$work/bin/drainq"
root=$PWD
export PATH=$work/bin:$PATH

# displays FILE [SECTION]: the literal displays, each followed by a form feed, as a reader copies them.
displays() {
    awk -v section="${2-}" '
        /^\.Sh / { here = section == "" || $0 == ".Sh " section }
        /^\.Ed/ && shown { printf "\f"; shown = 0 }
        shown
        /^\.Bd -literal/ && here { shown = 1 }' "man/$1" |
        sed -E 's/^\\&//; s/\\\(dq/"/g; s/\\\(aq/'"'"'/g; s/\\\(ga/`/g; s/\\\(ha/^/g; s/\\\(ti/~/g; s/\\-/-/g; s/\\e/\\/g'
}

# receiver ANSWER…: starts one; its URL is in $url, its address in $address.
receiver() {
    local answers=() answer
    for answer; do answers+=(--answer "$answer"); done
    rm -f "$work/url"
    "$binary" receive --max-time 20m --url-file "$work/url" "${answers[@]}" >"$work/received" 2>&1 &
    until [[ -s $work/url ]]; do kill -0 $! || exit; sleep 0.05; done
    url=$(<"$work/url") address=${url#http://}
    port=$(free_port)
}

# localized: standard input, by the rules above.
localized() {
    sed -E \
        -e "s#https?://[a-z0-9.-]*(example|amazonaws)[a-z0-9.-]*(:[0-9]+)?#$url#g; s#[a-z]+\.example\.(com|net):[0-9]+#$address#g" \
        -e "s#(^|[[:blank:]\"'=>])/(var|usr/local|etc/drainq|run)/#\1$world/\2/#g; s#\b8080\b#$port#g"
}

# typed COMMANDS: runs them by bash in the directory of the world. Status, output and errors are in $status, $work/output
# and $work/errors.
typed() {
    status=0
    (cd "$world" && timeout --foreground 60 bash -c "set -o pipefail; $1") >"$work/output" 2>"$work/errors" </dev/null ||
        status=$?
}
