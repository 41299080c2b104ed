"""An actor that has no task but to behave, well or badly. `main` gets BEHAVIOUR RUN_DIR PPID.

On the stage, a folder, it leaves a file `BEHAVIOUR.PID` with its environment as soon as it is ready.
"""

import os
import signal
import subprocess
import sys
import tty
from pathlib import Path

from ipc import kernel
from ipc.endpoints import DRAWN

STAGE = "FIDO_TEST_STAGE"
DAEMONS = r"""
trap "" TERM HUP INT
setsid sh -c 'trap "" TERM HUP; sleep 1000 & exec sleep 1001' &
(setsid setsid sh -c 'sleep 1002 & exit 0' &)
nohup sleep 1003 >/dev/null 2>&1 &
sh -c 'sh -c "sleep 1004 & exit 0" & exit 0'
echo ready
sleep 1005
"""
SCREEN = b"\x1b[?1049h\x1b[?1000h\x1b[?2004h\x1b[?25lthe screen"
SCREEN_OFF = b"\x1b[?2004l\x1b[?1000l\x1b[?25h\x1b[?1049l"


def main(argv: list[str]) -> int:
    behaviour, run_directory, _ = argv
    stage = Path(os.environ[STAGE])
    name, _, value = behaviour.partition("=")
    name = name.partition(".")[0]  # what follows tells one player from another
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    match name:
        case "deaf":
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
        case "daemons" | "leaky":
            if name == "daemons":
                kernel.adopt_orphans()
            started = subprocess.Popen(["sh", "-c", DAEMONS], stdout=subprocess.PIPE, start_new_session=True)
            assert started.stdout is not None
            started.stdout.readline()
        case "screen":
            return screen(stage, behaviour, run_directory)
        case "listening":
            return listen(stage, behaviour, run_directory)
    enter(stage, behaviour, run_directory)
    match name:
        case "exit":
            return int(value)
        case "refuse":
            (Path(run_directory) / f"{value}.failure").write_text("the setting is wrong; mend it", "utf-8")
            return 78
        case "until":
            with open(stage / value, "rb") as gate:  # a named pipe
                return int(gate.read() or b"0")
    while True:
        signal.pause()


def listen(stage: Path, behaviour: str, run_directory: str) -> int:
    """Be a parent that answers."""
    from ipc.actor import Actor, run
    from ipc.endpoints import RunPlace

    class Listening(Actor):
        name = "parent"

        async def on_bound(self) -> None:
            enter(stage, behaviour, run_directory)

    return run(Listening(RunPlace.open(run_directory)))


def screen(stage: Path, behaviour: str, run_directory: str) -> int:
    """Draw, and give the terminal back on SIGTERM; stop and go on as a screen does."""
    saved = tty.tcgetattr(0)

    def draw(*_: object) -> None:
        tty.setraw(0)
        os.write(1, SCREEN)

    def leave() -> None:
        os.write(1, SCREEN_OFF)
        tty.tcsetattr(0, tty.TCSANOW, saved)

    def stop(*_: object) -> None:
        leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, stop)
        draw()

    signal.signal(signal.SIGTSTP, stop)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    draw()
    enter(stage, behaviour, run_directory)
    try:
        while os.read(0, 1) not in (b"q", b""):
            pass
    except OSError:
        return 0
    finally:
        leave()
    return 0


def enter(stage: Path, behaviour: str, run_directory: str) -> None:
    Path(run_directory, DRAWN).touch()
    made = stage / f".{os.getpid()}"
    made.write_text("\n".join(f"{name}={value}" for name, value in os.environ.items()), encoding="utf-8")
    made.rename(stage / f"{behaviour}.{os.getpid()}")
