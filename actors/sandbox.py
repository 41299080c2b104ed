"""What the kernel takes away from a worker, in the one order that holds.

First the ties to whoever started it, then the limits, then privileges and memory. Rules that bind the
calling thread alone belong last and before any second thread, so `apply` refuses to run beside one. Nothing
here can be taken back.
"""

import os
import resource
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from ipc import kernel

MEMORY_BYTES: Final = 3 * 1024**3
"""Address space of a worker, and of each program it runs."""
OPEN_FILES: Final = 256

_SET_NO_NEW_PRIVS: Final = 38
"""From linux/prctl.h."""

_KEPT: Final = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER"}
)
_KEPT_PREFIXES: Final = ("FIDO_", "LC_", "XDG_")
_SECRET_WORDS: Final = ("AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN", "URL")


class SandboxError(Exception):
    """The kernel refused, or was asked too late; the process must not go on."""


def apply(parent: int, descriptors: Collection[int], environ: Mapping[str, str]) -> None:
    """Give up what a worker does not need, for good.

    `parent` is the pid of the process that forked this one: with it this process ends. `descriptors` are
    those that may be open. Raises `SandboxError`, or `OSError` when the kernel refuses.
    """
    require_one_thread()
    kernel.die_with_parent(parent)
    require_only(descriptors)
    require_public(environ)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    kernel.hide_memory()
    kernel.prctl(_SET_NO_NEW_PRIVS, 1)


def require_one_thread() -> None:
    """Raise `SandboxError` when a second thread exists: rules of one thread would not bind it."""
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    if threads != 1:
        raise SandboxError(f"there are {threads} threads; a wall around one of them is none")


def require_only(descriptors: Collection[int]) -> None:
    """Raise `SandboxError` when a descriptor is open that is not listed."""
    extra = open_descriptors() - set(descriptors)
    if extra:
        named = ", ".join(f"{fd} ({_target(fd)})" for fd in sorted(extra))
        raise SandboxError(f"descriptors that a worker must not have: {named}")


def require_public(environ: Mapping[str, str]) -> None:
    """Raise `SandboxError`, naming no value, when the environment holds more than `public_environment`."""
    extra = sorted(environ.keys() - public_environment(environ).keys())
    if extra:
        raise SandboxError(f"variables that a worker must not have: {', '.join(extra)}")


def public_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a worker may have: an allow-list, without anything that names a secret."""
    return {
        name: value
        for name, value in environ.items()
        if not names_secret(name) and (name in _KEPT or name.startswith(_KEPT_PREFIXES))
    }


def names_secret(name: str) -> bool:
    """Whether a variable may hold a key, a password or an address with one in it, by its name."""
    return any(word in name.upper() for word in _SECRET_WORDS)


def keep_standard_streams() -> None:
    """Close every descriptor above 2, and read from nowhere."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    nowhere = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 0)
    os.close(nowhere)


def open_descriptors() -> set[int]:
    """Descriptors of this process."""
    listed = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    return {descriptor for descriptor in listed if _is_open(descriptor)}


def _is_open(descriptor: int) -> bool:
    """False for the one that the listing itself used."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _target(descriptor: int) -> str:
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return "?"


def _limit(which: int, most: int) -> None:
    """Lower a limit for good; a lower one that is there already stays."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(which, (most, most))
