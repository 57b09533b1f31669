"""NFSv4.2 between several hosts, in a virtual machine whose root is this machine's, read-only:

    python3 Tests/Torture/nfs-guest.py --boot

Not a suite of .ci/run: emulated, it takes many minutes. It needs root, qemu-system-x86, linux-image-amd64,
busybox-static, cpio, nfs-kernel-server and nfs-common, and writes nothing here but a temporary directory.

What is injected: hosts that die in the middle, with their mounts; a host cut off from the server for longer than its
lease while it waits for an answer. What holds: the reckoning of `crowd.py`; nothing is left in `claimed/`, though NFS
keeps hidden names of open files; the host that was cut off finds its lock lost and settles nothing.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
kernel = sorted(pathlib.Path("/lib/modules").iterdir())[-1].name if os.path.isdir("/lib/modules") else None
lease = 10


def boot():
    """Starts the machine on the console; its last line is `guest: STATUS`."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="drainq-guest-"))
    try:
        root = directory / "root"
        for name in ("bin", "modules", "lower", "upper", "root", "proc"):
            (root / name).mkdir(parents=True)
        shutil.copy("/bin/busybox", root / "bin/busybox")
        modules = []
        for name in ("virtio_pci", "9pnet_virtio", "9p", "overlay"):
            words = subprocess.check_output(["modprobe", "-S", kernel, "--show-depends", name], text=True).split()
            modules += [word for word in words if word.startswith("/") and word not in modules]
        for module in modules:
            shutil.copy(module, root / "modules")
        names = " ".join(pathlib.Path(module).name for module in modules)
        binary = os.path.abspath(os.environ.get("DRAINQ", here.parent.parent / ".build/debug/drainq"))
        effort = os.environ.get("DRAINQ_TORTURE", "1")
        (root / "init").write_text(f"""#!/bin/busybox sh
PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
for module in {names}; do insmod /modules/$module; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /lower
mount -t tmpfs tmpfs /upper
mkdir /upper/upper /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work overlay /root
for place in /proc /sys /dev /tmp /run /var/lib/nfs; do mkdir -p /root$place; done
mount -t proc proc /root/proc
mount -t sysfs sysfs /root/sys
mount -t devtmpfs devtmpfs /root/dev
mount -t tmpfs tmpfs /root/run
mount -t tmpfs tmpfs /root/var/lib/nfs
exec switch_root /root /bin/sh -c 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin
    export DRAINQ={binary} DRAINQ_TORTURE={effort} CI=1
    /usr/bin/python3 {here / "nfs-guest.py"}
    echo guest: $?
    echo o >/proc/sysrq-trigger
    sleep 60'
""")
        (root / "init").chmod(0o755)
        image = directory / "initrd"
        subprocess.run(f"cd {root} && find . | cpio -o -H newc --quiet >{image}", shell=True, check=True)
        console = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3G",
             "-nographic", "-no-reboot", "-nic", "none", "-kernel", f"/boot/vmlinuz-{kernel}", "-initrd", image,
             "-append", "console=ttyS0 quiet panic=-1 mitigations=off",
             "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        try:
            last = ""
            for line in console.stdout:
                print(line, end="", flush=True)
                if line.startswith("guest: "):
                    last = line.split()[1]
            return 0 if last == "0" else 1
        finally:
            console.kill()
            console.wait()
    finally:
        shutil.rmtree(directory)


if "--boot" in sys.argv:
    sys.exit(boot())

from hosts import Host, across, sending, slow
from torture import effort, end, expect, scratch, test, until

addresses = iter(range(2, 250))


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


def serve():
    """The server, with a lease as short as it can be, on a bridge that each host gets a cable to."""
    for module in ("nfsd", "nfsv4", "veth", "bridge"):
        run("modprobe", module)
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "lan", "type", "bridge")
    run("ip", "address", "add", "10.9.0.1/24", "dev", "lan")
    run("ip", "link", "set", "lan", "up")
    served = scratch / "served"
    served.mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", served)
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    for name in ("nfsv4leasetime", "nfsv4gracetime"):
        pathlib.Path(f"/proc/fs/nfsd/{name}").write_text(f"{lease}\n")
    for name in ("etab", "rmtab", "xtab"):
        pathlib.Path(f"/var/lib/nfs/{name}").touch()
    pathlib.Path("/var/lib/nfs/v4recovery").mkdir(exist_ok=True)
    run("exportfs", "-o", "rw,no_root_squash,no_subtree_check,fsid=0", f"10.9.0.0/24:{served}")
    run("rpc.mountd", "-N", "2", "-N", "3")
    run("rpc.nfsd", "-N", "3", "8")
    return served


def client(name):
    """A host with a mount of its own; to the server it is another client, by its name."""
    host = Host(name)
    number = next(addresses)
    host.cable = f"cable{number}"
    run("ip", "link", "add", host.cable, "type", "veth", "peer", "name", "eth0", "netns", host.init)
    run("ip", "link", "set", host.cable, "master", "lan", "up")
    host("ip", "address", "add", f"10.9.0.{number}/24", "dev", "eth0")
    host("ip", "link", "set", "eth0", "up")
    host("mount", "-t", "nfs4", "-o", "vers=4.2,nosharecache", "10.9.0.1:/", point)
    return host


served = serve()
point = scratch / "point"
point.mkdir()

with test("a host that is cut off for longer than its lease finds its lock lost, and settles nothing") as told:
    queue, receiver = slow(served / "cut", seconds=15 * lease)
    queue("add", input="1\n2\n3\n")
    one, two = client("left"), client("right")
    try:
        going = sending(one, queue, receiver, path=point / "cut")
        run("ip", "link", "set", one.cable, "down")
        deadline = time.monotonic() + 2 * lease
        until(lambda: time.monotonic() > deadline, "the end of the lease")

        def drained():
            rival = subprocess.run(
                [*two.words, *queue.command("run", "--now")[:-1], str(point / "cut")],
                capture_output=True, text=True, timeout=900)
            expect(rival.returncode == 0, rival.returncode, rival.stderr)
            return not queue.operations()

        until(drained, "the other host to take over", limit=900)
        run("ip", "link", "set", one.cable, "up")
        _, complaint = going.communicate(timeout=900)
        expect(going.returncode == 74, going.returncode, complaint)
        expect("cannot keep 'claimed/" in complaint, complaint)
        ids = receiver.ids()
        expect(len(set(ids)) == 3 and len(ids) == 4, ids)
        told.append("1 delivered again, which is window W2")
    finally:
        one.die()
        two.die()
        receiver.end()

with test("two hosts that die and come back share NFSv4.2, each with a mount of its own") as told:
    across(told, ["one", "two"], 50 * effort, client, served / "q", point / "q", patience=1800)

end()
