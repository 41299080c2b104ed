"""Where a run lives: its private directory, its socket paths, its lock, and who may use them.

ROOT/                       0700, ours; `$XDG_RUNTIME_DIR/fido` or a short private fallback
  lock                      held while a run is created or dead ones are swept
  r-<id>/                   one run
    run.json                what is run: `Run`
    lock                    a shared flock of every process of the run; free = the run is dead
    <actor>.ipc, .pub       mailboxes and facts
    workers/w-<n>-<pid>/    a worker's own folder; mail.ipc in it is its mailbox
    no-wall                 when there, workers are forked without a wall
  w-<hash>/                 one workspace, shared by its runs
    plan_store.ipc, .pub, lock
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ipc.errors import PlaceError

if TYPE_CHECKING:  # msgspec would be a third of the way to the first frame
    from ipc.messages import ActorName

FRAME_LIMIT: Final = 64 * 1024 * 1024
"""Largest frame in bytes, unless the settings say otherwise."""

SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a session may be called: also the name of its log, so nothing in it leads elsewhere."""
PATH_LIMIT: Final = 107
"""Bytes of a unix socket path on Linux, the closing NUL not counted."""
DRAWN: Final = "drawn"
"""File in the run directory that a screen makes when its first frame stands."""
_RUN: Final = re.compile("r-[0-9a-f]{12}")
_WORKSPACE: Final = re.compile("w-[0-9a-f]{12}")
_LONGEST_NAME: Final = "/r-0123456789ab/workers/w-9999999-4194304/mail.ipc"


class Run(NamedTuple):
    """What is run, for every process of the run. Never holds a key."""

    id: str
    """Names the run directory."""
    session_id: str
    """Names the session log."""
    workspace: str
    """Absolute, resolved."""
    pid: int
    """Of the process that made the run."""
    prompt: str | None = None
    """The first prompt; the parent starts it as soon as it is ready."""
    front: str = "ui"
    """Who draws: `ui`, `headless` or `none`."""
    flags: Mapping[str, Any] = {}
    """Command line flags, as the settings take them."""
    frame_limit: int = FRAME_LIMIT
    """Largest message in bytes."""
    drafts: str = ""
    """Folder in which a screen keeps what is written and not sent; empty: nowhere."""


class RunPlace:
    """A run's directory. Holding one keeps the run from being swept."""

    def __init__(self, directory: Path, run: Run, lock_fd: int) -> None:
        self.directory = directory
        self.run = run
        self._lock_fd = lock_fd

    @classmethod
    def open(cls, directory: Path | str) -> "RunPlace":
        """Join a run that exists. Raises `PlaceError`."""
        directory = Path(directory)
        try:
            return cls(directory, _read(directory), _hold(directory / "lock"))
        except (OSError, ValueError, TypeError) as error:
            raise PlaceError(f"{directory} holds no run that can be joined: {error}") from error

    @classmethod
    def join(cls, directory: Path | str) -> "RunPlace":
        """Like `open`, for the main of a process: a run that is gone ends it with one line, no traceback."""
        try:
            return cls.open(directory)
        except PlaceError as error:
            sys.exit(f"fido: {error}")

    @property
    def workspace_directory(self) -> Path:
        """Shared by all runs in the same workspace."""
        return self.directory.parent / workspace_key(self.run.workspace)

    @property
    def workers_directory(self) -> Path:
        """Where each worker has a folder; the folder's name is its announcement."""
        return self.directory / "workers"

    @property
    def no_wall(self) -> Path:
        """File whose being there has workers forked without a wall."""
        return self.directory / "no-wall"

    def wall(self, *, up: bool) -> None:
        """Have workers forked behind a wall from now on, or without one."""
        if up:
            self.no_wall.unlink(missing_ok=True)
        else:
            self.no_wall.touch(mode=0o600)

    @property
    def worker_end(self) -> Path:
        """File in which the worker host notes how its last worker ended, as `PID STATUS`."""
        return self.directory / "worker-end"

    def go_on_with(self, session_id: str) -> None:
        """Give the run another session, for whoever joins or asks from now on; its first prompt is over."""
        self.run = self.run._replace(session_id=session_id, prompt=None)
        fresh = self.directory / "run.json.new"
        _write(fresh, self.run)
        fresh.replace(self.directory / "run.json")

    def read_again(self) -> Run:
        """The run as it is now: its session may be another one by now."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            self.run = _read(self.directory)
        return self.run

    def mailbox(self, actor: "ActorName") -> str:
        """ZeroMQ address of an actor's commands."""
        return f"ipc://{self._home(actor) / actor}.ipc"

    def facts(self, actor: "ActorName") -> str:
        """ZeroMQ address of an actor's facts."""
        return f"ipc://{self._home(actor) / actor}.pub"

    def failure_file(self, actor: str) -> Path:
        """Where an actor says in words why it refused to start."""
        return self.directory / f"{actor}.failure"

    def remove(self) -> None:
        """Delete the directory of a run whose processes have ended."""
        _remove(self.directory)
        os.close(self._lock_fd)

    def _home(self, actor: "ActorName") -> Path:
        return self.workspace_directory if actor == "plan_store" else self.directory


