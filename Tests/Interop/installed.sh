#!/usr/bin/env bash
# What an administrator gets: the packages that etc/packaging/build makes, installed into a Debian without Swift; its units
# under a systemd that has been booted; its line for cron under a real cron; and what is left when it is purged.
# Prints `ok …` and `not ok …`. Needs root, mmdebstrap, systemd-nspawn and lintian.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
here=$PWD/Tests/Interop/installed
release=bookworm

built() { etc/packaging/build "$work/once"; }

# From another directory, and from nothing.
builds_the_same_elsewhere() {
    git clone --quiet . "$work/elsewhere"
    "$work/elsewhere/etc/packaging/build" "$work/twice"
    local file
    for file in "$work"/once/*; do cmp "$file" "$work/twice/${file##*/}"; done
    rm -rf "$work/elsewhere"
}

lintian_is_silent() {
    local said
    said=$(lintian --allow-root --tag-display-limit 0 "$work"/once/*.deb) || true
    echo "$said"
    [[ -z $said ]]
}

a_debian() {
    mmdebstrap --quiet --variant=minbase --include="systemd,systemd-sysv,dbus,cron,jq,procps,libcurl4,ca-certificates" \
        "$release" "$work/base.tar"
    mkdir "$work/root"
    tar --extract --file "$work/base.tar" --directory "$work/root"
    [[ ! -e $work/root/opt/swift ]]
}

# inside COMMAND…: in the Debian, without a boot.
inside() { systemd-nspawn --quiet --register=no --keep-unit --directory "$work/root" "$@" </dev/null; }

installs() {
    cp "$work"/once/*.deb "$work/root/drainq.deb"
    inside dpkg --install /drainq.deb
    says 'drainq 0' inside drainq --version
    says 'uid=[0-9]+\(drainq\)' inside id drainq
    equal 'drainq 755' "$(inside stat --format '%U %a' /var/spool/drainq | tr -d '\r')"
    says 'delivered' inside drainq demo
    inside systemd-analyze verify drainq@orders.service drainq@orders.timer drainq@orders.path drainq-failed@orders.service
}

the_tarball_runs() {
    mkdir "$work/root/opt/drainq"
    tar --extract --gzip --file "$work"/once/*.tar.gz --directory "$work/root/opt/drainq" --strip-components=1
    says 'delivered' inside /opt/drainq/bin/drainq demo
}

# Boots, lets inside-systemd.sh look at things, and tells what it said; one boot for all of it.
under_systemd() {
    install -m 755 "$here/inside-systemd.sh" "$work/root/inside"
    cat >"$work/root/etc/systemd/system/inside.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/inside
StandardOutput=file:/results
StandardError=file:/results
ExecStopPost=/bin/systemctl --no-block poweroff
TimeoutStartSec=200
[Install]
WantedBy=default.target
UNIT
    inside systemctl --quiet enable inside.service
    timeout 300 systemd-nspawn --quiet --register=no --keep-unit --boot --directory "$work/root" </dev/null >"$work/boot" 2>&1 || true
    [[ -s $work/root/results ]] || { tail -50 "$work/boot"; return 1; }
    grep -q '^end$' "$work/root/results"
}

under_cron() {
    install -m 755 "$here/inside-cron.sh" "$work/root/inside"
    timeout 400 systemd-nspawn --quiet --register=no --keep-unit --directory "$work/root" /inside </dev/null >"$work/root/results" 2>&1
    grep -q '^end$' "$work/root/results"
}

# told COMMAND: runs it, and passes on the lines of tests that it left in the results.
told() {
    "$1" >"$work/log" 2>&1 || { cat "$work/log"; echo "not ok $1 did not come to its end"; failed=1; }
    cat "$work/root/results" 2>/dev/null
    ! grep -q '^not ok' "$work/root/results" || failed=1
    rm -f "$work/root/results"
}

purges() {
    inside sh -c 'drainq init --queue /var/spool/drainq/kept && chown -R drainq: /var/spool/drainq/kept'
    inside dpkg --purge drainq
    [[ ! -e $work/root/usr/bin/drainq && ! -e $work/root/etc/cron.d/drainq && ! -e $work/root/etc/drainq ]]
    [[ -d $work/root/var/spool/drainq/kept/new ]]
    equal '' "$(inside dpkg-query --show drainq 2>/dev/null)"
}

test_that 'the packages are built' built
test_that 'built elsewhere, they are the same to the byte' builds_the_same_elsewhere
test_that 'lintian has nothing to say of the Debian package' lintian_is_silent
test_that 'there is a Debian without Swift' a_debian
test_that 'the package installs, and drainq runs there' installs
test_that 'the tarball runs there below a prefix of its own' the_tarball_runs
told under_systemd
told under_cron
test_that 'purged, the program is gone and a queue is not' purges
exit "$failed"
