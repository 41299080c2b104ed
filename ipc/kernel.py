"""What a process settles with the kernel: whom it dies with, whom it adopts, who may look in, how it ends.

Standard library only, and little of it: these run before anything else is imported.
"""

import contextlib
import ctypes
import functools
import itertools
import os
import signal
import struct
import sys
from collections.abc import Collection
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NAME: Final = 15
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 32 * 1024 * 1024
"""Of malloc.h; the most that glibc takes as a threshold."""
_PR_CAPBSET_DROP: Final = 24
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_CAPABILITY_VERSION: Final = 0x20080522
ORPHANED: Final = 71
"""Exit status of a process whose parent had ended before it could tie itself to it."""


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Get `number` when the thread that forked this process ends; exit at once when it has ended already.

    `parent` is the pid that is expected to be our parent; 0 means that nobody is.
    """
    if parent:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os._exit(ORPHANED)


def set_name(name: str) -> None:
    """Name this process for `ps` and `top`; 15 characters are kept."""
    _libc().prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Keep other processes of this user out of our memory and environment, and write no core."""
    import resource

    prctl(_PR_SET_DUMPABLE, 0)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def blank_environment(names: Collection[str]) -> None:
    """Blank variables where root could read them: in what the kernel shows as `/proc/PID/environ`.

    `os.environ`, a copy, keeps them. A fork shows the same, and a program that is executed what it is given.
    """
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(_libc(), "environ")
    for address in iter(map(entries.__getitem__, itertools.count()).__next__, None):
        name, equals, value = ctypes.string_at(address).partition(b"=")
        if os.fsdecode(name) in names:
            ctypes.memset(address + len(name + equals), 0, len(value))


def gain_nothing() -> None:
    """Let no program that is started have more rights than this process has."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def allow_open_files(wanted: int) -> int:
    """Let this process and those it starts open so many files, where the system does; return how many."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < wanted:
        soft = min(wanted, hard) if hard >= 0 else wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft < 0 else soft


def keep_freed_memory() -> None:
    """Let malloc keep what is freed for the next request, instead of giving it back to the kernel.

    A request of a long session is megabytes that are made and freed each turn; faulting them in anew took
    half of the time between two requests. Does nothing without glibc.
    """
    with contextlib.suppress(AttributeError):
        _libc().mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        _libc().mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def open_standard_streams() -> None:
    """Put nowhere in the place of a standard stream that is closed: the next file would take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, so this one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def leave(status: int) -> NoReturn:
    """End this process, whose work is done and safe; what is in the buffers of stdout and stderr goes out.

    Tearing the interpreter down would take up to half a second where openai is loaded.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):  # None: it was closed before we began
            stream.flush()
    os._exit(status)


def hear_no_signals() -> None:
    """Let a loop that ends be told of no more signals.

    It closes its end of that pipe before it gives its handlers up: a signal in between would be a traceback
    on stderr, which may be the person's terminal.
    """
    signal.set_wakeup_fd(-1)


def prctl(option: int, *arguments: int) -> int:
    """Call prctl(2); arguments that are not given are 0. Raises `OSError`."""
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc().prctl(option, *words))


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call that libc has no function for. Raises `OSError`."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *words))


def drop_capabilities() -> None:
    """Give up every capability, also those that a program could bring back. Raises `OSError`."""
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    with contextlib.suppress(PermissionError):  # only who has them may; the others can't gain them either
        for capability in range(_last_capability() + 1):
            prctl(_PR_CAPBSET_DROP, capability)
    header = struct.pack("@Ii", _CAPABILITY_VERSION, 0)
    _checked(_libc().capset(header, bytes(24)))


def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as file:
        return int(file.read())


@functools.cache
def _libc() -> ctypes.CDLL:
    """Opened once: that takes as long as some dozen calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _checked(returned: int) -> int:
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return returned
