#!/usr/bin/env bash
# What etc/ has, as far as it can be tried without a system that boots (that is installed.sh): by the tools of those who
# will read it, or by running it. Prints `ok …` and `not ok …`.
# Needs root, systemd's tools, promtool, ruby, curl, and PyPI for the schema of Kubernetes.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
program=$(realpath "$binary")

serve() {
    rm -f "$work/url"
    "$binary" receive --json --url-file "$work/url" "$@" >"$work/received" 2>&1 &
    until [[ -s $work/url ]]; do kill -0 $! || exit; sleep 0.05; done
    url=$(<"$work/url")
}
serve --answer '/ok 200 *1000' --answer '/down 503 *1000' --answer '/bad 400 *1000' --answer '/held 401 *1000'

# --- systemd

mkdir -p "$work/units/drainq@.service.d"
cp etc/heartbeat/heartbeat.conf "$work/units/drainq@.service.d"
for unit in etc/systemd/drainq*; do sed "s#/usr/bin/drainq#$program#" "$unit" >"$work/units/${unit##*/}"; done

units_are_right() {
    # The manuals are not installed here.
    equal '' "$(systemd-analyze verify --man=no "$work"/units/drainq* 2>&1 | grep -v 'drainq@.service.d: ')"
    # The drop-in was read.
    sed -i 's/^ExecStartPost=-/&relative-/' "$work/units/drainq@.service.d/heartbeat.conf"
    says 'relative' systemd-analyze verify --man=no "$work/units/drainq@.service"
    cp etc/heartbeat/heartbeat.conf "$work/units/drainq@.service.d"
}
# The units of a user find the program where README.md installs it, and run the queue that a user has.
units_of_a_user_are_right() {
    local home=$work/user unit
    mkdir -p "$home/.local/bin" "$work/user-units"
    ln -sf "$program" "$home/.local/bin/drainq"
    # systemd-analyze does not look into ExecSearchPath.
    for unit in etc/systemd/user/*; do sed "s#^ExecStart=drainq#ExecStart=$program#" "$unit" >"$work/user-units/${unit##*/}"; done
    equal '' "$(XDG_RUNTIME_DIR=$work systemd-analyze verify --user --man=no "$work"/user-units/* 2>&1)"
    grep -q '^ExecSearchPath=%h/.local/bin:' etc/systemd/user/drainq.service
    env -i HOME="$home" "$program" init --quiet --url "$url/ok"
    env -i HOME="$home" "$program" add <<<'{}'
    [[ -d $(sed -n "s#^ConditionPathIsDirectory=%h#$home#p" etc/systemd/user/drainq.service) ]]
    [[ -d $(sed -n "s#^PathChanged=%h#$home#p" etc/systemd/user/drainq.path) ]]
    says '1 delivered' env -i HOME="$home" PATH="$home/.local/bin" /bin/sh -c \
        "$(sed -n "s#%h#$home#g; s/^ExecStart=//p" etc/systemd/user/drainq.service) --verbose"
}
sandbox_is_tight() {
    local said
    systemd-analyze security --offline=true --threshold=20 --no-pager "$work/units/drainq@.service" >"$work/security"
    said=$(sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p' "$work/security")
    grep -q "rates it $said," man/drainq-setup.7
}

# --- the environments that systemd and cron give, and no others

# spooled NAME…: queues below a directory in the place of /var/spool/drainq, owned by somebody in the place of drainq.
spooled() {
    rm -rf "$work/spool"
    mkdir "$work/spool"
    chmod 711 "$work"
    chown nobody "$work/spool"
    cp "$program" "$work/drainq"
    local name
    for name; do
        as_nobody "$work/drainq" init --quiet --queue "$work/spool/$name"
        echo "{ routes: { default: { url: \"$url/$name\" } } }" >"$work/spool/$name/drainq.json"
        as_nobody sh -c "echo '{}' | '$work/drainq' add --queue '$work/spool/$name'"
    done
}
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
here() { sed "s#/usr/bin/drainq#$work/drainq#; s#/var/spool/drainq#$work/spool#g; s#/run/systemd/system#$work/none#; s#%i#${1-}#g"; }
of_systemd=(env -i LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin JOURNAL_STREAM=8:1 SYSTEMD_EXEC_PID=1
    INVOCATION_ID=0123456789abcdef0123456789abcdef)
of_user=(HOME=/var/spool/drainq LOGNAME=nobody USER=nobody SHELL=/usr/sbin/nologin)
# started UNIT QUEUE STATUS COMMAND…: runs the unit's command in the environment COMMAND, and it ends so.
started() {
    local command
    command=$(sed -n 's/^ExecStart=//p' "etc/systemd/$1" | here "$2")
    ends "$3" "${@:4}" sh -c "exec $command"
}
units_run_as_systemd_starts_them() {
    local environment=(as_nobody "${of_systemd[@]}" "${of_user[@]}")
    spooled ok down
    started drainq@.service ok 0 "${environment[@]}"
    equal 0 "$(waiting ok)"
    started drainq@.service down 75 "${environment[@]}"
    says '1 deferred' started drainq-failed@.service down 0 "${environment[@]}"
}
# Somebody has left User= out: root has no HOME there, and takes only a queue of its own.
units_run_without_a_user() {
    spooled ok
    says 'it belongs to user [0-9]*, neither to root' started drainq@.service ok 77 "${of_systemd[@]}"
    chown --recursive root:root "$work/spool"
    started drainq@.service ok 0 "${of_systemd[@]}"
    equal 0 "$(waiting ok)"
    says '^all is well: nothing waits' started drainq-failed@.service ok 0 "${of_systemd[@]}"
}
waiting() { find "$work/spool/$1"/{new,deferred} -name '*.json' | wc -l; }
cron_runs_all_queues() {
    spooled ok down
    local line
    line=$(grep '^\*' etc/cron.d/drainq)
    [[ $line =~ ^(\*\ ){5}drainq\ (.*) ]]
    # The package is in /usr/bin, which cron has in PATH.
    ends 0 as_nobody env -i HOME=/var/spool/drainq LOGNAME=nobody PATH="/usr/bin:/bin:$work" SHELL=/bin/sh \
        /bin/sh -c "$(here <<<"${BASH_REMATCH[2]}")" >"$work/mail" 2>&1
    equal '' "$(<"$work/mail")"
    equal '0 1' "$(waiting ok) $(waiting down)"
}
a_heartbeat_is_sent() {
    local command
    command=$(sed -n 's/^ExecStartPost=-//p' etc/heartbeat/heartbeat.conf | sed "s#https://heartbeat.example.com#$url#; s#%i#ok#")
    as_nobody "${of_systemd[@]}" "${of_user[@]}" sh -c "$command"
    caught_up "$url" "$work/received"
    grep '"method":"GET"' "$work/received" | grep -q '"target":"/ok"'
    ends 22 as_nobody "${of_systemd[@]}" sh -c "${command/ok/bad}" 2>/dev/null
}

# --- Homebrew

# By Ruby's own parser; and by a stand-in for Homebrew, which has no package here: it installs files that there are, all
# manuals among them.
formula_is_right() {
    ruby -wc etc/homebrew/drainq.rb
    ruby - etc/homebrew/drainq.rb <<'RUBY'
$names = []
class Place
  def /(_name) = self
  def install(*names) = names.flatten.each { |name| $names.concat(name.is_a?(Hash) ? name.keys : [name]) }
end
class Formula
  def self.test; end
  def self.method_missing(*) = nil
  def self.respond_to_missing?(*) = true
  %i[bin libexec share man1 man5 man7 bash_completion zsh_completion fish_completion].each { |name| define_method(name) { Place.new } }
  def system(*words) = $build = words
end
load ARGV[0]
Drainq.new.install
abort "#{$build}" unless $build[0, 2] == %w[swift build]
missing = $names.reject { |name| name.start_with?(".build/release/drainq") || File.exist?(name) } + (Dir["man/*"] - $names)
abort "#{missing}" unless missing.empty?
RUBY
}

# --- users and directories

root=$work/root
users_and_directories_are_made() {
    mkdir -p "$root"/{etc,usr/lib/{sysusers.d,tmpfiles.d}}
    cp etc/sysusers.d/drainq.conf "$root/usr/lib/sysusers.d"
    cp etc/tmpfiles.d/drainq.conf "$root/usr/lib/tmpfiles.d"
    systemd-sysusers --root="$root" drainq.conf
    systemd-tmpfiles --root="$root" --create drainq.conf
    local user
    user=$(awk -F: '$1 == "drainq" { print $3, $6, $7 }' "$root/etc/passwd")
    [[ $user =~ ^[0-9]+\ /var/spool/drainq\ /usr/sbin/nologin$ ]]
    equal "755 ${user%% *}" "$(stat --format '%a %u' "$root/var/spool/drainq")"
    equal '700 0' "$(stat --format '%a %u' "$root/etc/drainq/credentials")"
}
queues_do_not_age() {
    mkdir -p "$root/var/spool/drainq/orders/new"
    touch --date '3 years ago' "$root/var/spool/drainq/orders/new/old" "$root/var/spool/drainq/orders/new"
    systemd-tmpfiles --root="$root" --clean --create drainq.conf
    [[ -e $root/var/spool/drainq/orders/new/old ]]
}

# --- NetworkManager

# What the dispatcher calls: one queue has a timer, the interface is as metered as $METERED says, and a unit's name is taken
# until it has run.
mkdir "$work/fakes"
cat >"$work/fakes/systemctl" <<'FAKE'
#!/bin/sh
echo "$TIMERS"
FAKE
cat >"$work/fakes/nmcli" <<'FAKE'
#!/bin/sh
echo "$METERED"
FAKE
cat >"$work/fakes/systemd-run" <<FAKE
#!/bin/sh
echo "\$*" >>"$work/started"
FAKE
chmod +x "$work"/fakes/*
timers='drainq@orders.timer loaded active waiting Deliver what is due in the queue orders each minute'

# dispatched EXPECTED INTERFACE ACTION [NAME=VALUE…]: how often the queues are started.
dispatched() {
    rm -f "$work/started"
    touch "$work/started"
    env PATH="$work/fakes:$PATH" TIMERS="$timers" METERED=no "${@:4}" etc/NetworkManager/dispatcher.d/50-drainq "$2" "$3"
    equal "$1" "$(wc -l <"$work/started")"
}
network_is_back() {
    dispatched 1 eth0 up CONNECTIVITY_STATE=FULL
    grep -q -- '--on-active=5s --unit=drainq-network systemctl start --no-block drainq@orders.service$' "$work/started"
    dispatched 1 none connectivity-change CONNECTIVITY_STATE=FULL
    dispatched 1 '' connectivity-change CONNECTIVITY_STATE=FULL
    dispatched 1 wlan0 dhcp4-change
    dispatched 1 wlan0 up 'METERED=no (guessed)'
}
network_is_not_back() {
    dispatched 0 eth0 down CONNECTIVITY_STATE=FULL
    dispatched 0 eth0 pre-up CONNECTIVITY_STATE=FULL
    dispatched 0 none connectivity-change CONNECTIVITY_STATE=PORTAL
    dispatched 0 none connectivity-change CONNECTIVITY_STATE=LIMITED
    dispatched 0 eth0 up CONNECTIVITY_STATE=NONE
}
network_costs() {
    dispatched 0 wwan0 up METERED=yes
    dispatched 0 wwan0 up 'METERED=yes (guessed)'
}
nobody_wants_it() { dispatched 0 eth0 up TIMERS=; }

# --- launchd

plist_is_right() {
    queue "$url/ok"
    echo '{}' | drainq add
    local arguments
    mapfile -t arguments < <(python3 - etc/launchd/net.drainq.queue.plist <<'PYTHON'
import plistlib, sys
with open(sys.argv[1], "rb") as file:
    job = plistlib.load(file)
arguments = job["ProgramArguments"]
queue = arguments[arguments.index("--queue") + 1]
assert job["WatchPaths"] == [queue + "/new"] and job["StartInterval"] == 60 and job["Label"] + ".plist" in sys.argv[1]
assert job["Umask"] == 0o077
print(*arguments[1:], sep="\n")
PYTHON
    )
    ((${#arguments[@]} > 3))
    env -i HOME="$work" PATH=/usr/bin:/bin:/usr/sbin:/sbin "$program" "${arguments[@]/\/Users\/ME\/.local\/state\/drainq/$DRAINQ_QUEUE}"
    equal '' "$(drainq list)"
}

# --- Prometheus and Grafana

rules_are_right() { promtool check rules --lint-fatal etc/prometheus/drainq.rules.yml; }
rules_fire() { (cd Tests/Interop/prometheus && promtool test rules rules.test.yml); }

# Each alert fires on what drainq writes when its cause is there, and none fires before.
rules_fire_on_expositions() {
    local types=() type
    queue "$url"
    for type in down held bad paused; do types+=("$type: { destination: \"$type\" },"); done
    echo "{ routes: { default: { url: \"$url/{type}\" }, ${types[*]} } }" >"$DRAINQ_QUEUE/drainq.json"
    echo '{}' | drainq add --type ok
    drainq run
    drainq status --prometheus >"$work/before.prom"
    for type in down down down down down held held bad; do echo '{}' | drainq add --type $type; done
    echo "{\"drainq\":1,\"type\":\"held\",\"createdAt\":\"$(date --utc --date='7 hours ago' +%FT%TZ)\",\"payload\":1}" >"$DRAINQ_QUEUE/new/old"
    echo 'no operation' >"$DRAINQ_QUEUE/new/none"
    drainq pause --destination paused
    # A file in the place of a directory.
    echo >"$DRAINQ_QUEUE/state/keys"
    ends 74 drainq run --concurrency 1
    drainq status --prometheus >"$work/after.prom"
    cp etc/prometheus/drainq.rules.yml "$work/rules.yml"
    python3 Tests/Interop/prometheus/expositions.py "$work/before.prom" "$work/after.prom" >"$work/rules.test.yml"
    (cd "$work" && promtool test rules rules.test.yml)
}

# Every expression parses, and asks for metrics and labels that there are.
queries_are_answered() {
    queue "$url"
    echo "{ routes: { default: { url: \"$url/{type}\" } } }" >"$DRAINQ_QUEUE/drainq.json"
    for type in ok down bad held; do echo '{}' | drainq add --type "$type"; done
    echo 'no operation' >"$DRAINQ_QUEUE/new/none"
    drainq run || true
    # The usual interval is that of the runs of two minutes at least: a slot of eleven bytes for each.
    python3 -c 'import sys, time
time = int(time.time()) - 60
with open(sys.argv[1], "r+b") as runs:
    runs.seek(time // 60 % 1500 * 11)
    runs.write(b"%d\n" % time)' "$DRAINQ_QUEUE/state/runs"
    drainq status --prometheus >"$work/metrics"
    python3 - "$work/metrics" "$work/queries.yml" <<'PYTHON'
import json, re, sys
metrics, labels = set(), {"instance"}
for line in open(sys.argv[1]):
    if name := re.match(r"# TYPE (\S+)", line):
        metrics.add(name[1])
    elif not line.startswith("#"):
        labels |= set(re.findall(r'[{,](\w+)="', line))
dashboard = json.load(open("etc/grafana/drainq-dashboard.json"))
queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
variables = [item["query"]["query"] for item in dashboard["templating"]["list"] if item["type"] == "query"]
alerts = re.findall(r"(?ms)^ +expr: (.*?)\n +(?:for|labels):", open("etc/prometheus/drainq.rules.yml").read())
assert len(queries) >= 11 and len(variables) == 2 and len(alerts) == 9
for text in queries + variables + alerts:
    unknown = set(re.findall(r"\bdrainq_\w+", text)) - metrics
    unknown |= set(re.findall(r"(\w+)=~?\\?\"", text)) - labels
    for listed in re.findall(r"(?:by|on) \(([^)]*)\)", text):
        unknown |= set(listed.split(", ")) - labels
    assert not unknown, f"{unknown} in {text}"
assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
with open(sys.argv[2], "w") as rules:
    rules.write("groups: [{ name: dashboard, rules: [\n")
    for number, text in enumerate(queries):
        rules.write(f"  {{ record: 'query{number}', expr: {json.dumps(text)} }},\n")
    rules.write("] }]\n")
PYTHON
    promtool check rules "$work/queries.yml"
}

# --- Kubernetes

python=$work/venv/bin/python
manifests_are_valid() {
    /usr/bin/python3 -m venv "$work/venv"
    "$python" -m pip --quiet --disable-pip-version-check install kubernetes-validate==1.37.0
    # The oldest version that has all of it, and a new one.
    validate() { "$work/venv/bin/kubernetes-validate" --strict --kubernetes-version "$1" "etc/kubernetes/$2.yaml"; }
    validate 1.25 cronjob
    validate 1.29 indexed-job
    for manifest in etc/kubernetes/*; do validate 1.37 "$(basename "$manifest" .yaml)"; done
}
# job MANIFEST PART: the job's configuration or command, on a queue, or a directory of queues, of the test's.
job() {
    "$python" - "$@" <<'PYTHON' >"$work/job"
import sys, yaml
configuration, _, job = yaml.safe_load_all(open(f"etc/kubernetes/{sys.argv[1]}.yaml"))
container, = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
print(configuration["data"]["drainq.json"] if sys.argv[2] == "configuration" else container["command"][2])
PYTHON
    sed -e "s#https://api.example.com/v1/{type}#$url/{type}#; s#/run/secrets/drainq#$work/secrets#" \
        -e "s#/queue#$DRAINQ_QUEUE#; s#/etc/drainq/#$work/#" "$work/job"
}
# manifest NAME: its configuration and secret are there; `as_job` does what its pod does.
manifest() {
    mkdir -p "$work/secrets"
    (umask 077; echo s3cret >"$work/secrets/api.token")
    job "$1" configuration >"$work/drainq.json"
    job "$1" command >"$work/command"
    ln -sf "$program" "$work/fakes/drainq"
}
as_job() { env PATH="$work/fakes:$PATH" "$@" sh "$work/command"; }
job_delivers() {
    queue "$url"
    manifest cronjob
    echo '{}' | drainq add --type ok
    ends 0 as_job
    caught_up "$url" "$work/received"
    grep -q 'Bearer s3cret' "$work/received"
    equal '' "$(drainq list)"
    echo '{}' | drainq add --type down
    ends 0 as_job
    equal deferred=1 "$(state)"
    echo '{}' | drainq add --type bad
    ends 1 as_job
}
# Each index has its queue, which its first run makes; an operation gets into one by the line that the manifest shows.
indexed_job_delivers() {
    local count index customer line
    queue "$url"
    rm -r "$DRAINQ_QUEUE"
    mkdir "$DRAINQ_QUEUE"
    manifest indexed-job
    count=$(sed -n 's/^ *completions: //p' etc/kubernetes/indexed-job.yaml)
    for ((index = 0; index < count; index++)); do ends 0 as_job JOB_COMPLETION_INDEX="$index"; done
    equal "$count" "$(ls "$DRAINQ_QUEUE" | wc -l)"
    line=$(sed -n 's/^#   \(drainq add .*\)/\1/p' etc/kubernetes/indexed-job.yaml | sed "s#/queue#$DRAINQ_QUEUE#")
    for customer in anna berta carla anna; do eval "$line --type ok" <<<"{\"for\":\"$customer\"}"; done
    # A queue that is down, and one whose operation is bad, are no other's concern.
    drainq add --queue "$DRAINQ_QUEUE/0" --type down <<<'{}'
    drainq add --queue "$DRAINQ_QUEUE/1" --type bad <<<'{}'
    ends 0 as_job JOB_COMPLETION_INDEX=0
    ends 1 as_job JOB_COMPLETION_INDEX=1
    for ((index = 2; index < count; index++)); do ends 0 as_job JOB_COMPLETION_INDEX="$index"; done
    equal '1 deferred 1 failed ' "$(for ((index = 0; index < count; index++)); do
        drainq list --json --queue "$DRAINQ_QUEUE/$index"
    done | jq -r .state | sort | uniq -c | awk '{ printf "%s %s ", $1, $2 }')"
    caught_up "$url" "$work/received"
}

test_that 'systemd: the units are right' units_are_right
test_that "systemd: a user's own units are right, and run the user's queue" units_of_a_user_are_right
test_that 'systemd: the sandbox is at most 2.0 exposed, and as much as drainq-setup(7) says' sandbox_is_tight
test_that 'systemd: the units run in the environment that systemd gives' units_run_as_systemd_starts_them
test_that 'systemd: the units run in the environment that systemd gives without User=' units_run_without_a_user
test_that 'systemd: a heartbeat is sent' a_heartbeat_is_sent
test_that 'cron: its line runs all queues in the environment that cron gives, and says nothing' cron_runs_all_queues
test_that 'Homebrew: the formula is right' formula_is_right
test_that 'sysusers and tmpfiles make the user and the directories' users_and_directories_are_made
test_that 'tmpfiles takes nothing out of a queue, however old' queues_do_not_age
test_that 'NetworkManager: queues are run when the network is back' network_is_back
test_that 'NetworkManager: queues are not run without a network' network_is_not_back
test_that 'NetworkManager: queues are not run over a metered network' network_costs
test_that 'NetworkManager: nothing is run where no queue has a timer' nobody_wants_it
test_that 'launchd: the job is right, and runs the queue it watches' plist_is_right
test_that 'Prometheus: the alerts are right' rules_are_right
test_that 'Prometheus: the alerts fire when they are to, and not else' rules_fire
test_that 'Prometheus: each alert fires on what drainq writes' rules_fire_on_expositions
test_that 'Prometheus and Grafana: what is asked for is there' queries_are_answered
test_that 'Kubernetes: the manifests are valid' manifests_are_valid
test_that 'Kubernetes: the job delivers, and fails when somebody has to look' job_delivers
test_that 'Kubernetes: the indexed job delivers, each index from a queue of its own' indexed_job_delivers
exit "$failed"
