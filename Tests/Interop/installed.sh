#!/usr/bin/env bash
# What an administrator gets: the packages that etc/packaging/build makes, installed into a Debian without Swift as
# drainq-setup(7) says, every command of which is typed here; its units under a systemd that has been booted, its line for
# cron under a real cron; the image of etc/container; and what is left when it is purged. Prints `ok …` and `not ok …`.
# DRAINQ_PROGRAMS names a directory where etc/packaging/programs has put the programs of this commit; without it they are
# compiled here. That the same comes out elsewhere is shown for the packing; with DRAINQ_WHOLE=1 the programs are compiled
# again, too.
# Needs root, mmdebstrap, systemd-nspawn, buildah, lintian, PyPI for the validator of SPDX, and a mirror of Debian.
source "$(dirname "${BASH_SOURCE[0]}")/documents.bash"
debian=$work/debian
export DEBFULLNAME='A Distributor' DEBEMAIL=packages@example.org

# aside NAME COMMAND…: meanwhile; what it says is in the file NAME.
declare -A aside
aside() {
    "${@:2}" >"$work/$1" 2>&1 </dev/null &
    aside[$1]=$!
}

# came NAME: waits for it, with its status in $outcome.
came() {
    outcome=0
    wait "${aside[$1]}" || outcome=$?
}

went_well() { cat "$work/$1"; equal 0 "$outcome"; }

compiled() {
    if [[ ${DRAINQ_PROGRAMS-} ]]; then cp -r "$DRAINQ_PROGRAMS" "$work/programs"; else etc/packaging/programs "$work/programs"; fi
}
built() { etc/packaging/build "$work/once" "$work/programs"; }

# again: in another directory, at another time: compiles the programs where the whole is asked for, and packs.
again() {
    if [[ ${DRAINQ_WHOLE-} ]]; then
        "$work/elsewhere/etc/packaging/programs" "$work/programs.again"
    else
        cp -r "$work/programs" "$work/programs.again"
    fi
    "$work/elsewhere/etc/packaging/build" "$work/twice" "$work/programs.again"
}

# Where they are not, it says in which files, and which bytes of them.
are_the_same() {
    went_well again.log
    local file package build
    equal "$(ls "$work/once")" "$(ls "$work/twice")"
    for file in "$work"/programs/*; do
        cmp "$file" "$work/programs.again/${file##*/}" && continue
        diff <(readelf -SW "$file") <(readelf -SW "$work/programs.again/${file##*/}") | head -n 40
        return 1
    done
    for file in "$work"/once/*; do
        cmp "$file" "$work/twice/${file##*/}" && continue
        package=${file##*/}
        for build in once twice; do
            mkdir -p "$work/unpacked.$build"
            case $package in
            *.tar.gz) tar --extract --file "$work/$build/$package" --directory "$work/unpacked.$build" ;;
            *.deb) dpkg-deb --raw-extract "$work/$build/$package" "$work/unpacked.$build" ;;
            *) cp "$work/$build/$package" "$work/unpacked.$build" ;;
            esac
        done
        cd "$work/unpacked.once"
        find . -type f -exec sh -c 'cmp "$1" "$2/$1" || { cmp -l "$1" "$2/$1" | wc -l; cmp -l "$1" "$2/$1" | head -n 40; }' - {} \
            "$work/unpacked.twice" \;
        return 1
    done
}

lintian_is_silent() { equal '' "$(lintian --allow-root --tag-display-limit 0 "$work"/once/*.deb)"; }

# is_at_most BYTES MEGABYTES: and at least three quarters of them, so that code can grow before the manual is wrong.
is_at_most() {
    (($1 <= $2 * 1000000 && $1 * 4 >= $2 * 3000000)) || { echo "$1 bytes are not at most $2 MB and three quarters of it"; return 1; }
}

