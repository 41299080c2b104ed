"""As much of a shell as job control needs: one job in the foreground, `fg` or `bg` when it has stopped."""

import os
import signal
import sys
import termios


def main(command: list[str]) -> int:
    """Run the command as a job of its own; tell when it stops and when it ends."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    before = termios.tcgetattr(0)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(command[0], command)
    while os.WIFSTOPPED(os.waitpid(job, os.WUNTRACED)[1]):
        os.tcsetpgrp(0, os.getpid())
        _tell("stopped", before)
        if sys.stdin.readline().strip() != "bg":
            os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os.tcsetpgrp(0, os.getpid())
    _tell("ended", before)
    return 0


def _tell(what: str, before: list[object]) -> None:
    state = "as before" if termios.tcgetattr(0) == before else "changed"
    print(f"{what}, tty {state}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
