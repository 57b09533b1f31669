#!/usr/bin/env bash
# What an administrator gets: the packages that etc/packaging/build makes, installed into a Debian without Swift as
# drainq-setup(7) says, every command of which is typed here; its units under a systemd that has been booted, its line for
# cron under a real cron; and what is left when it is purged. Prints `ok …` and `not ok …`.
# Needs root, mmdebstrap, systemd-nspawn, lintian, and a mirror of Debian.
source "$(dirname "${BASH_SOURCE[0]}")/documents.bash"
debian=$work/debian
export DEBFULLNAME='A Distributor' DEBEMAIL=packages@example.org

# aside NAME COMMAND…: meanwhile; what it says is in the file NAME.
declare -A aside
aside() {
    "${@:2}" >"$work/$1" 2>&1 </dev/null &
    pids+=($!) aside[$1]=$!
}

# came NAME: waits for it, with its status in $outcome.
came() {
    outcome=0
    wait "${aside[$1]}" || outcome=$?
}

went_well() { cat "$work/$1"; equal 0 "$outcome"; }

built() { etc/packaging/build "$work/once"; }

# Where they are not, it says in which files, and which bytes of them.
are_the_same() {
    went_well twice.log
    local file build
    for file in "$work"/once/*; do
        cmp "$file" "$work/twice/${file##*/}" && continue
        for build in once twice; do
            mkdir "$work/unpacked.$build"
            tar --extract --file "$work/$build"/*.tar.gz --directory "$work/unpacked.$build"
        done
        cd "$work/unpacked.once"
        find . -type f -exec sh -c 'cmp "$1" "$2/$1" || { cmp -l "$1" "$2/$1" | wc -l; cmp -l "$1" "$2/$1" | head -n 40; }' - {} \
            "$work/unpacked.twice" \;
        return 1
    done
}

lintian_is_silent() { equal '' "$(lintian --allow-root --tag-display-limit 0 "$work"/once/*.deb)"; }

# is_near BYTES MEGABYTES: within a twentieth.
is_near() {
    (($1 * 20 > $2 * 19000000 && $1 * 20 < $2 * 21000000)) || { echo "$1 bytes are not about $2 MB"; return 1; }
}

# What the manual says of it: sizes in megabytes, and the libraries.
is_as_the_manual_says() {
    local manual packed installed
    manual=$(tr '\n' ' ' <man/drainq-setup.7)
    packed=$(stat --format %s "$work"/once/*.deb) installed=$(dpkg-deb --field "$work"/once/*.deb Installed-Size)
    [[ $manual =~ ([0-9]+)\ MB\ to\ fetch\ and\ ([0-9]+)\ MB ]]
    is_near "$packed" "${BASH_REMATCH[1]}"
    is_near $((installed * 1024)) "${BASH_REMATCH[2]}"
    equal 'ca-certificates libc6 libcurl4 systemd-standalone-sysusers systemd-standalone-tmpfiles' \
        "$(dpkg-deb --field "$work"/once/*.deb Depends | tr ',' '\n' | sed 's/^ *\([^ ]*\).*/\1/' | sort | paste -sd' ')"
}

# inside [OPTION…] COMMAND…: in the Debian, without a boot.
inside() { systemd-nspawn --quiet --register=no --keep-unit --console=pipe --directory "$debian" "$@" </dev/null; }

# unfold SECTION: its displays, each as a file of /setup in the Debian, with the receiver in the place of a server.
unfold() {
    local number=0 display
    while IFS= read -r -d $'\f' display; do
        number=$((number + 1))
        sed 's#https://api.example.com#http://127.0.0.1:8088#' <<<"${display%$'\n'}" >"$debian/setup/$1.$number"
    done < <(displays drainq-setup.7 "$1")
}

