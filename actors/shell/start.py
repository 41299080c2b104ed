"""Starts a command in a session of its own: no terminal, nothing to read, one pipe for all output."""

import contextlib
import os
import signal
import socket
from pathlib import Path
from typing import Final, NoReturn

from actors.sandbox import landlock, seccomp
from actors.shell.wire import Request, Wall
from ipc import kernel

_TO_DEFAULT: Final = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
_TOLD_BYTES: Final = 4096
_WALL: Final = b"W"
_PROGRAM: Final = b"P"


class NotStarted(Exception):
    """The system refused to start the shell; the message is the reason."""


class Unwalled(Exception):
    """The kernel refused the wall, so nothing was started; the message is the reason."""


def start(request: Request, output: int) -> int:
    """Start the command; return its process id. Raises `NotStarted`, `Unwalled`.

    Spawned where nothing has to be done in between: that copies no page tables, which halves the time to the
    first output.
    """
    environ = os.environ | request["environ"]
    try:
        os.chdir(request["folder"])
        if request["wall"] is not None:
            return _fork(request, request["wall"], environ, output)
        return os.posix_spawn(
            request["shell"],
            _arguments(request),
            environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)],
            setsid=True,
            setsigdef=_TO_DEFAULT,
        )
    except OSError as error:
        raise NotStarted(error.strerror) from error


def _arguments(request: Request) -> list[str]:
    return ["bash", "-c", request["command"]]


def _fork(request: Request, wall: Wall, environ: dict[str, str], output: int) -> int:
    """Start it behind the wall, which the child puts up before it becomes the shell."""
    fault, tell_fault = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(request, wall, environ, output, tell_fault)
    os.close(tell_fault)
    try:
        told = os.read(fault, _TOLD_BYTES)
    finally:
        os.close(fault)
    if not told:  # closed by becoming the shell
        return pid
    os.waitpid(pid, 0)
    reason = told[1:].decode("utf-8", "replace")
    raise Unwalled(reason) if told[:1] == _WALL else NotStarted(reason)


def _become(request: Request, wall: Wall, environ: dict[str, str], output: int, tell_fault: int) -> NoReturn:
    stage = _WALL
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in _TO_DEFAULT:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _put_up(wall)
        stage = _PROGRAM
        os.execve(request["shell"], _arguments(request), environ)
    except OSError as error:
        os.write(tell_fault, stage + str(error.strerror).encode())
    except Exception as error:  # noqa: BLE001 - this is the process's main
        os.write(tell_fault, stage + str(error).encode()[: _TOLD_BYTES - 1])
    finally:
        os._exit(1)


def _put_up(wall: Wall) -> None:
    """Bind this process, and all it starts, for good; then try what must not go any more."""
    kernel.gain_nothing()
    allowed = (landlock.Allowed(Path(path), *how) for path, how in wall["allowed"])
    landlock.restrict(wall["landlock"], allowed)
    seccomp.install(seccomp.program(filtered=seccomp.COMMAND))
    with contextlib.suppress(OSError):
        os.close(os.open(wall["closed"], os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC))
        raise Unwalled("The wall does not hold: a file could be written.")
    with contextlib.suppress(OSError):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        raise Unwalled("The wall does not hold: a socket could be made.")
