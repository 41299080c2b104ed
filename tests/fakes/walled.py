"""Real hosts of workers in which somebody else has got in; `main` is the host.

break_in   the first worker takes every route there is, and tells how far each one led
older      the same without a host, on a kernel whose Landlock has that version
clings     workers ignore every signal and want to outlive the host
unguarded  workers play a delegation with every tool, and nobody refuses a call
hoarding   workers need 4 GB for a delegation
forking    workers start many processes before they ask the model
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actors.files.rg import find_rg
from actors.sandbox.level import Level
from actors.sandbox.private import private_places
from actors.sandbox.quarters import LOG, Quarters, keep_standard_streams, move_in
from actors.sandbox.wall import Wall, limit
from actors.worker_host import WorkerHost
from ipc import kernel
from ipc.endpoints import RunPlace
from tests.fakes import other_kernel
from tests.fakes.burglar import attempt
from tests.fakes.launch import DEADLINE_S, launch
from tests.fakes.reaches import REACHES
from tests.fakes.writes import WRITES

CLINGS_S = 30.0
"""After that even a worker that nothing ends has ended."""


def main(argv: list[str]) -> int:
    """`KIND RUN_DIR UID GIVEN [ANSWER...] actors.worker`: fork workers as that user, on another kernel."""
    kind, run_dir, uid, told, *answers, _ = argv
    given = json.loads(told)
    keep_standard_streams()
    place = RunPlace.open(run_dir)
    if "readable" in given:
        given["inherited"] = os.dup2(os.open(given["readable"], os.O_RDWR), 42)
    if "home" in given:
        os.environ["HOME"] = given["home"]
    life = _life(kind, place, given)
    if int(uid) != os.getuid():
        bring_rg(place.directory.parent)
        os.setgroups([])
        os.setresgid(int(uid), int(uid), int(uid))
        os.setresuid(int(uid), int(uid), int(uid))
    kernel.die_with_parent(os.getppid(), signal.SIGTERM)  # another user's was cleared
    for each in answers:
        other_kernel.become(getattr(other_kernel, each))
    if kind == "older":
        return _be_older(place, life, given["landlock"])
    return 0 if WorkerHost(place, life).run() else 1


def bring_rg(folder: Path) -> None:
    """Have an rg that any user can reach: Fido's own may lie where only root may go."""
    shutil.copy(find_rg(), folder / "rg")
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    find_rg.cache_clear()


def _be_older(place: RunPlace, life: Callable[[Quarters], int], landlock: int) -> int:
    """Be the worker oneself, on a kernel whose Landlock knows less."""
    private = private_places(os.environ, place.directory.parent)
    around = Wall(Path(place.run.workspace), Level(landlock, seccomp=True), private)
    quarters = move_in(place.workers_directory / "w-1-1")
    limit()
    around.build(quarters)
    return life(quarters)


def _life(kind: str, place: RunPlace, given: Mapping[str, Any]) -> Callable[[Quarters], int]:
    """What a worker does; everything is imported now, while there is no wall and no other user."""
    if kind in ("break_in", "older"):
        return lambda quarters: _break_in(quarters, given)
    if kind == "clings":
        return _cling
    from ipc.actor import run
    from tests.fakes.unguarded import Forking, Hoarding, Unguarded

    made = {"unguarded": Unguarded, "hoarding": Hoarding, "forking": Forking}[kind]
    return lambda quarters: run(made(place, quarters.address, quarters.mailbox))


def _break_in(quarters: Quarters, given: Mapping[str, Any]) -> int:
    if not quarters.folder.name.startswith("w-1-"):
        signal.pause()
    outcomes = attempt(WRITES, lambda name: Path(given["workspace"]) / name)
    for row in sorted(REACHES):
        outcomes |= attempt(REACHES[row], lambda _: given)
    print(json.dumps(outcomes), flush=True)
    return 0


def _cling(_: Quarters) -> int:
    """Try to outlive the host for a while; every call may fail."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    signal.sigtimedwait((), CLINGS_S)
    return 0


def break_in(place: RunPlace, uid: int, given: Mapping[str, Any], *kernel: str) -> dict[str, str] | str:
    """Outcomes of all routes, by their names; or what a host said that has given up."""
    said = []
    with hosted("break_in", place, uid, given, *kernel) as host:
        for line in host.stderr or ():
            if line.startswith(b"{"):
                return json.loads(line)  # type: ignore[no-any-return]
            said.append(line.decode())
    return "".join(said)


def break_in_older(place: RunPlace, given: Mapping[str, Any], landlock: int) -> dict[str, str]:
    """Outcomes of all routes where Landlock is of that version."""
    with hosted("older", place, os.getuid(), {**given, "landlock": landlock}) as worker:
        assert worker.wait(DEADLINE_S) == 0
    told = (place.workers_directory / "w-1-1" / LOG).read_text(encoding="utf-8")
    return json.loads(told)  # type: ignore[no-any-return]


@contextmanager
def hosted(
    kind: str, place: RunPlace, uid: int, given: Mapping[str, Any], *kernel: str
) -> "Iterator[subprocess.Popen[bytes]]":
    """A host of that kind until the block ends."""
    words = (kind, place.directory, uid, json.dumps(given), *kernel, "actors.worker")
    with launch("tests.fakes.walled", *words, stderr=subprocess.PIPE) as host:
        try:
            yield host
        finally:
            host.terminate()
