#!/usr/bin/env python3
"""Who may do what: modes under every umask, queues that others can write to, and what the programs that drainq starts are
given. Needs root, to be several users, and strace.

Invariants: whatever the umask, directories are 0700 and files 0600; no run begins, and nothing is taken in, where others
could meddle; no word of the configuration is read by a shell; no child knows a variable, a descriptor or a secret that it
has no business with, and another process of the same user cannot look into an agent.
"""

import contextlib
import json
import os
import pathlib
import re
import shlex
import socket
import stat
import subprocess
import time

from torture import Queue, Receiver, end, expect, scratch, test

owner, nobody, submit = 65533, 65534, 65500
as_owner = {"user": owner, "group": owner, "extra_groups": []}
scratch.chmod(0o755)
secret, elsewhere = "hidden-" + "5ecret", "hidden-elsewhere"
receiver = Receiver("204")
refusing = Receiver("400")


def configure(queue, **configuration):
    document = json.loads((queue.path / "drainq.json").read_text())
    document.update(configuration)
    (queue.path / "drainq.json").write_text(json.dumps(document))


def give(queue, user):
    """The queue is this user's."""
    queue.path.parent.chmod(0o755)
    for path in (queue.path, *queue.path.rglob("*")):
        os.chown(path, user, user)


def modes(path, regular):
    """The paths below this one, of files or of directories, whose mode is not the one that is promised."""
    right = 0o600 if regular else 0o700
    paths = [path, *path.rglob("*")]
    return {
        str(file.relative_to(path)): oct(file.stat().st_mode & 0o7777) for file in paths
        if file.is_file() == regular and file.stat().st_mode & 0o7777 != right}


def script(name, *lines):
    """A program that commands and hooks can name."""
    path = scratch / name
    path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
    path.chmod(0o755)
    return str(path)


with test("what root makes in a user's queue is the user's") as told:
    queue = Queue(receiver.url + "/{id}", path=scratch / "roots" / "q")
    give(queue, owner)
    # Root runs no configuration that another user can change.
    os.chown(queue.path / "drainq.json", 0, 0)
    (queue.path / "drainq.json").chmod(0o644)
    for words, text in [
        (["add"], "1\n2\n"), (["release", "--destination", receiver.url], ""), (["hold", "--all"], ""), (["release", "--all"], ""),
        (["pause", "--destination", receiver.url], ""), (["resume", "--destination", receiver.url], ""), (["run"], ""), (["add"], "3\n"),
    ]:
        result = queue(*words, input=text)
        expect(result.returncode == 0, words, result.returncode, result.stderr)
    strangers = [str(path) for path in (queue.path, *queue.path.rglob("*")) if path.name != "drainq.json" and path.stat().st_uid != owner]
    expect(not strangers, strangers)
    for words in ["run"], ["status"], ["check"]:
        result = queue(*words, **as_owner)
        expect(result.returncode == 0, words, result.returncode, result.stderr)
    expect(not list(queue.files("new")), "the user's run has not sent what root has added")
    told.append("8 commands of root, then 3 of the user")

