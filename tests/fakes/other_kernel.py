"""Makes the kernel answer one system call as another kernel would: one without Landlock, or one that lies."""

import ctypes
import errno
import os
import platform
import struct
from typing import NamedTuple

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_PRCTL = {"x86_64": 157, "aarch64": 167}[platform.machine()]
_LOAD, _IS, _RETURN = 0x20, 0x15, 0x06


class Answer(NamedTuple):
    """What a call returns."""

    number: int
    error: int
    """0: it says that it is done, and does nothing."""
    when: tuple[tuple[int, int, bool], ...] = ()
    """Only when these arguments are, or are not, these values."""


NO_LANDLOCK = Answer(444, errno.ENOSYS)
NO_SECCOMP = Answer(_PRCTL, errno.EINVAL, ((0, _SET_SECCOMP, True),))
BROKEN_LANDLOCK = Answer(445, errno.EPERM)
LYING_LANDLOCK = Answer(446, 0)
LYING_SECCOMP = Answer(_PRCTL, 0, ((0, _SET_SECCOMP, True), (2, 0, False)))
"""Asked whether it could, with no filter, it still says so."""


def become(answer: Answer) -> None:
    """Have this process, and all it starts, live with that answer."""
    code = [_word(_RETURN, 0x00050000 | answer.error), _word(_RETURN, 0x7FFF0000)]
    for argument, value, wanted in reversed(answer.when):
        away = len(code) - 1
        test = _word(_IS, value, *((0, away) if wanted else (away, 0)))
        code = [_word(_LOAD, 16 + 8 * argument), test, *code]
    code = [_word(_LOAD, 0), _word(_IS, answer.number, 0, len(code) - 1), *code]
    program = ctypes.create_string_buffer(b"".join(code))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(_SET_SECCOMP, _MODE_FILTER, described, 0, 0) == 0


def main(argv: list[str]) -> int:
    """`ANSWER PROGRAM...`: run a program with an answer, by its name here."""
    become(globals()[argv[0]])
    os.execv(argv[1], argv[1:])


def _word(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
