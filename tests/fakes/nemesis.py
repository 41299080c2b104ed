"""The real program struck at random moments of its life, and a look at everything that is left of it.

A life begins in a terminal with a prompt, and goes on with the session of the lives before it. Its front, its
moment and its fault follow from the seed and its name.
"""

import contextlib
import os
import random
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.fakes.aftermath import check_session, session_log
from tests.fakes.eventful import COMMAND_AT, REQUESTS, EventfulModel, Trouble, held
from tests.fakes.fault_table import LONG, SEED, Fault, FaultTable
from tests.fakes.fido import GUARD, Home, home, kill, openai_environment, parent_of
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER, TerminalProgram

LIMIT_S = 20.0
"""A turn that goes on after a fault has ended by then."""
SETTLE_S = 10.0
"""A program that has to end has ended by then, with everybody in it, also where much else is done."""
START_S = 0.6
SOON_S = 0.06
VERY_LONG_S = 10.0
"""For which one of twenty stands still in the long form."""
STEP_S = 0.005
COLUMNS, ROWS = 100, 30
SETTINGS = "retry_attempts = 2\n[timeouts]\nidle_s = 0.5\n"
OF_ONE_SESSION = 25
"""Lives before the next session begins."""
FATAL = frozenset({"guard", "supervisor", "headless"})
"""Whose end is the program's end."""
CUT_SHORT = "Input data was truncated"
"""What a strict server says of a request whose sender was killed."""


