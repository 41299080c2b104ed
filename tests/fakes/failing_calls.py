"""A process whose system calls are watched, made to fail or to be its last, one by one.

The kernel hands each call to us before it is carried out (seccomp user notification, Linux 5.5): it needs no
tool, no rights and no special disk, and reaches what C code calls as well.
"""

import ctypes
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NoReturn

DEADLINE_S: Final = 20.0
KILL: Final = -1
"""Instead of an errno: the process is killed before the call is carried out."""

_NUMBERS: Final = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "fsync": 74,
        "rename": 82,
        "unlink": 87,
        "openat": 257,
        "renameat2": 316,
        "seccomp": 317,
    },
    "aarch64": {
        "read": 63,
        "write": 64,
        "fsync": 82,
        "rename": 38,
        "unlink": 35,
        "openat": 56,
        "renameat2": 276,
        "seccomp": 277,
    },
}[platform.machine()]
CALLS: Final = ("openat", "read", "write", "fsync", "rename", "renameat2", "unlink")
_NAMES: Final = {_NUMBERS[name]: name for name in CALLS}

_FINISHED: Final = b"\0finished"
_SET_NO_NEW_PRIVS, _SET_MODE_FILTER, _NEW_LISTENER = 38, 1, 1 << 3
_USER_NOTIF, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD_NUMBER, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")


@dataclass
class Watched:
    """What a watched process did until its end."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    """Name and, where the call has a descriptor, the path behind it."""
    said: bytes = b""
    """What it handed over."""
    finished: bool = False
    """Whether it came to the end of its work."""


Decide = Callable[[int, str, str], int]
"""What becomes of a call, from its number (from 1), name and path: 0 to carry it out, an errno, or `KILL`."""


def watched(work: Callable[[Callable[[bytes], object]], None], decide: Decide) -> Watched:
    """Do `work` in a forked process; it may hand over bytes by the function it is given."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _be_watched(work, theirs)
    theirs.close()
    with ours:
        ours.settimeout(DEADLINE_S)
        try:
            seen = _watch(pid, ours, decide)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    seen.finished = seen.said.endswith(_FINISHED)
    seen.said = seen.said.removesuffix(_FINISHED)
    return seen


def _be_watched(work: Callable[[Callable[[bytes], object]], None], theirs: socket.socket) -> NoReturn:
    try:
        listener = _install()
        socket.send_fds(theirs, [b"."], [listener])
        os.close(listener)
        work(theirs.sendall)
        theirs.sendall(_FINISHED)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(1)


def _install() -> int:
    """Have the calls handed to whoever holds the descriptor that this returns."""
    rules = [(_LOAD_NUMBER, 0, 0, 0)]
    rules += [(_IF_EQUAL, len(_NAMES) - n, 0, number) for n, number in enumerate(_NAMES)]
    rules += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _USER_NOTIF)]
    code = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(rules), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    listener: int = libc.syscall(_NUMBERS["seccomp"], _SET_MODE_FILTER, _NEW_LISTENER, program)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp gives no listener")
    return listener


def _watch(pid: int, ours: socket.socket, decide: Decide) -> Watched:
    seen = Watched()
    _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(ours, select.POLLIN)
    try:
        while ready := poll.poll(1000 * DEADLINE_S):
            events = dict(ready)
            if events.get(listener, 0) & select.POLLIN:
                _answer(pid, listener, seen, decide)
            elif ours.fileno() in events:
                piece = ours.recv(65536)
                seen.said += piece
                if not piece:
                    return seen
            else:
                poll.unregister(listener)
        raise TimeoutError(f"a watched process is stuck behind {seen.calls[-3:]}")
    finally:
        os.close(listener)


def _answer(pid: int, listener: int, seen: Watched, decide: Decide) -> None:
    request = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, request)
    except FileNotFoundError:  # it ended meanwhile
        return
    number, _, _, call, _, _, first, *_ = _NOTIFICATION.unpack(request)
    name = _NAMES[call]
    seen.calls.append((name, _path(pid, first) if name in ("read", "write", "fsync") else ""))
    error = decide(len(seen.calls), *seen.calls[-1])
    if error == KILL:
        os.kill(pid, signal.SIGKILL)
        return
    response = _RESPONSE.pack(number, 0, -error, 0 if error else _CONTINUE)
    fcntl.ioctl(listener, _SEND, bytearray(response))


def _path(pid: int, descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except OSError:
        return ""
