#!/usr/bin/env bash
# README.md as a newcomer follows it: every command of it, section by section, in the order in which they stand there.
# A command ends with 0, or with the status that a comment behind it names (`# status 1`). A session is typed at a terminal,
# and what it shows after `$` is what comes, but for ids, times and the home directory. From its section "Install" on, drainq
# is what that section has installed, and nothing else is in PATH. The line for cron runs in cron's environment. Prints
# `ok …` and `not ok …`, a line for each test.
source "$(dirname "${BASH_SOURCE[0]}")/documents.bash"
receiver 200

# What the commands find that they do not make themselves.
mkdir "$work/prepared"
cp -r etc "$work/prepared/"
echo token >"$work/prepared/etc/drainq/api.token"
chmod 600 "$work/prepared/etc/drainq/api.token"
for file in etc/drainq/examples/*.json5; do localized <"$file" >"$work/prepared/$file"; done
mkdir -p "$work/prepared/home" "$work/tools"
printf '#!/bin/sh\necho \x27{"n":1}\x27\n' >"$work/tools/produce-events"
chmod +x "$work/tools/produce-events"
export PATH=$work/tools:$PATH

# Sections that begin with an empty machine; the others have a queue that works, with something in it.
first_steps='drainq|Your first failure|Install'

# script: the lines on standard input, each with what is expected of its status.
script() {
    local line expected
    echo 'set -m'
    while IFS= read -r line; do
        [[ $line && $line != '#'* ]] || continue
        expected=$(grep -oP '# status \K[0-9]+' <<<"$line") || expected=0
        printf '%s\n' "$line"
        # A person types slower than a receiver starts.
        [[ $line != *'&' ]] || echo "until (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do sleep 0.05; done; (exit 0)"
        printf 's=$?; ((s == %s)) || { echo "status $s:" %q >&2; exit 1; }; (exit $s)\n' "$expected" "$line"
    done
}

# follow SECTION LANGUAGE BLOCK: what the block says to do can be done.
follow() {
    local section=$1 language=$2 block=$3 expected=
    case $language in
    console)
        expected=$(grep -v '^\$ ' <<<"$block" || true)
        block=$(sed -n 's/^\$ //p' <<<"$block")
        ;;
    crontab)
        [[ $block =~ ^([0-9*/,-]+\ ){5} ]]
        block=$(cut -d ' ' -f 6- <<<"$block")
        env -i HOME="$HOME" LOGNAME=ada PATH=/usr/bin:/bin SHELL=/bin/sh /bin/sh -c "$block"
        return
        ;;
    esac
    # What takes a machine of its own is typed by installed.sh, out of the manual that shows the same.
    if [[ $block == 'sudo '* ]]; then
        equal '' "$(grep -vxF -f <(displays drainq-setup.7 | tr -d '\f') <<<"$block" || true)"
        return
    fi
    # What is built is not built again; in the place of the optimised build there are the programs that the suites run.
    case $block in
    'swift run '*)
        cd "$root"
        # "swift test" is what ran this.
        block=$(sed 's/^swift run /&--skip-build /; /^swift test$/d' <<<"$block")
        ;;
    'swift build '*)
        cd "$root"
        if [[ ! ${DRAINQ_WHOLE-} ]]; then
            block=$(sed "s#^swift build -c release .*#true#; s#\.build/release/#$(dirname "$(realpath "$binary")")/#" <<<"$block")
        fi
        ;;
    *) cd "$world" ;;
    esac
    localized <<<"$block" | script >"$work/script"
    if [[ ! $expected ]]; then
        timeout --foreground 600 bash "$work/script" </dev/null
        return
    fi
    TERM=dumb timeout 60 script --quiet --return --command "stty cols 200; bash $work/script" /dev/null >"$work/output" </dev/null
    cat "$work/output"
    equal "$(unnamed <<<"$expected")" "$(unnamed <"$work/output")"
}

# unnamed: standard input, with one id, time and home directory like the other, and the line ends of a file.
unnamed() {
    sed -E "s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/ID/g; s/ in [0-9.]+m?s$/ in TIME/; s#$HOME|/home/ada#HOME#; s/ (200|204) in/ STATUS in/" < <(tr -d '\r')
}

# begin SECTION: a new world.
begin() {
    rm -rf "$world"
    cp -a "$work/prepared" "$world"
    export HOME=$world/home
    unset DRAINQ_QUEUE
    [[ $1 =~ ^($first_steps)$ ]] && return
    export DRAINQ_QUEUE=$HOME/.local/state/drainq
    drainq init --url "$url/{type}/{key}"
    printf '{ routes: { default: { url: "%s/{type}" }, profile: { method: "PUT", coalesce: true } } }' "$url" >"$DRAINQ_QUEUE/drainq.json"
    echo '{"n":1}' | drainq add --type event
}

# installed: what the section has put into the home directory is there from now on, in the place of what was built here.
installed() {
    [[ -x $world/home/.local/bin/drainq && -x $world/home/.local/libexec/drainq/drainq-urlsession ]]
    cp -a "$world/home/.local" "$world/home/.config" "$work/prepared/home/"
    rm "$work/bin/drainq"
}

# uninstalled: nothing of drainq is left there but the queue.
uninstalled() { equal '' "$(find "$world/home" -path "$world/home/.local/state" -prune -o -name '*drainq*' -print)"; }

section= language= block= blocks=0
while IFS= read -r line; do
    if [[ $language && $line == '```' ]]; then
        blocks=$((blocks + 1))
        case $language in
        # embedding.sh builds it.
        swift) test_that "$section: a package" grep -q "README.md" Tests/Interop/embedding.sh ;;
        json5) localized <<<"$block" >"$work/drainq.json"; test_that "$section: a configuration" drainq check --config "$work/drainq.json" ;;
        *) test_that "$section: $(head -n 1 <<<"$block")" follow "$section" "$language" "${block%$'\n'}" ;;
        esac
        language=
    elif [[ $language ]]; then
        block+=$line$'\n'
    elif [[ $line == '```'* ]]; then
        language=${line#'```'} block=
    elif [[ $line == '#'* ]]; then
        if [[ $section == Install ]]; then
            test_that 'Install: drainq is installed' installed
            export PATH=$world/home/.local/bin:$PATH
        fi
        [[ $section != Uninstall ]] || test_that 'Uninstall: nothing is left' uninstalled
        section=${line##*# }
        begin "$section" >/dev/null 2>&1
    fi
done <README.md
test_that 'all blocks were run' equal "$(($(grep -c '^```' README.md) / 2))" "$blocks"
exit "$failed"
