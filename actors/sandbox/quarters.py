"""What a worker has of its own: a folder with its socket and its log, and nothing of anybody else's."""

import contextlib
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from actors.files.regular import open_regular

MAILBOX: Final = "mail.ipc"
LOG: Final = "log"
LOG_TOLD: Final = 64 * 1024
"""Bytes from the end of a worker's log that go into the log of the session."""
_BACKLOG: Final = 16
_GIT: Final = "git"
_CONFIG_BYTES: Final = 1024 * 1024


class Quarters(NamedTuple):
    """A worker's folder, and the socket that is bound in it."""

    folder: Path
    mailbox: int
    """Descriptor of the listening socket."""

    @property
    def address(self) -> str:
        return f"ipc://{self.folder / MAILBOX}"

    @property
    def git_ignore(self) -> Path:
        """The person's own ignore rules, by a symlink that rg takes for the place of its user's."""
        return self.folder / _GIT / "ignore"


def move_in(folder: Path) -> Quarters:
    """Make the folder, have descriptors 0 to 2 and the socket, and close every other one. Raises `OSError`.

    The socket is made here because behind the wall nobody can make one. Output goes into a file of the
    folder: the log of the session is shared, and whoever may append to it could also empty it.
    """
    folder.mkdir(mode=0o700)
    keep_standard_streams()
    log = os.open(folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    _become(log, 1, 2)
    quarters = Quarters(folder, _listening(folder / MAILBOX))
    quarters.git_ignore.parent.mkdir(mode=0o700)
    quarters.git_ignore.symlink_to(_persons_git_ignore(os.environ))
    os.environ |= {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    os.environ.pop("TMPDIR", None)
    return quarters


def is_furnished(folder: Path) -> bool:
    """Whether a worker has come so far as to announce itself.

    Its socket need not be there any more: whoever ends a worker takes the announcement away first.
    """
    return (folder / _GIT).is_dir()


def move_out(folder: Path) -> bytes:
    """Remove the folder of a worker that has ended; return the end of its log."""
    told = b""
    with contextlib.suppress(OSError), open(open_regular(folder / LOG, os.O_NOFOLLOW), "rb") as log:
        log.seek(max(0, os.fstat(log.fileno()).st_size - LOG_TOLD))
        told = log.read(LOG_TOLD)
    shutil.rmtree(folder, ignore_errors=True)
    return told


def keep_standard_streams() -> None:
    """Close every descriptor above 2, and read from nowhere."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    _become(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)


def _become(opened: int, *descriptors: int) -> None:
    for descriptor in descriptors:
        os.dup2(opened, descriptor)
    os.close(opened)


def _listening(path: Path) -> int:
    """Bind a socket that none but this user can reach, whatever the umask is."""
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    mailbox.bind(str(path))
    path.chmod(0o600)
    mailbox.listen(_BACKLOG)
    return mailbox.detach()


def _persons_git_ignore(environ: Mapping[str, str]) -> Path:
    """The file that Git's settings name, else where Git looks by itself; it need not exist."""
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    for file in (home / ".gitconfig", config / "git" / "config"):
        named = _excludes_file(file)
        if named:
            return home / named.removeprefix("~/")
    return config / "git" / "ignore"


def _excludes_file(config: Path) -> str:
    """Value of `core.excludesFile`, as rg reads it: the first line that sets such a key."""
    try:
        with open(open_regular(config), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(_CONFIG_BYTES).splitlines()
    except OSError:
        return ""
    pairs = (line.partition("=") for line in lines)
    values = (value for key, _, value in pairs if key.strip().lower() == "excludesfile")
    return next(values, "").strip().strip('"').strip()
