#!/usr/bin/env python3
"""visible.py PATTERN COMMAND…: runs COMMAND on a terminal of 80 columns, and prints for how much of its time, in per cent,
the terminal's last line matched PATTERN: from its first appearance until the last output before the final line. Ends by
itself, after a minute at the latest with status 1."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

pattern, command = re.compile(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
deadline, line, states = time.monotonic() + 60, "", []
while True:
    if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        os.kill(pid, signal.SIGKILL)
        sys.exit("it did not end")
    try:
        shown = os.read(terminal, 65536).decode(errors="replace")
    except OSError:
        break
    if not shown:
        break
    # What stands in the line of the cursor after this piece: what follows the last return or line break, less erasures.
    line = re.split(r"\r\x1b\[K|\r|\n", line + shown)[-1]
    states.append((time.monotonic(), bool(pattern.search(line))))
os.waitpid(pid, 0)
first = next((index for index, state in enumerate(states) if state[1]), None)
last = next((index for index in range(len(states) - 1, -1, -1) if states[index][1]), None)
if first is None:
    sys.exit("it was never there")
end = states[last + 1][0] if last + 1 < len(states) else states[last][0]
shown = sum(after[0] - state[0] for state, after in zip(states[first:], states[first + 1:]) if state[1] and after[0] <= end)
print(round(100 * shown / (end - states[first][0])))
