"""Starts a command behind the wall: a fork puts it up around itself before it becomes the shell."""

import contextlib
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from actors.sandbox import landlock, seccomp
from actors.shell.start import TO_DEFAULT, NotStarted, Unwalled
from actors.shell.wire import Wall
from ipc import kernel

_TOLD_BYTES: Final = 4096
_WALL: Final = b"W"
_PROGRAM: Final = b"P"
"""What went wrong, before the reason."""


def start_walled(
    shell: str, arguments: list[str], environ: Mapping[str, str], output: int, wall: Wall
) -> int:
    """Return the process id. Raises `NotStarted`, `Unwalled`, and `OSError` when there can be no fork."""
    fault, tell_fault = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(shell, arguments, environ, output, wall, tell_fault)
    os.close(tell_fault)
    with open(fault, "rb", buffering=0) as told_by_child:
        told = told_by_child.read(_TOLD_BYTES) or b""
    if not told:  # closed by becoming the shell
        return pid
    os.waitpid(pid, 0)
    reason = told[1:].decode("utf-8", "replace")
    raise Unwalled(reason) if told[:1] == _WALL else NotStarted(reason)


def _become(
    shell: str,
    arguments: list[str],
    environ: Mapping[str, str],
    output: int,
    wall: Wall,
    tell_fault: int,
) -> NoReturn:
    stage = _WALL
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in TO_DEFAULT:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _put_up(wall)
        stage = _PROGRAM
        os.execve(shell, arguments, environ)
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
