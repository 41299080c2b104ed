"""A grant for good: written into the person's own config.toml, for one workspace alone."""

import fcntl
import os
import secrets
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from actors.directories import make_private
from actors.files.durable import sync_folder
from actors.files.regular import open_regular
from actors.permissions.grants import Grant
from actors.settings.layers import SIZE_LIMIT

_ATTEMPTS: Final = 5
"""How often the file is read again when another program has changed it meanwhile."""


class NotKept(Exception):
    """The grant could not be written; the text says why, and what to do."""


def keep(grant: Grant, workspace: Path, config: Path) -> str:
    """Add a grant to the settings and say in a sentence where it stands. Raises `NotKept`.

    Comments and everything else in the file stay; a link to it stays one. What another program writes
    meanwhile is read again, never overwritten.
    """
    target = Path(os.path.realpath(config))
    try:
        make_private(target.parent)
        with _locked(target.parent):
            for _ in range(_ATTEMPTS):
                before = _content(target)
                if _replaced(target, before, _with_grant(before or b"", grant, workspace)):
                    sync_folder(target.parent)
                    return f"Kept in {config}: {grant.words} is allowed in {workspace}."
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotKept(f"{config} can not be written: {reason}. Make it writable, or edit it.") from None
    except ValueError as error:
        raise NotKept(f"{config} can not be read: {error}. Correct it first.") from None
    raise NotKept(f"another program keeps changing {config}. Close it, then allow this again.")


def _with_grant(before: bytes, grant: Grant, workspace: Path) -> bytes:
    """The file's content with the grant in it. Raises `ValueError`."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = before.decode("utf-8")
    tomllib.loads(text)
    try:
        document = tomlkit.parse(text)
        permissions = document
        for name in ("workspaces", str(workspace), "permissions"):
            permissions = permissions.setdefault(name, tomlkit.table(is_super_table=name != "permissions"))
        permissions.setdefault(grant.table, tomlkit.table())[grant.name] = "allow"
        after = tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, TypeError) as error:
        raise ValueError(f"it has no place for workspaces: {error}") from None
    tomllib.loads(after)
    return after.encode()


def _content(path: Path) -> bytes | None:
    try:
        with open(open_regular(path), "rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return None
    if len(content) > SIZE_LIMIT:
        raise ValueError(f"it is larger than {SIZE_LIMIT} bytes")
    return content


def _replaced(path: Path, before: bytes | None, after: bytes) -> bool:
    """Put the new content in place in one step; False when the old one is there no more."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    mode = 0o600 if before is None else stat.S_IMODE(path.stat().st_mode)
    opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(opened, "wb") as file:
            file.write(after)
            file.flush()
            os.fchmod(opened, mode)
            os.fsync(opened)
        if before is None:
            return _linked(temporary, path)
        if _content(path) != before:
            return False
        temporary.replace(path)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _linked(temporary: Path, path: Path) -> bool:
    """A new name is made only where there is none."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One Fido at a time; a descriptor of the folder is enough, and leaves no file behind."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