with test("whatever the umask, directories are 0700 and files 0600") as told:
    count = 0
    for umask in (0o000, 0o002, 0o022, 0o077, 0o277, 0o777):
        options = {"umask": umask}
        place = scratch / f"umask-{umask:o}" / "q"
        place.parent.mkdir()
        shared = os.open(place.parent, os.O_RDONLY)
        os.fchown(shared, 0, submit)
        os.fchmod(shared, 0o2755)
        os.close(shared)
        queue = Queue("http://127.0.0.1:1/", path=place)
        (place / "drainq.json").unlink()
        for directory in place.iterdir():
            directory.rmdir() if directory.name != "state" else None
        expect(queue("init", "--url", receiver.url + "/{id}", **options).returncode == 0, "init")
        expect((place / "drainq.json").stat().st_mode & 0o7777 == 0o600, "drainq.json has another mode")
        (place / "drainq.json").write_text(json.dumps({
            "routes": {"default": {"url": receiver.url + "/{id}"}, "bad": {"url": refusing.url + "/{id}"},
                       "away": {"url": "http://127.0.0.1:1/"}},
            "retention": {"delivered": "1d"}, "hooks": {"failed": ["true"]}}))
        (place / "drainq.json").chmod(0o600)
        for words, text in [
            (["add"], "1\n2\n"), (["add", "--type", "bad"], "3\n"), (["add", "--type", "away"], "4\n"), (["add"], "{"),
            (["run"], ""), (["add", "--at", "2099-01-01T00:00:00Z"], "5\n"), (["hold", "--all"], ""), (["pause"], ""),
            (["pause", "--destination", receiver.url], ""), (["check"], ""), (["status"], ""),
        ]:
            result = queue(*words, input=text, **options)
            expect(result.returncode in (0, 1, 65, 69, 75), umask, words, result.returncode, result.stderr)
        exported = queue("export", "--all", **options)
        states = {state: len(list(queue.files(state))) for state in (*queue.states, "quarantine")}
        expect(states == {"new": 1, "deferred": 1, "failed": 1, "delivered": 2, "quarantine": 2}, oct(umask), states)
        wrong = modes(place, True) | modes(place, False)
        expect(not wrong, f"umask {umask:03o}:", wrong)
        count += len(list(place.rglob("*")))
    told += [f"{count} files and directories"]

with test("a queue that others can write to is refused where it matters, and can be looked at and mended") as told:
    cases = {
        (".", 0o777): "others may write", (".", 0o770): "its group may write", ("claimed", 0o1777): "others may write",
        ("state", 0o757): "others may write", ("new", 0o777): "may remove other users' files",
        ("tmp", 0o730): "may remove other users' files", ("failed", 0o702): "others may write",
        ("drainq.json", 0o666): "others may write", ("drainq.json", 0o620): "its group may write",
    }
    for (part, mode), words in cases.items():
        queue = Queue(receiver.url + "/{id}")
        queue("add", input="1")
        before = len(receiver.requests())
        (queue.path / part).chmod(mode)
        commands = [["run"], ["send"]] + ([["add"]] if part != "drainq.json" else [])
        for command in commands:
            result = queue(*command, input="2")
            if command == ["send"] and part != "drainq.json":
                continue
            expect(result.returncode == 77, part, oct(mode), command, result.returncode, result.stderr)
            expect(words in result.stderr and "drainq: hint: " in result.stderr, result.stderr)
        if part == "drainq.json":
            expect(len(receiver.requests()) == before, "something was sent")
        expect(queue("list").returncode == 0 and queue("status").returncode == 0, "it cannot be looked at")
        expect(queue("check").returncode == 77, part, "check", queue("check").stdout)
        if part != "drainq.json":
            expect(queue("check", "--repair").returncode == 0, "repair", queue("check").stderr)
            expect(queue("run").returncode == 0, "after the repair")
    told += [f"{len(cases)} modes"]

with test("who may not write the queue is told so, and nothing is taken in") as told:
    queue = Queue(receiver.url)
    queue("add", input="1\n")
    lines = queue("export").stdout
    queue.path.chmod(0o755)
    for path in queue.path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for words, given in ((["import"], lines), (["add"], "2\n"), (["run"], "")):
        result = subprocess.run(
            queue.command(*words), input=given, capture_output=True, text=True, user=nobody, group=nobody, extra_groups=[])
        expect(result.returncode == 77 and "Permission denied" in result.stderr, words, result.returncode, result.stderr)
        expect("hint: the queue must be writable" in result.stderr, words, result.stderr)
    expect(len(list(queue.files("new"))) == 1)

with test("a configuration that is another user's names no programs, unless it is asked for") as told:
    ran = scratch / "ran"
    queue = Queue(receiver.url + "/{id}", hooks={"failed": ["touch", str(ran)]}, route={"url": refusing.url})
    configure(queue, hooks={"failed": ["touch", str(ran)], "atMostEvery": "0s"})
    queue("add", input="1")
    os.chown(queue.path / "drainq.json", nobody, nobody)
    for command in ("run", "send"):
        result = queue(command, input="1")
        expect(result.returncode == 77 and f"belongs to user {nobody}" in result.stderr, result.returncode, result.stderr)
    expect(not ran.exists(), "its hook was called")
    expect(queue("run", "--config", queue.path / "drainq.json").returncode == 1 and ran.exists(), "--config")