installs() {
    local section display
    mkdir "$debian/setup"
    cp Tests/Interop/installed/* "$debian/setup"
    while IFS= read -r section; do unfold "$section"; done < <(sed -n 's/^\.Sh //p' man/drainq-setup.7)
    # Debian's libraries come from its mirror; nobody is there to agree.
    echo 'APT::Get::Assume-Yes "true";' >"$debian/etc/apt/apt.conf.d/agreed"
    # sudo looks its own host up.
    echo "127.0.0.1 localhost ${debian##*/} ${debian##*/}.cron" >>"$debian/etc/hosts"
    [[ ! -e $debian/usr/lib/x86_64-linux-gnu/libcurl.so.4 ]]
    cp "$work"/once/*.deb "$debian/srv"
    for display in "$debian"/setup/INSTALLING.*; do
        inside --chdir=/srv bash -euo pipefail "${display#"$debian"}"
    done
    equal 'drainq drainq 755' "$(inside stat --format '%U %G %a' /var/spool/drainq)"
    says '^drainq 0' inside drainq --version
    says 'DRAINQ-SETUP' inside man drainq-setup
    equal '' "$(inside sh -c 'systemd-analyze verify drainq@q.service drainq@q.timer drainq@q.path drainq-failed@q.service 2>&1')"
}

the_tarball_runs() {
    mkdir "$debian/opt/drainq"
    tar --extract --gzip --file "$work"/once/*.tar.gz --directory "$debian/opt/drainq" --strip-components=1
    says 'delivered' inside /opt/drainq/bin/drainq demo
    [[ -s $debian/opt/drainq/share/man/man1/drainq.1.gz && -s $debian/opt/drainq/share/doc/drainq/README.md ]]
}

# A package to upgrade to: this one, with a higher version.
newer() {
    dpkg-deb --raw-extract "$work"/once/*.deb "$work/newer"
    sed -i 's/^Version: .*/&+1/' "$work/newer/DEBIAN/control"
    rm "$debian"/srv/*.deb
    dpkg-deb --root-owner-group -Znone --build "$work/newer" "$debian/srv/drainq_newer.deb"
}

# A machine and another one, without a network but their own.
under_cron() {
    timeout 500 systemd-nspawn --quiet --register=no --keep-unit --console=pipe --private-network --directory "$debian.cron" \
        /setup/inside-cron.sh
}
under_systemd() {
    cat >"$debian/etc/systemd/system/inside.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/setup/inside-systemd.sh
StandardOutput=file:/results
StandardError=file:/results
ExecStopPost=/bin/systemctl --no-block poweroff
TimeoutStartSec=500
[Install]
WantedBy=default.target
UNIT
    systemctl --quiet --root "$debian" enable inside.service
    timeout --kill-after=20 600 systemd-nspawn --quiet --register=no --keep-unit --console=pipe --private-network --boot --directory "$debian" ||
        true
}

# told NAME FILE: the lines of tests in the file, which says that it is complete.
told() {
    grep '^ok\|^not ok\|^    ' "$2"
    ! grep -q '^not ok' "$2" || failed=1
    test_that "$1 came to its end" bash -c 'grep -q "^end" "$1" || { tail -n 30 "$2"; exit 1; }' - "$2" "$work/$1"
}

every_display_was_typed() {
    equal "$(displays drainq-setup.7 | tr -cd '\f' | wc -c)" "$(find "$debian/setup" -name '*.[1-9]' | wc -l)"
    equal "$(find "$debian/setup" -name '*.[1-9]' ! -name 'INSTALLING.*' | wc -l)" \
        "$(cat "$work/cron" "$debian/results" | grep -c '^ok .*: drainq-setup(7), ')"
}

aside debian.log mmdebstrap --variant=minbase --skip=cleanup/apt/lists \
    --include=systemd,systemd-sysv,dbus,cron,man-db,sudo bookworm "$debian"
test_that 'the packages are built' built
# In another directory, and from nothing.
git clone --quiet . "$work/elsewhere"
aside twice.log timeout 900 "$work/elsewhere/etc/packaging/build" "$work/twice"
test_that 'lintian has nothing to say of the Debian package' lintian_is_silent
test_that 'sizes and dependencies are as drainq-setup(7) says' is_as_the_manual_says
came debian.log
test_that 'there is a Debian without Swift' went_well debian.log
test_that 'drainq-setup(7), INSTALLING: the package installs, with what it depends on, and drainq runs there' installs
test_that 'the tarball runs there below a prefix of its own' the_tarball_runs
test_that 'there is a newer package' newer
cp --archive "$debian" "$debian.cron"
aside cron under_cron
aside systemd under_systemd
came systemd
told systemd "$debian/results"
came cron
told cron "$work/cron"
test_that 'every display of drainq-setup(7) was typed' every_display_was_typed
came twice.log
test_that 'built elsewhere, the packages are the same to the byte' are_the_same
exit "$failed"
