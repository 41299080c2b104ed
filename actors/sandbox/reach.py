"""What a worker can still reach in the file system: the workspace, the system's programs, this one."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import actors
import ipc
from actors.files.rg import find_rg
from actors.sandbox.landlock import EXECUTE, READ_DIR, READ_FILE, WRITE_FILE, Allowed
from actors.tools.tool import ToolFailure

_READ: Final = READ_FILE | READ_DIR
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_FILES_OF_ETC: Final = (
    "group", "ld.so.cache", "ld.so.preload", "locale.alias", "localtime", "nsswitch.conf", "os-release",
    "passwd",
)  # fmt: skip
_RANDOM: Final = ("/dev/urandom", "/dev/random", "/dev/zero")
_IGNORE_FILES: Final = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")


def allowed(workspace: Path) -> Iterator[Allowed]:
    """Every exception from the wall. Nothing but `/dev/null` can be written."""
    yield Allowed(workspace, _READ)
    for path in map(Path, _SYSTEM):
        yield Allowed(path, _READ | EXECUTE)
    yield from _program()
    for name in _FILES_OF_ETC:
        yield Allowed(Path("/etc") / name, READ_FILE)
    for name in _RANDOM:
        yield Allowed(Path(name), READ_FILE)
    yield Allowed(Path("/dev/null"), READ_FILE | WRITE_FILE)
    yield Allowed(Path("/proc/self"), _READ)
    yield from _ignore_rules(workspace)


def _program() -> Iterator[Allowed]:
    """Fido itself, what it imports, and rg."""
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield Allowed(Path(sysconfig.get_path(name)), _READ)
    for folder in (*actors.__path__, *ipc.__path__):
        yield Allowed(Path(folder), _READ)
    try:
        yield Allowed(Path(find_rg()), READ_FILE | EXECUTE)
    except ToolFailure:
        return  # searching then says so


def _ignore_rules(workspace: Path) -> Iterator[Allowed]:
    """Those of the folders around the workspace, as rg reads them; anybody may have put a symlink there."""
    for folder in workspace.parents:
        for name in _IGNORE_FILES:
            yield Allowed(folder / name, READ_FILE, follow=False)
