"""A guard and a supervisor, the real ones, over actors that are played."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.fido import wait_until
from tests.fakes.launch import command
from tests.fakes.places import short_directory
from tests.fakes.player import STAGE

DEADLINE_S = 20.0
KEY = "sk-canary-4711"
WELL = {"parent": "listening.parent", "plan_store": "well.plan_store", "worker": "well.worker"}
_START = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from actors.guard import guard

def work():
    from pathlib import Path
    from actors.processes import supervise
    from ipc.endpoints import Run, create_run, new_id
    root, front, commands = Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    run = Run(id=new_id(), session_id="s-test", workspace=str(root), pid=os.getpid(), front=front)
    return supervise(create_run(root / "run", run), front, commands)

sys.exit(guard(work))
"""


class Stage:
    """A folder in which every player leaves a file when it is ready."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "stage"
        self.plays: list[subprocess.Popen[bytes]] = []
        for name in ("stage", "run"):
            (root / name).mkdir(mode=0o700)

    def gate(self, name: str) -> Path:
        """A named pipe that a player can wait on."""
        os.mkfifo(self.folder / name)
        return self.folder / name

    def players(self, behaviour: str) -> list[int]:
        """Process ids of all that ever entered with a behaviour, oldest first."""
        found = [path for path in self.folder.iterdir() if path.name.rpartition(".")[0] == behaviour]
        found.sort(key=lambda path: path.stat().st_mtime_ns)
        return [int(path.name.rpartition(".")[2]) for path in found]

    def player(self, behaviour: str, number: int = 1) -> int:
        """Wait for the nth player of a behaviour."""
        wait_until(lambda: len(self.players(behaviour)) >= number, f"player {number} of {behaviour}")
        return self.players(behaviour)[number - 1]

    def environment_of(self, behaviour: str) -> str:
        return (self.folder / f"{behaviour}.{self.player(behaviour)}").read_text(encoding="utf-8")

    def command(self, front: str, **players: str) -> list[str]:
        """The command line of a play: the behaviour of each actor."""
        commands = {actor: command("tests.fakes.player", behaviour) for actor, behaviour in players.items()}
        root = str(Path(__file__).parents[2])
        return [sys.executable, "-I", "-c", _START, root, str(self.root), front, json.dumps(commands)]

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "XDG_STATE_HOME": str(self.root / "state"),
            STAGE: str(self.folder),
            "OPENAI_API_KEY": KEY,
        }

    def start(self, front: str, **players: str) -> "Play":
        process = subprocess.Popen(
            self.command(front, **players),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.plays.append(process)
        return Play(process)


class Play:
    """A running guard with everything below it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    @property
    def guard(self) -> int:
        return self.process.pid

    def end(self) -> tuple[int, str]:
        """Wait for the end; exit status and what was said on stderr."""
        _, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, err.decode()


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage; whatever is left on it at the end is killed."""
    with short_directory() as root:
        made = Stage(root)
        try:
            yield made
        finally:
            for pid in left_on(made):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in made.plays:
                process.communicate(timeout=DEADLINE_S)


def left_on(made: Stage) -> list[int]:
    """Living processes that were started on a stage, whatever became of their parents."""
    mark = f"{STAGE}={made.folder}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark in file.read():
                        found.append(int(entry))
            except OSError:
                continue
    return found