# What the manual says of a package: sizes in megabytes, and the libraries.
is_as_the_manual_says() {
    local manual file packed installed
    manual=$(tr '\n' ' ' <man/drainq-setup.7)
    for file in "$work"/once/drainq_*.deb "$work"/once/drainq-urlsession_*.deb; do
        packed=$(stat --format %s "$file") installed=$(dpkg-deb --field "$file" Installed-Size)
        echo "${file##*/}: $packed bytes, installed $installed KiB"
        [[ $manual =~ at\ most\ ([0-9]+)\ MB\ to\ fetch\ and\ ([0-9]+)\ MB\ on\ disk ]]
        manual=${manual#*"${BASH_REMATCH[0]}"}
        is_at_most "$packed" "${BASH_REMATCH[1]}"
        is_at_most $((installed * 1024)) "${BASH_REMATCH[2]}"
    done
    equal 'ca-certificates libc6 libcurl4 systemd-standalone-sysusers systemd-standalone-tmpfiles zlib1g' "$(depends drainq)"
    equal 'drainq libc6' "$(depends drainq-urlsession)"
}
depends() {
    dpkg-deb --field "$work/once/$1"_*.deb Depends | tr ',' '\n' | sed 's/^ *\([^ ]*\).*/\1/' | sort -u | paste -sd' '
}

checksums_are_right() {
    cd "$work/once"
    equal "$(ls | grep -vx SHA256SUMS)" "$(sed 's/^[0-9a-f]*  //' SHA256SUMS)"
    sha256sum --check --quiet SHA256SUMS
}

# The bill of materials is SPDX, by its own validator, and knows each file by its checksum.
contents_are_told() {
    /usr/bin/python3 -m venv "$work/venv"
    "$work/venv/bin/pip" --quiet --disable-pip-version-check install spdx-tools==0.8.3
    "$work/venv/bin/pyspdxtools" --infile "$work/once/drainq.spdx.json"
    sed 's/"SPDX-2.3"/"SPDX-9"/' "$work/once/drainq.spdx.json" >"$work/wrong.spdx.json"
    ends 1 "$work/venv/bin/pyspdxtools" --infile "$work/wrong.spdx.json"
    equal "$(grep -v spdx "$work/once/SHA256SUMS" | sort)" "$(jq -r '.packages[] | select(.packageFileName)
        | "\(.checksums[0].checksumValue)  \(.packageFileName)"' "$work/once/drainq.spdx.json" | sort)"
}

# inside [OPTION…] COMMAND…: in the Debian, without a boot.
inside() { systemd-nspawn --quiet --register=no --keep-unit --console=pipe --directory "$debian" "$@" </dev/null; }

# unfold SECTION: its displays, each as a file of /setup in the Debian, with the receiver in the place of a server.
unfold() {
    local number=0 display
    while IFS= read -r -d $'\f' display; do
        number=$((number + 1))
        sed -E 's#https://[a-z]+\.example\.com#http://127.0.0.1:8088#' <<<"${display%$'\n'}" >"$debian/setup/$1.$number"
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
    cp "$work"/once/drainq_*.deb "$debian/srv"
    for display in "$debian"/setup/INSTALLING.*; do
        inside --chdir=/srv bash -euo pipefail "${display#"$debian"}"
    done
    # What drainq-setup(7) says that a heartbeat and mails need.
    inside apt-get --quiet=2 install --no-install-recommends curl nullmailer bsd-mailx
    equal 'drainq drainq 755' "$(inside stat --format '%U %G %a' /var/spool/drainq)"
    says '^drainq 0' inside drainq --version
    says 'DRAINQ-SETUP' inside man drainq-setup
    equal '' "$(inside sh -c 'systemd-analyze verify drainq@q.service drainq@q.timer drainq@q.path drainq-failed@q.service 2>&1')"
}

# Without its package the transport is not there, and with it it is; afterwards the Debian is as it was.
urlsession_is_added() {
    local demo=(inside --setenv=DRAINQ_TRANSPORT=urlsession drainq demo)
    says "'urlsession', whose program cannot run here: put drainq-urlsession beside drainq" "${demo[@]}"
    cp "$work"/once/drainq-urlsession_*.deb "$debian/srv"
    inside sh -c 'apt-get --quiet=2 install /srv/drainq-urlsession_*.deb'
    says '5 delivered' "${demo[@]}"
    inside apt-get --quiet=2 purge drainq-urlsession
    rm "$debian"/srv/drainq-urlsession_*.deb
}

the_tarballs_run() {
    local package
    mkdir "$debian/opt/drainq"
    for package in drainq drainq-urlsession; do
        tar --extract --gzip --file "$work/once/$package"-[0-9]*.tar.gz --directory "$debian/opt/drainq" --strip-components=1
    done
    says '5 delivered' inside /opt/drainq/bin/drainq demo
    says '5 delivered' inside --setenv=DRAINQ_TRANSPORT=urlsession /opt/drainq/bin/drainq demo
    [[ -s $debian/opt/drainq/share/man/man1/drainq.1.gz && -s $debian/opt/drainq/share/doc/drainq/README.md ]]
}

# A package to upgrade to: this one, with a higher version.
newer() {
    dpkg-deb --raw-extract "$work"/once/drainq_*.deb "$work/newer"
    sed -i 's/^Version: .*/&+1/' "$work/newer/DEBIAN/control"
    rm "$debian"/srv/*.deb
    dpkg-deb --root-owner-group -Znone --build "$work/newer" "$debian/srv/drainq_newer.deb"
}

# The image that etc/container makes of the package, on the Debian that was made here in the place of the one that it takes
# from a registry, which is not asked. Commands run in it as a CronJob runs them: buildah starts no entry point, so that is
# looked at.
in_storage() { buildah --root "$work/storage" --runroot "$work/running" --storage-driver vfs "$@" </dev/null; }
the_image_is_built() {
    local base
    base=$(in_storage from scratch)
    tar --extract --file "$work/base.tar" --directory "$(in_storage mount "$base")"
    in_storage commit --quiet "$base" localhost/base
    in_storage build --quiet --isolation chroot --pull-never --build-arg BASE=localhost/base --tag localhost/drainq \
        --file etc/container/Containerfile "$work/once"
    equal '["drainq"] ["status"] 990:990' "$(in_storage inspect --type image localhost/drainq |
        jq -r '.OCIv1.config | "\(.Entrypoint) \(.Cmd) \(.User)"')"
}
# the_image_delivers MANIFEST QUEUE WORD…: as a pod of etc/kubernetes does it, with its configuration and in an environment with
# these words.
the_image_delivers() {
    local container volumes=() job manifest=$1 queue=$2
    shift 2
    receiver 200
    rm -rf "$work/image"
    mkdir -p "$work/image"/{queue,configuration,secrets}
    chown 990:990 "$work/image/queue"
    container=$(in_storage from localhost/drainq)
    volumes=(--volume "$work/image/queue:/queue" --volume "$work/image/configuration:/etc/drainq"
        --volume "$work/image/secrets:/run/secrets/drainq")
    in_image() { in_storage run --isolation chroot --user 990:990 "${volumes[@]}" "$container" -- "$@"; }
    in_image drainq init --queue "$queue"
    in_image sh -c "echo '{}' | drainq add --queue '$queue' --type order"
    job=$(/usr/bin/python3 - "$manifest" <<'PYTHON'
import sys, yaml
configuration, _, job = yaml.safe_load_all(open(f"etc/kubernetes/{sys.argv[1]}.yaml"))
pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
assert pod["securityContext"]["runAsUser"] == 990 and pod["containers"][0]["command"][:2] == ["sh", "-c"]
print(configuration["data"]["drainq.json"] + "\f" + pod["containers"][0]["command"][2], end="")
PYTHON
    )
    localized <<<"${job%%$'\f'*}" | sed "s#$world##g" >"$work/image/configuration/drainq.json"
    echo s3cret >"$work/image/secrets/api.token"
    chown -R 990:990 "$work/image"/{configuration,secrets}
    chmod 600 "$work/image/secrets/api.token"
    in_image env "$@" sh -c "${job#*$'\f'}"
    caught_up "$url" "$work/received"
    grep -q 'POST /order\|POST /v1/order' "$work/received"
    says '^all is well: nothing waits' in_image drainq status --queue "$queue"
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
test_that 'the programs are compiled' compiled
# What is packaged plays the servers as well: there may be no other build yet.
binary=$work/programs/drainq
ln -sfn "$binary" "$work/bin/drainq"
test_that 'the packages are built' built
git clone --quiet . "$work/elsewhere"
aside again.log timeout 1800 bash -c "$(declare -f again); set -e; work=$work DRAINQ_WHOLE=${DRAINQ_WHOLE-}; again"
test_that 'lintian has nothing to say of the Debian packages' lintian_is_silent
test_that 'sizes and dependencies are as drainq-setup(7) says' is_as_the_manual_says
test_that 'SHA256SUMS has every file' checksums_are_right
test_that 'the bill of materials is valid, and knows every file' contents_are_told
came debian.log
test_that 'there is a Debian without Swift' went_well debian.log
tar --create --directory "$debian" --file "$work/base.tar" .
test_that 'drainq-setup(7), INSTALLING: the package installs, with what it depends on, and drainq runs there' installs
test_that 'drainq-urlsession adds its transport, and takes it away' urlsession_is_added
test_that 'the tarballs run there below a prefix of their own' the_tarballs_run
test_that 'there is a newer package' newer
cp --archive "$debian" "$debian.cron"
aside cron under_cron
aside systemd under_systemd
test_that 'etc/container: an image is built of the package' the_image_is_built
test_that 'etc/container: the CronJob delivers from the image' the_image_delivers cronjob /queue
test_that 'etc/container: the indexed job delivers from the image' \
    the_image_delivers indexed-job /queue/3 JOB_COMPLETION_INDEX=3
came systemd
told systemd "$debian/results"
came cron
told cron "$work/cron"
test_that 'every display of drainq-setup(7) was typed' every_display_was_typed
came again.log
test_that 'made elsewhere, packages are the same to the byte, and programs where they are compiled again' are_the_same
exit "$failed"