with test("a group may be given a place to drop files into, by the setgid bit") as told:
    queue = Queue(receiver.url + "/{id}")
    give(queue, owner)
    for part, mode in [(".", 0o710), ("new", 0o3770), ("tmp", 0o3770)]:
        os.chown(queue.path / part, owner, submit)
        (queue.path / part).chmod(mode)
    before = len(receiver.requests())
    words = f'umask 027; f=$(mktemp {queue.path}/tmp/XXXXXXXXXX); echo 1 > $f; chmod 640 $f; mv -n $f {queue.path}/new/'
    member = {"user": nobody, "group": nobody, "extra_groups": [submit]}
    dropped = subprocess.run(["sh", "-c", words], capture_output=True, text=True, **member)
    expect(dropped.returncode == 0, dropped.stderr)
    stranger = subprocess.run(["ls", queue.path / "new"], capture_output=True, user=nobody, group=nobody, extra_groups=[])
    expect(stranger.returncode != 0, "who is not of the group can list it")
    result = queue("run", user=owner, group=owner, extra_groups=[submit])
    expect(result.returncode == 0 and len(receiver.requests()) == before + 1, result.returncode, result.stderr)
    expect(queue("check", user=owner, group=owner, extra_groups=[submit]).returncode == 0, "check")

with test("no word of the configuration, of an operation or of a server is read by a shell") as told:
    trap = scratch / "trap"
    words = f"$(touch {trap}); `touch {trap}` | touch {trap} & > {trap} * ~ \\ ' \" && touch {trap} #"
    show = script("show", "printf '%s' \"$1\"")
    sign = script("sign", "cat > /dev/null", "printf 'X-Signed: %s\\n' \"$1\"")
    tell = script("tell", f"cat > {scratch}/told", f"printf '%s' \"$1\" > {scratch}/argument")
    queue = Queue(refusing.url + "/{id}", secrets={"word": {"command": [show, words]}}, hooks={"failed": [tell, words]})
    configure(queue, routes={"default": {
        "url": refusing.url + "/{id}", "headers": {"X-Word": "${secret:word}"}, "headersCommand": [sign, words]}})
    queue("add", "--key", words, "--header", f"X-Own: {words}", input=json.dumps(words))
    log = scratch / "execve"
    result = queue("run", before=["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(log)])
    expect(result.returncode == 1, result.returncode, result.stderr)
    fields = dict(refusing.requests()[-1]["headers"])
    expect(fields["X-Word"] == words and fields["X-Signed"] == words, "the words have changed", fields)
    expect((scratch / "argument").read_text() == words, "the hook's argument has changed")
    started = re.findall(r'execve\("([^"]+)".* = 0$', log.read_text(), re.M)
    own = ("/proc/self/exe", "/drainq-urlsession", "/cat")
    started = [program for program in started[1:] if not program.endswith(own)]
    expect(started == [show, sign, tell], started)
    expect(not trap.exists(), "a shell has read them")

with test("children get the variables that are named and no other, and no secret") as told:
    usual = {
        "PATH": os.environ["PATH"], "HOME": "/home/x", "USER": "x", "LOGNAME": "x", "SHELL": "/bin/x", "TMPDIR": "/tmp",
        "LANG": "C", "LANGUAGE": "en", "LC_TIME": "C", "TZ": "UTC", "XDG_CONFIG_HOME": "/x", "XDG_RUNTIME_DIR": "/x",
        "DBUS_SESSION_BUS_ADDRESS": "x", "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "SSL_CERT_DIR": "/etc/ssl/certs",
        "http_proxy": "", "https_proxy": "", "all_proxy": "", "no_proxy": "*", "NO_PROXY": "*",
    }
    hidden = {
        "TOKEN": secret, "AWS_SECRET_ACCESS_KEY": elsewhere, "CREDENTIALS_DIRECTORY": "/" + elsewhere, "LD_X": elsewhere,
        "SSH_AUTH_SOCK": elsewhere, "BASH_ENV": elsewhere, "PYTHONPATH": elsewhere, "DRAINQ_QUEUE": elsewhere,
        "JOURNAL_STREAM": elsewhere, "INVOCATION_ID": elsewhere, "NOTIFY_SOCKET": elsewhere, "SSLKEYLOGFILE": elsewhere,
    }
    environment = {**usual, **hidden, "PASSED": "passed", "SWIFT_BACKTRACE": "enable=no"}
    leave = [f'cat /proc/$$/environ > {scratch}/environ-$(basename "$0"); cat /proc/$$/cmdline >> {scratch}/cmdline']
    fetch, sign, tell = script("fetch", *leave, "echo fetched"), script("sign", *leave), script("tell", *leave)
    queue = Queue(refusing.url + "/{id}")
    configure(
        queue, passEnvironment=["PASSED", "TOKEN", "UNSET"],
        secrets={"token": {"env": "TOKEN"}, "fetched": {"command": [fetch]}}, hooks={"failed": [tell]},
        routes={"default": {"url": refusing.url + "/{id}", "headersCommand": [sign],
                            "headers": {"X-Token": "${secret:token}", "X-Fetched": "${secret:fetched}"}}})
    queue("add", input="1")
    result = queue("run", env=environment)
    expect(result.returncode == 1, result.returncode, result.stderr)
    expect(dict(refusing.requests()[-1]["headers"])["X-Token"] == secret, "the secret was not sent")
    for child in ("fetch", "sign", "tell"):
        text = (scratch / f"environ-{child}").read_text()
        variables = dict(line.split("=", 1) for line in text.split("\0") if line)
        told_of = {name for name in variables if name.startswith("DRAINQ_")}
        expect(variables.keys() - told_of == usual.keys() | {"PASSED"}, child, sorted(variables))
        expect(bool(told_of) == (child == "tell") and secret not in text and elsewhere not in text, child, text)
    expect("hidden" not in (scratch / "cmdline").read_text(), "a secret is in an argument")
    for file in queue.path.rglob("*"):
        expect(not file.is_file() or b"hidden-" not in file.read_bytes(), "a secret is in", file)

with test("an agent has no way to the queue, no privileges to gain, no core to leave, and nobody looks into it") as told:
    silent = socket.create_server(("127.0.0.1", 0))
    queue = Queue(f"http://127.0.0.1:{silent.getsockname()[1]}/", route={"timeouts": {"total": "30s"}})
    configure(queue, secrets={"token": {"env": "TOKEN"}}, routes={"default": {
        "url": f"http://127.0.0.1:{silent.getsockname()[1]}/", "headers": {"X-Token": "${secret:token}"}}})
    give(queue, owner)
    queue("add", input="1", **as_owner)
    process = subprocess.Popen(
        queue.command("run"), env={"PATH": os.environ["PATH"], "TOKEN": secret, "SWIFT_BACKTRACE": "enable=no"},
        cwd=queue.path, stderr=subprocess.DEVNULL, **as_owner)
    try:
        connection, _ = silent.accept()
        request = b""
        while b"\r\n\r\n" not in request and (more := connection.recv(65536)):
            request += more
        expect(secret.encode() in request, "the secret was not sent")
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        expect(len(children) == 1, "children", children)
        agent = pathlib.Path("/proc") / children[0]
        status = dict(line.split(":\t", 1) for line in (agent / "status").read_text().splitlines() if ":\t" in line)
        expect(status["NoNewPrivs"] == "1", status)
        expect(re.search(r"Max core file size +0 +0", (agent / "limits").read_text()), "it may leave a core")
        places = [os.readlink(agent / "cwd"), *(os.readlink(file) for file in (agent / "fd").iterdir())]
        expect(not any(str(queue.path) in place for place in places), "it holds", places)
        expect(not any(place.startswith("/") and place not in ("/", "/dev/null", "/dev/urandom") for place in places), places)
        names = {line.split("=")[0] for line in (agent / "environ").read_text().split("\0") if line}
        expect(names == {"PATH", "SWIFT_BACKTRACE"}, names)
        expect("hidden" not in (agent / "cmdline").read_text(), "a secret is in its arguments")
        for file in ("environ", "mem", "maps", "fd/0"):
            looked = subprocess.run(["head", "-c", "1", agent / file], capture_output=True, **as_owner)
            expect(looked.returncode != 0, "its own user reads", file)
    finally:
        process.kill()
        process.wait()

end()