def workspace_key(workspace: str) -> str:
    """Name of a workspace's shared directory."""
    return "w-" + hashlib.sha256(os.fsencode(workspace)).hexdigest()[:12]


def create_run(root: Path, run: Run) -> RunPlace:
    """Make a fresh run directory below `root`, and sweep what dead runs left. Raises `PlaceError`."""
    try:
        with _locked(root / "lock"):
            _sweep(root)
            return _make(root, run)
    except OSError as error:
        raise _not_made(root, error) from error


def services_place(root: Path, run: Run) -> RunPlace:
    """Join the run that a workspace's services share, or make it; `run.id` is replaced.

    Services are actors started one by one, as by a Procfile, which find each other by their workspace.
    Raises `PlaceError`.
    """
    run = run._replace(id=workspace_key(run.workspace).removeprefix("w-"))
    try:
        with _locked(root / "lock"):
            _sweep(root)
            directory = root / f"r-{run.id}"
            return RunPlace.open(directory) if (directory / "run.json").exists() else _make(root, run)
    except OSError as error:
        raise _not_made(root, error) from error


def _not_made(root: Path, error: OSError) -> PlaceError:
    return PlaceError(
        f"cannot make a run directory in {root}: {error.strerror}. "
        "Make room there, or set XDG_RUNTIME_DIR to another folder of yours."
    )


def _make(root: Path, run: Run) -> RunPlace:
    directory = root / f"r-{run.id}"
    for made in (directory, directory / "workers", root / workspace_key(run.workspace)):
        made.mkdir(mode=0o700, exist_ok=True)
    lock_fd = _hold(directory / "lock")
    _write(directory / "run.json", run)
    return RunPlace(directory, run, lock_fd)


def live_runs(root: Path, workspace: str | None = None) -> list[Run]:
    """Runs with a living process, oldest first."""
    runs = []
    for directory in root.glob("r-*"):
        if not _is_dead(directory):
            with contextlib.suppress(OSError, ValueError, TypeError):
                runs.append(((directory / "run.json").stat().st_mtime_ns, _read(directory)))
    return [run for _, run in sorted(runs, key=lambda pair: pair[0]) if workspace in (None, run.workspace)]


def new_id() -> str:
    """Twelve hexadecimal digits for a run."""
    return os.urandom(6).hex()


def run_root(environ: Mapping[str, str]) -> Path:
    """Find or make the private directory for all runs of this user. Raises `PlaceError`."""
    refusals = []
    for candidate in _candidates(environ):
        if len(os.fsencode(str(candidate))) + len(_LONGEST_NAME) > PATH_LIMIT:
            refusals.append(f"{candidate}: too long for a socket path")
            continue
        try:
            candidate.mkdir(mode=0o700, exist_ok=True)
            _check_private(candidate)
        except (OSError, PlaceError) as error:
            refusals.append(f"{candidate}: {error}")
            continue
        return candidate
    raise PlaceError(
        "no private directory for Fido's sockets. Set XDG_RUNTIME_DIR to a short path of yours. Tried "
        + "; ".join(refusals)
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "fido"
    mine = f"fido-{os.getuid()}"
    for base in dict.fromkeys([environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp", "/dev/shm"]):
        yield Path(base) / mine


def _check_private(directory: Path) -> None:
    facts = directory.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        raise PlaceError("is not a directory")
    if facts.st_uid != os.getuid():
        raise PlaceError(f"belongs to user {facts.st_uid}")
    if stat.S_IMODE(facts.st_mode) != 0o700:
        directory.chmod(0o700)


def _sweep(root: Path) -> None:
    """Remove directories of dead runs and of workspaces nobody works in; the root's lock is held."""
    needed = set()
    for directory in root.glob("r-*"):
        if _is_dead(directory) and _RUN.fullmatch(directory.name):
            _remove(directory)
        else:
            with contextlib.suppress(OSError, ValueError, TypeError):
                needed.add(workspace_key(_read(directory).workspace))
    for directory in root.glob("w-*"):
        if directory.name not in needed and _WORKSPACE.fullmatch(directory.name):
            _remove(directory)


def _read(directory: Path) -> Run:
    return Run(**json.loads((directory / "run.json").read_text(encoding="utf-8")))


def _write(path: Path, run: Run) -> None:
    """Its prompt may be private, whatever the umask is."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        json.dump(run._asdict(), file)


def _remove(directory: Path) -> None:
    from shutil import rmtree  # most starts have nothing to remove

    rmtree(directory, ignore_errors=True)


def _is_dead(directory: Path) -> bool:
    try:
        fd = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        return error.errno == errno.ENOENT
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(fd)


def _hold(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock for a moment; its holders only make and remove directories."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
