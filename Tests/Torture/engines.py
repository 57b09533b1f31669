"""Several hosts on real engines: CephFS and GlusterFS, a server on a network of its own and a mount for each host.

    python3 Tests/Torture/engines.py [cephfs] [glusterfs] [local] [--figures | --faults]

Not a suite of .ci/run: servers take their time to give up a client, so that all of it takes 25 minutes. It needs
root, iproute2, ceph-mon, ceph-mgr, ceph-osd, ceph-mds, ceph-fuse and glusterfs-server. NFSv4 needs a kernel that has it:
`nfs-guest.py` does the same in a virtual machine.

What is injected: a run that is killed, or stopped and woken; a host that dies, that is cut off, or that stands still with
its client until another host has taken over. What holds: every operation is received; nobody sends what another one
has taken, but for what was in flight at the fault; a host that has lost its lock settles nothing and says so with 74.
What is measured: the time to take over, and what 1, 2 and 4 hosts drain in a second, beside a C program that makes the
bare calls of a drain in the same directory and the same minutes.
"""

import argparse
import os
import shutil
import sys

import clusters
from torture import end, own_network, test

engines = {"local": clusters.directory, "glusterfs": clusters.glusterfs, "cephfs": clusters.cephfs}
needed = ["ip", "glusterd", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse"]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("engines", metavar="ENGINE", nargs="*", help=f"{', '.join(engines)}: all, if none is named")
parts = parser.add_mutually_exclusive_group()
parts.add_argument("--figures", action="store_true", help="measures only")
parts.add_argument("--faults", action="store_true", help="measures nothing")
given = parser.parse_args()
wanted = given.engines or list(engines)
if unknown := set(wanted) - set(engines):
    parser.error(f"there is no engine {', '.join(sorted(unknown))}")
missing = [tool for tool in needed if not shutil.which(tool)]
if os.geteuid() != 0 or missing:
    print("not ok" if "CI" in os.environ else "ok", "engines # SKIP it needs root, and", *missing)
    sys.exit(1 if "CI" in os.environ else 0)

own_network()
for name in wanted:
    with engines[name]() as engine:
        if not given.faults:
            if name == "cephfs":
                engine.tick(0.5)
            clusters.measure(engine)
            if name == "cephfs":
                engine.tick(5)
        if given.figures:
            continue
        clusters.together(engine)
        if name == "local":
            continue
        if name == "cephfs":
            with test("CephFS as it is without settings: a host dies, and another one takes over") as told:
                clusters.tell(told, *clusters.take_over(engine, clusters.die, patience=330)[:2])
            engine.lease(30)
        clusters.examine(engine)
        clusters.crowded(engine, 300)

end()
