"""NFSv4.2 between several hosts, in a virtual machine whose root is this machine's, read-only:

    python3 Tests/Torture/nfs-guest.py --boot

Not a suite of .ci/run: emulated, it takes many minutes. It needs root, qemu-system-x86, linux-image-amd64, kmod,
busybox-static, cpio, nfs-kernel-server and nfs-common, and writes nothing here but a temporary directory.

What is injected and measured is what `engines.py` does on other file systems; the lease of the server is 10 s here. What
holds beyond: nothing is left in `claimed/`, though NFS keeps hidden names of open files.
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

import clusters
from clusters import Engine, address, ip, lay_bridge
from torture import effort, end, scratch


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


class NFS(Engine):
    name = "NFSv4.2"
    # The server looks for clients that are gone once in a lease.
    patience = 6 * lease
    # It is the kernel that keeps the lease.
    client_is_process = False
    # Clients that have a network in common are one client.
    near = False

    def __init__(self):
        super().__init__(scratch / "point")
        self.point.mkdir()
        self.served = serve()

    def mount(self, host):
        host("mount", "-t", "nfs4", "-o", "vers=4.2,nosharecache", f"{address}:/", self.point)

    def ours(self, *parts):
        return self.served.joinpath(*parts)


def serve():
    """The server, with a lease as short as it can be, on the bridge that each host gets a cable to."""
    for module in ("nfsd", "nfsv4", "veth", "bridge"):
        run("modprobe", module)
    ip("link", "set", "lo", "up")
    lay_bridge()
    served = scratch / "served"
    served.mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", served)
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    for name in ("nfsv4leasetime", "nfsv4gracetime"):
        pathlib.Path(f"/proc/fs/nfsd/{name}").write_text(f"{lease}\n")
    for name in ("etab", "rmtab", "xtab"):
        pathlib.Path(f"/var/lib/nfs/{name}").touch()
    pathlib.Path("/var/lib/nfs/v4recovery").mkdir(exist_ok=True)
    run("exportfs", "-o", "rw,no_root_squash,no_subtree_check,fsid=0", f"10.8.0.0/24:{served}")
    run("rpc.mountd", "-N", "2", "-N", "3")
    run("rpc.nfsd", "-N", "3", "8")
    # Whoever opens a file in the first lease waits for its end.
    time.sleep(lease)
    return served


engine = NFS()
# The processor is emulated: a figure tells what more hosts bring, not how fast they are.
clusters.measure(engine, count=200, rounds=1)
clusters.together(engine, rounds=9)
clusters.examine(engine)
clusters.crowded(engine, 100)

end()
