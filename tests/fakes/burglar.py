"""What code that has got into a worker works with: calls by number, programs, and how a route ended."""

import ctypes
import errno
import os
import platform
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actors.sandbox import syscalls

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def attempt(routes: Mapping[str, Callable[[Any], object]], given: Callable[[str], Any]) -> dict[str, str]:
    """Take every route, with what is given to it; `done`, or the name of the error that stopped it."""
    return {name: _outcome(route, given(name)) for name, route in routes.items()}


def checked(returned: int) -> int:
    """What a function of libc returned. Raises `OSError`."""
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return returned


def call(name: str, *arguments: Any) -> int:
    """Make a system call by its number, as no library would. Raises `OSError`."""
    column, _ = syscalls.MACHINES[platform.machine()]
    number = (syscalls.DENIED | syscalls.HIDDEN | syscalls.JUDGED | syscalls.SIGNALS)[name][column]
    if number is None:
        raise OSError(errno.ENOSYS, name)
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return checked(LIBC.syscall(ctypes.c_long(number), *words))


def program(*words: object) -> None:
    """Run a program. Raises `OSError`, also when it fails."""
    run = subprocess.run([*map(str, words)], capture_output=True, check=False)
    if run.returncode:
        raise PermissionError(errno.EACCES, run.stderr.decode())


def path(of: Path) -> ctypes.c_char_p:
    """A path as libc takes it."""
    return ctypes.c_char_p(os.fsencode(of))


def _outcome(route: Callable[[Any], object], given: Any) -> str:
    try:
        route(given)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return "done"
