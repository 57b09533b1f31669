#!/usr/bin/env python3
"""typed.py bash|zsh SETUP LINE: types LINE and a Tab at the shell, on a terminal, after it has run SETUP. Prints what the
line has become, as `LINE=…`, and then each word that the terminal showed meanwhile. Ends by itself, after a minute at
the latest with status 1."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

shell, setup, line = sys.argv[1:]
# A key that prints the line shows that the Tab before it has been dealt with. No questions about long lists.
start = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        r"""bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; bind 'set page-completions off'
        bind 'set enable-bracketed-paste off'
        show() { printf '\nLINE=%s<\n' "$READLINE_LINE"; }; bind -x '"\C-g": show'""",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        r"""LISTMAX=10000; zstyle ':completion:*' verbose no; unsetopt ZLE_BRACKETED_PASTE PROMPT_SP
        show() { printf '\nLINE=%s<\n' "$BUFFER"; }; zle -N show; bindkey '^G' show""",
    ),
}
deadline = time.monotonic() + 60


def read_until(terminal, wanted):
    """What the terminal shows until it matches, blanks standing for the movements of the cursor."""
    shown = b""
    while True:
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x07\r]", " ", shown.decode(errors="replace"))
        if re.search(wanted, text, re.MULTILINE):
            return text
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            sys.exit(f"never came: {wanted!r}, but:\n{text}")
        shown += os.read(terminal, 65536)


def main():
    arguments, keys = start[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", INPUTRC="/dev/null", PS1="> ", LC_ALL="C.UTF-8")
        os.execvp(arguments[0], arguments)
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))
        os.write(terminal, f"{keys}\n{setup}\necho ready''-now\n".encode())
        read_until(terminal, r"^ *ready-now *$")
        os.write(terminal, line.encode() + b"\t\x07")
        shown = read_until(terminal, r"^ *LINE=.*< *$")
        before, became = shown.rsplit("LINE=", 1)
        print("LINE=" + became.rsplit("<", 1)[0], *before.split(), sep="\n")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


main()