class Life:
    """One life of the program."""

    def __init__(
        self, scene: "Scene", name: str, front: str, under: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        print(f"FIDO_SEED={SEED}, {name}")
        self.chance = random.Random(f"{SEED} {name}")
        self.front = front or self.chance.choice(("headless", "ui"))
        self.has_to_end = False
        """Whether somebody was struck whose end is the program's end."""
        self._gate = -1
        self._name = name
        self._scene = scene
        self._struck = 0.0
        self._types_in_vain = False
        """Whether a screen may be on its way back, which drops what is typed meanwhile."""
        self._turns_before, _ = scene.turns
        scene.model.mark(0)
        words = [*GUARD, *(["run"] if self.front == "headless" else []), "go", "--session", scene.session]
        environment = scene.environment | environment
        self._program = TerminalProgram([*under, *words], COLUMNS, ROWS, environment, scene.workspace)

    @property
    def status(self) -> int:
        """The exit status, when it has ended."""
        return self._program.process.returncode

    @property
    def told(self) -> str:
        """What stands in the terminal."""
        return self._program.text

    def starts(self) -> None:
        """Let the start come to a random moment."""
        self.passes(self.chance.uniform(0, START_S))

    def works(self, spoil: Trouble | None = None) -> None:
        """Let the turn come to a random moment; `spoil` breaks the answer that is given there."""
        hold = held(self._name) if self.chance.random() < 0.3 else None
        request = self.chance.randint(1, REQUESTS)
        self._scene.model.mark(request, spoil or hold)
        if request > COMMAND_AT:
            self._open_gate()
        self._until(lambda: self._scene.model.reached.is_set() or self._program.ended, "the moment")
        self.passes(self.chance.uniform(0, SOON_S))

    def roles(self) -> dict[int, str]:
        """Who is who in it now."""
        return {pid: role_of(pid, self._program.process.pid) for pid in self._scene.at.processes()}

    def kill(self, count: int) -> str:
        """Kill some at once; return who that was."""
        alive = sorted(self.roles().items())
        victims = self.chance.sample(alive, min(count, len(alive)))
        self._struck = self._struck or time.monotonic()
        for pid, role in victims:
            self._hit(role)
            kill(pid)
        return " and ".join(sorted(role for _, role in victims))

    def stand_still(self, then: signal.Signals) -> str:
        """Stop one for a while, then let it go on, or kill it; return who that was."""
        alive = sorted(self.roles().items())
        if not alive:
            return "nobody"
        pid, role = self.chance.choice(alive)
        kill(pid, signal.SIGSTOP)
        self.passes(VERY_LONG_S if LONG and self.chance.random() < 0.05 else self.chance.uniform(0.05, 0.3))
        self._struck = self._struck or time.monotonic()
        if then == signal.SIGKILL:
            self._hit(role)
        kill(pid, then)
        return role

    def everybody(self, number: signal.Signals) -> None:
        """Send a signal to all at once, a command's processes included."""
        self._struck, self.has_to_end = self._struck or time.monotonic(), True
        for pid in self.roles():
            kill(pid, number)

    def breaks_next(self, spoil: Trouble) -> None:
        """Break the next answer of the model, if there is one."""
        self._scene.model.mark(1, spoil)

    def types(self, keys: str) -> None:
        """Type on the keyboard, once Python itself has started; without a screen only Ctrl-C is heard."""
        if self._program.fd >= 0 and "supervisor" in self.roles().values():
            self._program.type(keys)

    def resizes(self) -> None:
        """Change the window's size often, also to one cell."""
        for _ in range(20):
            if self._program.fd >= 0:
                self._program.resize(self.chance.randint(1, 200), self.chance.randint(1, 60))
            self.passes(STEP_S)
        if self._program.fd >= 0:
            self._program.resize(COLUMNS, ROWS)

    def hangs_up(self) -> None:
        """Close the window."""
        self._struck, self.has_to_end = self._struck or time.monotonic(), True
        self._program.hang_up()

    def goes_on(self, fault: Fault) -> float:
        """Let it live on until its turn is over, end it in good order, and look at everything behind it.

        Return the seconds from the strike until the turn was over or, where that has to be, the program.
        """
        self._struck = self._struck or time.monotonic()
        self._scene.server.open(self._name)
        self._open_gate()
        if not self.has_to_end:
            self._until(self._is_idle, "the turn to end", LIMIT_S)
            took = time.monotonic() - self._struck
            self._leave()
        try:
            self._until(lambda: self._program.ended and not self.roles(), "everybody to end", SETTLE_S)
        finally:
            fault.note(orphans=len(self.roles()))
        if self.has_to_end:
            took = time.monotonic() - self._struck
        fault.took(took)
        self._check_terminal()
        self._scene.check(fault)
        return took

    def passes(self, seconds: float) -> None:
        """Let time go by; what is drawn meanwhile is taken."""
        end = time.monotonic() + seconds
        self._until(lambda: time.monotonic() >= end, "the time to pass", seconds + 1.0)

    def close(self) -> None:
        """Leave nothing of it behind."""
        for pid in self.roles():
            kill(pid)
        self._program.close()
        if self._gate >= 0:
            os.close(self._gate)

    def _open_gate(self) -> None:
        """Let the turn's command end, now or when it begins."""
        if self._gate < 0:
            self._gate = os.open(self._scene.gate, os.O_RDWR)

    def _until(self, ready: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
        """Wait for what no descriptor tells, while the terminal is read."""
        end = time.monotonic() + limit_s
        while not ready():
            assert time.monotonic() < end, (
                f"waited {limit_s} s in vain for {what}: {self._name}\n{self.roles()}\n{self._program.text}\n"
                f"{self._scene.at.log_text()[-3000:]}"
            )
            select.select([self._program.fd] if self._program.fd >= 0 else [], [], [], STEP_S)
            self._program.take()

    def _is_idle(self) -> bool:
        if self.front == "headless":
            return self._program.ended
        cells = self._program.screen.buffer[0]
        header = "".join(cells[column].data for column in range(COLUMNS))
        if self._program.ended:
            return True
        # A screen is ready before the prompt of the command line is taken, too.
        turns, over = self._scene.turns
        return header.rstrip().endswith("ready") and over and turns > self._turns_before

    def _hit(self, role: str) -> None:
        self.has_to_end |= role in FATAL
        self._types_in_vain |= role == "ui"

    def _leave(self) -> None:
        if self._program.ended:
            return
        by_key = self.front == "ui" and self.chance.random() < 0.5 and not self._types_in_vain
        print("leaves by", "/quit" if by_key else "SIGTERM")
        if by_key:
            self._program.type("/quit" + ENTER)
        else:
            kill(self._program.process.pid, signal.SIGTERM)

    def _check_terminal(self) -> None:
        while self._program.take():
            pass
        assert self._program.fd < 0 or self._program.is_given_back, (self._name, self._program.written[-300:])
        assert b"Traceback" not in self._program.written, self.told


class Scene:
    """A home, a workspace and a server, for lives that share one session."""

    def __init__(self, at: Home, workspace: Path, server: ScriptedServer, model: EventfulModel) -> None:
        self.at = at
        self.last_turn = ""
        """How the last turn of the session has ended; empty when it has not."""
        self.model = model
        self.server = server
        self.session = "s-1"
        self.workspace = workspace
        self.gate = workspace / "gate"
        os.mkfifo(self.gate)
        self.environment = at.environment(
            FIDO_MODE="yolo", TERM="xterm-256color", **openai_environment(server.base_url)
        )

    @contextmanager
    def life(
        self, name: str, *, front: str = "", under: Sequence[str] = (), **environ: str
    ) -> Iterator[Life]:
        """One life of the program, started by the command `under`; nothing of it is left behind."""
        life = Life(self, name, front, under, environ)
        try:
            yield life
        finally:
            life.close()

    @property
    def turns(self) -> tuple[int, bool]:
        """How many turns have begun, and whether the last one is over, as the session's log says."""
        log = session_log(self.at, self.session)
        told = log.read_bytes() if log.exists() else b""
        begun, ended = b'"type":"PromptTaken"', b'"type":"TurnEnded"'
        return told.count(begun), told.rfind(ended) > told.rfind(begun)

    def check(self, fault: Fault) -> None:
        """Look at what is on disk and what the server was sent."""
        left = check_session(self.at, self.session, self.workspace)
        self.last_turn = left.last_turn
        fault.note(lost=left.lost_plans)
        assert left.lost_plans == 0
        assert [told for told in self.server.violations if CUT_SHORT not in told] == []


@contextmanager
def scene() -> Iterator[Scene]:
    """A scene of its own."""
    model = EventfulModel()
    with home() as at, ScriptedServer(otherwise=model.answer) as server:
        workspace = at.folder / "w"
        workspace.mkdir()
        (workspace / "a.py").write_text("print(1)\n", encoding="utf-8")
        (at.folder / "config" / "fido").mkdir()
        (at.folder / "config" / "fido" / "config.toml").write_text(SETTINGS, encoding="utf-8")
        yield Scene(at, workspace, server, model)


Strike = Callable[[Life], str]
"""Does something to a life; returns what, as the table of faults says it."""


class Scenes:
    """One scene after the other; a life goes on where the one before it was struck down."""

    def __init__(self) -> None:
        self._lives = 0
        self._on: Scene | None = None
        self._open = ExitStack()

    def play(self, strike: Strike, number: int, fault: Fault) -> None:
        """Strike one life, and look at everything behind it."""
        on, self._on = self._on or self._open.enter_context(scene()), None
        with on.life(f"{strike.__name__} {number}") as life:
            says = strike(life)
            with fault.attempt(says):
                life.goes_on(fault)
        self._lives += 1
        self._on = on  # unless something was raised
        if self._lives % OF_ONE_SESSION == 0:
            self.close()

    def close(self) -> None:
        """Let the session have one more turn, in peace."""
        with self._open:
            if self._on is not None:
                with self._on.life("in peace") as life:
                    life.goes_on(Fault(FaultTable(), (), "nothing"))
                assert self._on.last_turn == "completed"
            self._on = None


def role_of(pid: int, guard: int) -> str:
    """What a process is for, as the table of faults calls it."""
    name = command = ""
    with contextlib.suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ")
    if pid == guard:
        return "guard"
    if "ui.app" in command:
        return "ui"
    if "actors.worker" in command and name != "fido-worker":
        return "worker host"
    if name.startswith("fido-"):
        return name.removeprefix("fido-")
    if "actors.guard" in command and parent_of(pid) == guard:
        return "supervisor"
    return "shell host" if "from actors.shell import host" in command else "a command"
