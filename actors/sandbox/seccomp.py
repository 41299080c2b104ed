"""The seccomp filter: system calls that are refused, and those whose arguments are looked at.

A BPF program over `struct seccomp_data`, made from the tables of `syscalls`; see seccomp(2).
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from actors.sandbox import syscalls
from ipc import kernel

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2

_LOAD, _AND, _JUMP_EQUAL, _JUMP_FROM, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
"""Words of linux/bpf_common.h, joined: load, and, jump if equal, jump if greater or equal, return."""
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""
KILL: Final = 0x80000000
ALLOW: Final = 0x7FFF0000
REFUSE: Final = 0x00050000
"""Or'ed with the errno that the caller gets."""

_NEW_NAMESPACES: Final = 0x7E020000
_CLONE_PARENT: Final = 0x8000
_CREATING: Final = 0o100 | 0o1000 | 0x400000
"""O_CREAT, O_TRUNC and the bit of O_TMPFILE: a file made, or emptied by opening it."""
_TERMINAL_AND_PIPE: Final = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: no TIOCSTI, no FS_IOC_SETFLAGS."""
_DESCRIPTOR: Final = (0, 1, 2, 3, 4, 1030)
"""F_DUPFD, get and set flags, F_DUPFD_CLOEXEC: no lock, no lease, no owner that would get a signal."""
_OWN_PROCESS: Final = (2, 3, 15, 16, 21, 22, 23, 38, 39, 0x53564D41)
"""What is asked about oneself, names, stricter filters: no PR_SET_PDEATHSIG, no PR_SET_DUMPABLE."""
_WHOLE: Final = 0xFFFFFFFF


class Rule(NamedTuple):
    """A call is refused unless an argument, under a mask, is one of the values; its low 32 bits count."""

    call: str
    argument: int
    mask: int
    values: tuple[int, ...]
    error: int = errno.EPERM


RULES: Final[tuple[Rule, ...]] = (
    Rule("open", 1, _CREATING, (0,), errno.EACCES),
    Rule("openat", 2, _CREATING, (0,), errno.EACCES),
    Rule("socketpair", 0, _WHOLE, (1,)),  # AF_UNIX
    Rule("socketpair", 1, 0xF, (1,)),  # SOCK_STREAM: a datagram could be sent to any path
    Rule("ioctl", 1, _WHOLE, _TERMINAL_AND_PIPE, errno.ENOTTY),
    Rule("fcntl", 1, _WHOLE, _DESCRIPTOR),
    Rule("prctl", 0, _WHOLE, _OWN_PROCESS),
    Rule("prlimit64", 0, _WHOLE, (0,)),
    Rule("clone", 0, _NEW_NAMESPACES | _CLONE_PARENT, (0,)),
)


class Filter(NamedTuple):
    """What is refused to a kind of process."""

    hidden: dict[str, syscalls.Numbers]
    pretended: dict[str, syscalls.Numbers]
    refused: dict[str, syscalls.Numbers]
    rules: tuple[Rule, ...]


WORKER: Final = Filter(syscalls.HIDDEN, syscalls.PRETENDED, syscalls.DENIED, RULES)
COMMAND: Final = Filter(
    {"clone3": syscalls.HIDDEN["clone3"]},
    {},
    syscalls.OUTSIDE,
    tuple(rule for rule in RULES if rule.call in ("socketpair", "clone")),
)
"""For a command that may write, but has no network and no way to the rest of the system."""


def available() -> bool:
    """Whether this kernel filters, and the numbers of this processor are known."""
    if _machine() not in syscalls.MACHINES:
        return False
    try:
        kernel.prctl(_PR_SET_SECCOMP, _MODE_FILTER, 0)
    except OSError as error:
        return error.errno == errno.EFAULT  # it would have read the filter from address 0
    return False


def install(code: bytes) -> None:
    """Filter every system call of this thread, and of all it starts, for good. Raises `OSError`.

    Wants `no_new_privs`.
    """
    held = ctypes.create_string_buffer(code)
    described = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))
    kernel.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(described))


def program(machine: str = "", signals_to: int | None = None, filtered: Filter = WORKER) -> bytes:
    """The filter for a machine, by default this one, as it is loaded: 8 bytes an instruction.

    With `signals_to`, signals go to that process alone.
    """
    column, architecture = syscalls.MACHINES[machine or _machine()]
    hidden, pretended, refused, rules = filtered
    if signals_to is not None:
        refused = refused | syscalls.SIGNALS
        rules += tuple(Rule(call, 0, _WHOLE, (signals_to,)) for call in ("kill", "tgkill"))
    code = [
        _word(_LOAD, _ARCHITECTURE),
        *_unless(architecture, [_word(_RETURN, KILL)]),
        _word(_LOAD, _NUMBER),
        _word(_JUMP_FROM, syscalls.UNKNOWN_FROM, 0, 1),  # x32, and what is newer than the tables
        _word(_RETURN, REFUSE | errno.ENOSYS),
    ]
    for calls, error in ((hidden, errno.ENOSYS), (pretended, 0), (refused, errno.EPERM)):
        for number in _numbers(calls, column):
            code += _if(number, [_word(_RETURN, REFUSE | error)])
    for rule in rules:
        judged = syscalls.JUDGED[rule.call][column]
        if judged is not None:
            code += [_word(_LOAD, _NUMBER), *_if(judged, _judge(rule))]
    return b"".join([*code, _word(_RETURN, ALLOW)])


def _machine() -> str:
    """Name of the processor, as its own programs see it: others have other numbers."""
    return os.uname().machine if sys.maxsize > 2**32 else "32 bit"


def _judge(rule: Rule) -> list[bytes]:
    """Refuse unless the argument fits; what fits goes on behind these instructions."""
    count = len(rule.values)
    return [
        _word(_LOAD, _ARGUMENTS + 8 * rule.argument),
        _word(_AND, rule.mask),
        *(_word(_JUMP_EQUAL, value, count - at, 0) for at, value in enumerate(rule.values)),
        _word(_RETURN, REFUSE | rule.error),
    ]


def _if(value: int, body: list[bytes]) -> list[bytes]:
    return [_word(_JUMP_EQUAL, value, 0, len(body)), *body]


def _unless(value: int, body: list[bytes]) -> list[bytes]:
    return [_word(_JUMP_EQUAL, value, len(body), 0), *body]


def _word(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _numbers(calls: dict[str, syscalls.Numbers], column: int) -> Iterator[int]:
    return (numbers[column] for numbers in calls.values() if numbers[column] is not None)  # type: ignore[misc]
