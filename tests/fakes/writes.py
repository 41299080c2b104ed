"""Routes on which code in a worker changes something: each takes a folder, and raises where it fails.

Without a wall every one of them succeeds, which a test shows first.
"""

import array
import ctypes
import errno
import fcntl
import mmap
import os
import socket
import sqlite3
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.fakes.burglar import AT_FDCWD, LIBC, call, checked, path, program

CONTENT = "what was here\n"

Write = Callable[[Path], object]
WRITES: dict[str, Write] = {}


def furnish(folder: Path) -> None:
    """Lay out one folder for each write."""
    for name in WRITES:
        own = folder / name
        (own / "empty").mkdir(parents=True)
        (own / "file").write_text(CONTENT, encoding="utf-8")
        (own / "other").write_text("other\n", encoding="utf-8")
        (own / "link").symlink_to("file")
        os.setxattr(own / "file", "user.mark", b"here")
    with closing(sqlite3.connect(folder / "sqlite" / "data")) as data:
        data.execute("create table t (x)")
        data.commit()
    subprocess.run(["git", "init", "-q", folder / "git"], check=True)


def write(route: Write) -> Write:
    WRITES[route.__name__] = route
    return route


# --- writes: content and length -----------------------------------------------------------------------------


@write
def opened_to_write(own: Path) -> None:
    os.write(os.open(own / "file", os.O_WRONLY), b"X")


@write
def opened_to_append(own: Path) -> None:
    os.write(os.open(own / "file", os.O_WRONLY | os.O_APPEND), b"X")


@write
def opened_to_empty(own: Path) -> None:
    os.open(own / "file", os.O_RDONLY | os.O_TRUNC)


@write
def opened_by_openat2(own: Path) -> None:
    how = struct.pack("<QQQ", os.O_WRONLY | os.O_TRUNC, 0, 0)
    call("openat2", AT_FDCWD, path(own / "file"), how, len(how))


@write
def opened_through_a_link(own: Path) -> None:
    (own / "link").write_text("X", encoding="utf-8")


@write
def opened_again_through_proc(own: Path) -> None:
    fd = os.open(own / "file", os.O_RDONLY)
    os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"X")


@write
def mapped_and_shared(own: Path) -> None:
    with mmap.mmap(os.open(own / "file", os.O_RDWR), 0) as shared:
        shared[0:1] = b"X"
        shared.flush()


@write
def truncated(own: Path) -> None:
    os.truncate(own / "file", 0)


@write
def truncated_when_open(own: Path) -> None:
    os.ftruncate(os.open(own / "file", os.O_RDWR), 0)


@write
def allocated(own: Path) -> None:
    os.posix_fallocate(os.open(own / "file", os.O_RDWR), 0, 100_000)


@write
def copied_over(own: Path) -> None:
    os.copy_file_range(os.open(own / "other", os.O_RDONLY), os.open(own / "file", os.O_WRONLY), 6)


@write
def sqlite(own: Path) -> None:
    with closing(sqlite3.connect(own / "data")) as data:
        try:
            data.execute("insert into t values (1)")
        except sqlite3.OperationalError as error:
            raise PermissionError(errno.EACCES, str(error)) from error
        data.commit()


# --- writes: names ------------------------------------------------------------------------------------------


