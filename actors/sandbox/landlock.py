"""Landlock: files out of reach but for a list, no TCP, no signal and no abstract socket across the wall.

https://docs.kernel.org/userspace-api/landlock.html; the system calls have the same numbers everywhere.
"""

import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from ipc import kernel

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
_TRUNCATE: Final = 1 << 14
CHANGE_FILE: Final = WRITE_FILE | _TRUNCATE
CHANGE: Final = CHANGE_FILE | sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12, 13))
"""Also to remove, make and move what is in a folder; never devices, which would lead to whole disks."""

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1

_FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many rights on files there are from a version on: 2 brought refer, 3 truncate, 5 ioctl on devices."""
_NET_RIGHTS: Final = 0b11
"""Bind and connect TCP; from version 4 on."""
_SCOPES: Final = 0b11
"""Abstract unix sockets and signals; from version 6 on."""
_LOGS: Final = 7
_UNLOGGED: Final = 1
"""From that version on a denial goes into the audit log, which somebody inside could flood."""
WHOLE_CHANGES: Final = 3
"""The version from which on a file outside can't be emptied, and one inside can be moved as always."""
SCOPED_SIGNALS: Final = 6
"""The version from which on a signal can't leave the wall."""


class Allowed(NamedTuple):
    """An exception from the wall: a file, or a folder with all that is below it."""

    path: Path
    rights: int
    kind: int = stat.S_IFREG
    """As of `stat.S_IFMT`. Anything else in its place is void: a folder named as a file would open a tree."""
    follow: bool = True
    """Whether a symlink as the last name is followed; else it is one in vain."""


def version() -> int:
    """The ABI version of this kernel's Landlock; 0 when there is none, or it is switched off."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def restrict(abi: int, exceptions: Iterable[Allowed]) -> None:
    """Bind the calling thread, and all it starts, for good. Raises `OSError`.

    Wants `no_new_privs`. What is not there, not reachable, or not of its kind stays walled off.
    """
    handled = (1 << next(bits for least, bits in reversed(_FILE_RIGHTS.items()) if abi >= least)) - 1
    fields = (handled, _NET_RIGHTS, _SCOPES)[: 3 if abi >= SCOPED_SIGNALS else 2 if abi >= 4 else 1]
    attributes = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = kernel.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    for each in exceptions:
        _allow(ruleset, each, handled)
    kernel.syscall(_RESTRICT_SELF, ruleset, _UNLOGGED if abi >= _LOGS else 0)
    os.close(ruleset)


def _allow(ruleset: int, exception: Allowed, handled: int) -> None:
    flags = os.O_PATH | os.O_CLOEXEC | (0 if exception.follow else os.O_NOFOLLOW)
    try:
        opened = os.open(exception.path, flags)
    except OSError:
        return
    if stat.S_IFMT(os.fstat(opened).st_mode) == exception.kind:
        rule = struct.pack("<Qi", exception.rights & handled, opened)
        kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    os.close(opened)
