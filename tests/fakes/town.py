"""A workspace and what lies around it: a secret, servers, a bystander; and whether any of it was touched."""

import hashlib
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ipc.endpoints import RunPlace
from tests.fakes.places import run_place, short_directory
from tests.fakes.writes import CONTENT, furnish

SETTINGS, SESSION, KEY = ".config/fido/config.toml", ".local/state/fido/sessions/other.jsonl", ".ssh/id"
"""What lies in a home, also where that is the workspace."""


class Town(NamedTuple):
    """What code in a worker could reach."""

    place: RunPlace
    workspace: Path
    given: dict[str, Any]
    """For the routes of a burglar."""
    ears: list[socket.socket]

    def heard(self) -> list[str]:
        """Addresses at which somebody knocked."""
        return [str(ear.getsockname()) for ear in self.ears if _heard(ear)]

    def bystander(self) -> tuple[object, ...]:
        """What others could have done to a process."""
        pid = self.given["bystander"]
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        kept = [line for line in status if line.startswith(("State", "TracerPid", "SigPnd", "ShdPnd"))]
        nice, limits = os.getpriority(os.PRIO_PROCESS, pid), Path(f"/proc/{pid}/limits").read_bytes()
        return *kept, nice, os.sched_getaffinity(pid), limits


@contextmanager
def town(uid: int) -> Iterator[Town]:
    """Lay it out for one user."""
    with ExitStack() as stack:
        folder = stack.enter_context(short_directory())
        workspace = folder / "workspace"
        furnish(workspace)
        secret = folder / "home" / ".ssh" / "id"
        secret.parent.mkdir(parents=True)
        secret.write_text("secret", encoding="utf-8")
        os.setxattr(secret, "user.mark", b"secret")
        (workspace / "symlink").symlink_to(secret)
        for name in (SETTINGS, SESSION, KEY):
            (workspace / name).parent.mkdir(parents=True)
            (workspace / name).write_text("secret", encoding="utf-8")
        (workspace / "readable").write_text(CONTENT, encoding="utf-8")
        place = stack.enter_context(run_place(workspace))
        ears = {name: stack.enter_context(closing(ear)) for name, ear in _ears(folder)}
        given = {
            "workspace": str(workspace),
            "home": str(workspace),
            "readable": str(workspace / "readable"),
            "secret": str(secret),
            "symlink": str(workspace / "symlink"),
            "run": str(place.directory),
            "bystander": stack.enter_context(_bystander(uid)),
            "abstract": folder.name,
            "stream": str(folder / "stream"),
            "datagram": str(folder / "datagram"),
            **{name: ear.getsockname()[1] for name, ear in ears.items() if name in ("tcp", "tcp6", "udp")},
        }
        for path in (folder, *folder.rglob("*"), place.directory.parent, *place.directory.parent.rglob("*")):
            os.chown(path, uid, -1, follow_symlinks=False)
        yield Town(place, workspace, given, list(ears.values()))


def digest(root: Path) -> dict[str, tuple[object, ...]]:
    """All that can be said of a tree but when it was read: content, mode, owner, times, attributes."""
    return {str(path.relative_to(root)): _facts(path) for path in (root, *root.rglob("*"))}


def _facts(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    attributes = {name: os.getxattr(path, name, follow_symlinks=False) for name in _attributes(path)}
    content = b""
    if path.is_symlink():
        content = os.fsencode(path.readlink())
    elif path.is_file():
        content = hashlib.sha256(path.read_bytes()).digest()
    return (
        status.st_mode,
        (status.st_uid, status.st_gid, status.st_ino, status.st_nlink, status.st_size, status.st_blocks),
        (status.st_mtime_ns, status.st_ctime_ns),
        attributes,
        content,
    )


def _attributes(path: Path) -> list[str]:
    return os.listxattr(path, follow_symlinks=False)


def _ears(folder: Path) -> Iterator[tuple[str, socket.socket]]:
    """Servers of every kind that a worker could know the address of."""
    yield "tcp", socket.create_server(("127.0.0.1", 0))
    yield "tcp6", socket.create_server(("::1", 0), family=socket.AF_INET6)
    for name, family, kind, address in (
        ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        ("stream", socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "stream")),
        ("datagram", socket.AF_UNIX, socket.SOCK_DGRAM, str(folder / "datagram")),
        ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + folder.name),
    ):
        ear = socket.socket(family, kind)
        ear.bind(address)
        if kind == socket.SOCK_STREAM:
            ear.listen()
        yield name, ear


def _heard(ear: socket.socket) -> bool:
    ear.setblocking(False)
    try:
        if ear.type == socket.SOCK_STREAM:
            ear.accept()[0].close()
        else:
            ear.recv(100)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _bystander(uid: int) -> Iterator[int]:
    """Another process of that user, which waits in a session of its own."""
    waits = subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, user=uid, extra_groups=[], start_new_session=True
    )
    try:
        yield waits.pid
    finally:
        assert waits.poll() is None
        waits.communicate()
