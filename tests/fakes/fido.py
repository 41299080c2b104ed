"""The real program: started as a user starts it, in a home of its own, with every process of it in sight."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actors.session.invariants import CHECK
from tests.fakes.places import short_directory
from tests.fakes.session_events import check_log

DEADLINE_S = 30.0
GUARD = [sys.executable, "-I", "-X", "utf8", "-m", "actors.guard"]
_STEP_S = 0.01
MODULES = {
    "parent": "actors.parent",
    "worker_host": "actors.worker",
    "ui": "ui.app",
}


class Home:
    """Private XDG folders and the environment that points at them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged = False
        """Set where a test itself damages a log: what is left is then not looked at."""
        self.tag = folder.name
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        self.environ = kept | {
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "FIDO_TEST_TAG": self.tag,
            CHECK: "1",
        }
        for name in ("run", "state", "config"):
            (folder / name).mkdir(mode=0o700)

    def environment(self, **more: str) -> dict[str, str]:
        return self.environ | more

    def processes(self) -> list[int]:
        """Every live process that was started from this home, whatever became of its parents.

        Its environment tells, or the folder that it is in: a command may have cleared its environment.
        """
        mark, folder = f"FIDO_TEST_TAG={self.tag}".encode(), f"{self.folder}/"
        pids = {int(entry) for entry in os.listdir("/proc") if entry.isdigit()} - {os.getpid()}
        return [
            pid
            for pid in pids
            if mark in _read(f"/proc/{pid}/environ") or f"{_place(pid)}/".startswith(folder)
        ]

    def log_text(self) -> str:
        logs = (self.folder / "state").rglob("*.log")
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs)

    def check_logs(self) -> None:
        """Fail unless every session's log that has begun is sound."""
        for path in (self.folder / "state" / "fido" / "sessions").glob("*.jsonl"):
            if path.stat().st_size and not self.damaged:
                check_log(path)

    def everything_written(self) -> bytes:
        """All bytes of all files below this home."""
        return b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())


@contextmanager
def home() -> Iterator[Home]:
    """A home; whatever was killed in it, at the end the logs of its sessions are sound."""
    with short_directory() as folder:
        made = Home(folder)
        try:
            yield made
        finally:
            for pid in made.processes():
                kill(pid)
        made.check_logs()


class Run:
    """One `fido run`, its output read as it comes."""

    def __init__(self, at: Home, workspace: Path, *arguments: str, **environ: str) -> None:
        self.home = at
        self.process = subprocess.Popen(
            [*GUARD, "run", *arguments],
            cwd=workspace,
            env=at.environment(**environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self, timeout_s: float = DEADLINE_S) -> "Finished":
        out, err = self.process.communicate(timeout=timeout_s)
        return Finished(self.process.returncode, out.decode(), err.decode())

    def pid_of(self, name: str) -> int:
        """Process id of the guard, the supervisor, or an actor; waits until it is there."""
        return self.process.pid if name == "guard" else pid_of(self.home, self.process.pid, name)


def pid_of(at: Home, guard: int, name: str) -> int:
    """Process id of the supervisor or an actor below a guard; waits until it is there."""
    found: list[int] = []

    def look() -> bool:
        found[:] = [pid for pid in at.processes() if _is(pid, guard, name)]
        return bool(found)

    wait_until(look, f"{name} to be there")
    return found[-1]


def _is(pid: int, guard: int, name: str) -> bool:
    command, parent = _command(pid), parent_of(pid)
    match name:
        case "supervisor":
            return parent == guard and "actors.guard" in command
        case "worker":
            return "actors.worker" in command and "actors.worker" in _command(parent)
        case "headless" | "plan_store":
            return _read(f"/proc/{pid}/comm").strip() == f"fido-{name}".encode()
        case _:
            return MODULES[name] in command and MODULES[name] not in _command(parent)


class Finished:
    """How a `fido run` ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        events = [json.loads(line) for line in self.out.splitlines()]
        return [event for event in events if kind in ("", event["type"])]

    def __repr__(self) -> str:
        return f"status {self.status}\nstdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}"


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def parent_of(pid: int) -> int:
    match = re.search(rb"^PPid:\s+(\d+)", _read(f"/proc/{pid}/status"), re.MULTILINE)
    return int(match[1]) if match else 0


def wait_until(ready: Callable[[], bool], what: str, timeout_s: float = DEADLINE_S) -> None:
    """Look again and again: `/proc` sends no events."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not ready():
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain for {what}"
        pause.wait(_STEP_S)


def _command(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline").decode(errors="replace")


def _place(pid: int) -> str:
    """The folder that a process is in."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def openai_environment(base_url: str, key: str = "sk-canary-4711") -> Mapping[str, str]:
    return {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": key}
