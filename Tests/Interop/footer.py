#!/usr/bin/env python3
"""footer.py PATTERN COMMAND…: runs COMMAND on a terminal of 80 columns whose last line is to match PATTERN. Prints how often
COMMAND wrote that line, and ends with status 1 where COMMAND erased its last line and did not write it again at once, the end
excepted. What is written counts, not when it is read: a busy machine changes nothing. Ends by itself, after a minute."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

pattern, command = re.compile(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
deadline, written = time.monotonic() + 60, b""
while True:
    if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        os.kill(pid, signal.SIGKILL)
        sys.exit("it did not end")
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    written += piece
os.waitpid(pid, 0)
# What stood in the last line before each erasure. The first erasure may be of an empty line, what follows the last is the end.
lines = [piece.rpartition("\n")[2] for piece in written.decode(errors="replace").split("\r\x1b[K")[1:-1]]
missing = [line for line in lines if not pattern.search(line)]
print(f"written {len(lines)} times, {len(missing)} times not")
sys.exit(0 if lines and not missing else 1)