@write
def created(own: Path) -> None:
    os.open(own / "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


@write
def created_by_creat(own: Path) -> None:
    checked(LIBC.creat(path(own / "new"), 0o600))


@write
def created_without_a_name(own: Path) -> None:
    fd = os.open(own, os.O_TMPFILE | os.O_RDWR, 0o600)
    checked(LIBC.linkat(AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD, path(own / "new"), 0x400))


@write
def made_a_folder(own: Path) -> None:
    (own / "new").mkdir()


@write
def made_a_pipe(own: Path) -> None:
    os.mkfifo(own / "new")


@write
def made_a_node(own: Path) -> None:
    os.mknod(own / "new", stat.S_IFREG | 0o600)


@write
def made_a_socket(own: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(own / "new"))


@write
def linked(own: Path) -> None:
    os.link(own / "file", own / "new")


@write
def symlinked(own: Path) -> None:
    (own / "new").symlink_to("file")


@write
def renamed(own: Path) -> None:
    (own / "file").rename(own / "new")


@write
def renamed_over(own: Path) -> None:
    (own / "other").replace(own / "file")


@write
def exchanged(own: Path) -> None:
    call("renameat2", AT_FDCWD, path(own / "file"), AT_FDCWD, path(own / "other"), 2)


@write
def moved_into_another_folder(own: Path) -> None:
    (own / "file").rename(own / "empty" / "file")


@write
def unlinked(own: Path) -> None:
    (own / "file").unlink()


@write
def removed_a_folder(own: Path) -> None:
    (own / "empty").rmdir()


# --- writes: mode, owner, times, attributes -----------------------------------------------------------------


@write
def mode(own: Path) -> None:
    (own / "file").chmod(0o777)


@write
def mode_when_open(own: Path) -> None:
    os.fchmod(os.open(own / "file", os.O_RDONLY), 0o777)


@write
def mode_by_fchmodat2(own: Path) -> None:
    call("fchmodat2", AT_FDCWD, path(own / "file"), 0o777, 0)


@write
def owner(own: Path) -> None:
    os.chown(own / "file", os.getuid(), os.getgid())


@write
def owner_when_open(own: Path) -> None:
    os.fchown(os.open(own / "file", os.O_RDONLY), os.getuid(), os.getgid())


@write
def owner_of_a_link(own: Path) -> None:
    os.lchown(own / "link", os.getuid(), os.getgid())


@write
def times(own: Path) -> None:
    os.utime(own / "file", (1, 1))


@write
def times_when_open(own: Path) -> None:
    os.utime(os.open(own / "file", os.O_RDONLY), (1, 1))


@write
def attribute(own: Path) -> None:
    os.setxattr(own / "file", "user.new", b"X")


@write
def attribute_when_open(own: Path) -> None:
    os.setxattr(os.open(own / "file", os.O_RDONLY), "user.new", b"X")


@write
def attribute_by_setxattrat(own: Path) -> None:
    value = ctypes.create_string_buffer(b"X")
    given = struct.pack("<QII", ctypes.addressof(value), 1, 0)
    call("setxattrat", AT_FDCWD, path(own / "file"), 0, b"user.new", given, len(given))


@write
def attribute_removed(own: Path) -> None:
    os.removexattr(own / "file", "user.mark")


@write
def flags_when_open(own: Path) -> None:
    fd, flags = os.open(own / "file", os.O_RDONLY), array.array("l", [0])
    fcntl.ioctl(fd, 0x80086601, flags)
    flags[0] |= 0x40  # FS_NODUMP_FL
    fcntl.ioctl(fd, 0x40086602, flags)


@write
def flags_by_file_setattr(own: Path) -> None:
    given = struct.pack("<QIIII", 0x80, 0, 0, 0, 0)  # FS_XFLAG_NODUMP
    call("file_setattr", AT_FDCWD, path(own / "file"), given, len(given), 0)


# --- writes: programs ---------------------------------------------------------------------------------------


@write
def git(own: Path) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    program("git", "-C", own, *who, "commit", "-q", "--allow-empty", "-m", "m")


@write
def sed(own: Path) -> None:
    program("sed", "-i", "s/was/is/", own / "file")


@write
def find(own: Path) -> None:
    program("find", own / "file", "-delete")


@write
def shell(own: Path) -> None:
    program("sh", "-c", f"echo X > '{own}/file'")


@write
def another_python(own: Path) -> None:
    program(sys.executable, "-I", "-c", f"open({str(own / 'file')!r}, 'w').write('X')")


@write
def daemon(own: Path) -> None:
    program("setsid", "sh", "-c", f"rm -rf '{own}/file'; test ! -e '{own}/file'")
