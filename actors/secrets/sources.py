"""Where a key is when it is not in the settings themselves: in a file, or with a program that keeps keys."""

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from actors.files.regular import open_regular
from ipc.terminal_text import clean_line

KEY_LIMIT: Final = 16_384
"""Bytes of a key; what is longer is none."""
COMMAND_S: Final = 30.0
"""How long a command may take, also one that has a person unlock something."""
_NOT_FOUND: Final = 127
"""What `sh` says of a word that is no program."""
_STEP_S: Final = 0.05


class KeyUnavailable(Exception):
    """There is no key where the settings say one is; the text says why, and never quotes one."""


def read_key_file(path: Path) -> str:
    """The key in a file that nobody else can read or change. Raises `KeyUnavailable`."""
    try:
        with open(open_regular(path), "rb") as file:
            status, raw = os.fstat(file.fileno()), file.read(KEY_LIMIT + 1)
    except OSError as error:
        raise KeyUnavailable(f"the file cannot be read: {_reason(error)}") from None
    _check_private(path, status)
    return _one_key(raw, str(path))


def _check_private(path: Path, status: os.stat_result) -> None:
    """A file of root's is how containers mount secrets; its mode is for nobody else to mend."""
    quoted = shlex.quote(str(path))
    if status.st_uid not in (os.geteuid(), 0):
        raise KeyUnavailable(f"{path} belongs to another user; make a copy of your own")
    others = 0o077 if status.st_uid == os.geteuid() else 0o022
    if stat.S_IMODE(status.st_mode) & others:
        raise KeyUnavailable(f"{path} is open to other users; close it with: chmod 600 {quoted}")


def ask_command(command: str | Sequence[str], environ: Mapping[str, str], limit_s: float = COMMAND_S) -> str:
    """The key that a command prints: a list is run as it is, a string by `sh`. Raises `KeyUnavailable`.

    It has no terminal and nothing to read, and whatever is left of it is killed.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    name = _name(command.split()[0] if isinstance(command, str) else words[0], environ)
    try:
        process = subprocess.Popen(
            words,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise KeyUnavailable(f"{name} cannot be run: {_reason(error)}") from None
    with process:
        try:
            printed, said = _output(process, time.monotonic() + limit_s)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode == -signal.SIGKILL:
        raise KeyUnavailable(f"{name} did not end within {limit_s:g} s")
    if process.returncode == _NOT_FOUND:
        raise KeyUnavailable(f"{name} was not found")
    if process.returncode != 0:
        raise KeyUnavailable(f"{name} ended with status {process.returncode}{_told(said)}")
    return _one_key(printed, name)


def _name(word: str, environ: Mapping[str, str]) -> str:
    """A program's name; of what is no program none: it may be the key, set in the wrong place."""
    return clean_line(word, 60) if shutil.which(word, path=environ.get("PATH")) else "the command"


def _output(process: "subprocess.Popen[bytes]", deadline: float) -> tuple[bytes, bytes]:
    """What a process writes to stdout and stderr until it ends or is late, a key's length at most."""
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in kept:
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            ready = selector.select(_STEP_S)
            if not ready and process.poll() is not None:
                break  # what it left running keeps the pipes open
            for key, _ in ready:
                piece = os.read(key.fd, KEY_LIMIT)
                kept[key.fileobj] += piece[: KEY_LIMIT + 1 - len(kept[key.fileobj])]  # type: ignore[index]
                if not piece:
                    selector.unregister(key.fileobj)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])


def _told(said: bytes) -> str:
    """How much a command said of its failure; its words may hold a password that nobody knows here."""
    lines = len(said.strip().splitlines())
    if lines == 0:
        return ""
    return f"; it printed {lines} line{'s' if lines > 1 else ''} on stderr: run it yourself to see"


def _one_key(raw: bytes, place: str) -> str:
    if len(raw) > KEY_LIMIT:
        raise KeyUnavailable(f"{place} holds more than {KEY_LIMIT} bytes, so it is no key")
    try:
        lines = raw.decode("utf-8").split()
    except UnicodeDecodeError:
        raise KeyUnavailable(f"{place} holds bytes that are no text, so it is no key") from None
    match lines:
        case [key]:
            return key
        case []:
            raise KeyUnavailable(f"{place} holds nothing, where a key is expected")
        case _:
            raise KeyUnavailable(f"{place} holds more than one word, where a key alone is expected")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
