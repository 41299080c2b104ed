"""A grant for good: written into the person's own config.toml, for one workspace alone."""

import fcntl
import os
import secrets
import stat
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from actors.directories import make_private
from actors.files.durable import sync_folder
from actors.files.regular import open_regular
from actors.permissions.grants import Grant
from actors.settings.layers import SIZE_LIMIT
from actors.settings.tables import InWorkspace

_ATTEMPTS: Final = 5
"""How often the file is read again when another program has changed it meanwhile."""


class NotKept(Exception):
    """The grant could not be written; the text says why, and what to do."""


def keep(grant: Grant, workspace: Path, config: Path) -> str:
    """Add a grant to the settings and say in a sentence where it stands. Raises `NotKept`.

    Comments and everything else in the file stay; a link to it stays one. What another program writes
    meanwhile is read again, never overwritten; what could not be read back is not written.
    """
    _check_is_text(grant, workspace)
    target = Path(os.path.realpath(config))
    try:
        make_private(target.parent)
        with _locked(target.parent):
            for _ in range(_ATTEMPTS):
                before = _content(target)
                after = _with_grant(before or b"", grant, workspace, config)
                if _replaced(target, before, after):
                    sync_folder(target.parent)
                    return f"Kept in {config}: {grant.words} is allowed in {workspace}."
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotKept(f"{config} can not be written: {reason}. Make it writable, or edit it.") from None
    except ValueError as error:
        raise NotKept(f"{config} can not take it: {error}. Correct it first.") from None
    raise NotKept(f"another program keeps changing {config}. Close it, then allow this again.")


def _check_is_text(grant: Grant, workspace: Path) -> None:
    if not grant.setting:
        raise NotKept("no setting means a line of more than one command in a folder of the workspace.")
    try:
        f"{grant.setting}{workspace}".encode()
    except UnicodeEncodeError:
        raise NotKept("it holds characters that are no text, and settings are text.") from None


def _with_grant(before: bytes, grant: Grant, workspace: Path, config: Path) -> bytes:
    """The file's content with the grant in it. Raises `ValueError` for the file, `NotKept` for the grant."""
    text = before.decode("utf-8")
    meant: dict[str, Any] = tomllib.loads(text)
    try:
        here = _table(meant, grant, workspace, lambda _, __: {})
        general = meant.get("permissions", {}).get(grant.table, {})
        if here.get(grant.setting, general.get(grant.setting)) == "deny":
            raise NotKept(f"{config} denies it by now. Change it there.")
        here[grant.setting] = "allow"
        InWorkspace.model_validate(meant["workspaces"][str(workspace)])
    except (AttributeError, TypeError, ValidationError):
        raise ValueError(f"what it says of {workspace} is no setting, or would be none") from None
    after = _added(text, grant, workspace)
    if len(after) > SIZE_LIMIT:
        raise NotKept(f"{config} would be larger than {SIZE_LIMIT} bytes. Delete approvals that are old.")
    if not _says(after, meant):
        raise ValueError("nothing can be added to dotted keys; write them as [tables]")
    return after


def _added(text: str, grant: Grant, workspace: Path) -> bytes:
    """The text with the grant in it; below dotted keys tomlkit can put it in a wrong place."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import InlineTable, Item

    def new(parent: object, name: str) -> Item:
        if isinstance(parent, InlineTable):
            return tomlkit.inline_table()
        return tomlkit.table(is_super_table=name not in ("permissions", grant.table))

    try:
        document = tomlkit.parse(text)
        _table(document, grant, workspace, new)[grant.setting] = "allow"
        return tomlkit.dumps(document).encode()
    except TOMLKitError as error:
        raise ValueError(f"nothing can be added to it: {error}") from None


def _says(content: bytes, meant: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(content.decode()) == meant
    except tomllib.TOMLDecodeError:
        return False


def _table(root: Any, grant: Grant, workspace: Path, new: Callable[[object, str], object]) -> Any:
    """The table that a grant is kept in; what is missing on the way is made."""
    for name in ("workspaces", str(workspace), "permissions", grant.table):
        root = root.setdefault(name, new(root, name))
    return root


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
