"""The workspace: where a path leads, whether it may be touched, and how a file is read and replaced in it."""

import json
import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from actors.files.replacement import Changed, Replacements
from actors.files.seen import Seen
from actors.tools.tool import ToolFailure

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link that leads in a circle"),
)
MAX_NAME_TOLD = 120
"""Characters of a name in an error."""
MAX_PATH = 4096
"""Characters; the system takes no more bytes."""
_HALF = re.compile(r"\\u(dc[89a-f][0-9a-f])")
_OWN = {".fido-plan.json": "update_plan"}
"""Files that only their owner writes, and the tool that asks it."""


class Workspace:
    """One folder; every path is resolved, symlinks and `..` first, and judged by where it then leads."""

    def __init__(
        self,
        root: Path,
        also_readable: Collection[Path] = (),
        private: Collection[Path] = (),
        notes: Path | None = None,
    ) -> None:
        """Sweep what a killed process left in `notes`, see `Replacements`.

        `also_readable` are folders outside that may be read, and nothing else; they need not be there.
        `private` are files and folders, links followed, that stay closed in the workspace, too; the folder
        that a person chose to work in is open all the same.
        """
        self.root = root.resolve()
        self._below = f"{self.root}/".replace("//", "/")
        self.seen = Seen()
        self._readable = (self.root, *(Path(os.path.realpath(folder)) for folder in also_readable))
        self._private = tuple(place for place in private if place != self.root and self._holds(place))
        self._replacements = Replacements(notes)
        self._replacements.sweep()

    def relative(self, path: Path) -> str:
        """A resolved path as a model sees it, from the root on; the root is `.`, outside it is absolute."""
        return str(path).removeprefix(self._below) if path != self.root else "."

    def _holds(self, path: Path) -> bool:
        return path == self.root or str(path).startswith(self._below)

    @property
    def private(self) -> list[str]:
        """What is private in the workspace, relative to the root."""
        return [self.relative(place) for place in self._private]

    def resolve_inside(self, given: str) -> Path:
        """Resolve a path as a model gave it; empty is the root. It need not exist."""
        return self._resolve(given, (self.root,))

    def _meant(self, given: str) -> str:
        """A path as a model gave it; as a listing prints it, a JSON string, where only that is there."""
        if not ("\\" in given or given.startswith('"')) or os.path.lexists(self.root / given):
            return given
        return next((each for each in _readings(given) if os.path.lexists(self.root / each)), given)

    def _resolve(self, given: str, folders: Collection[Path]) -> Path:
        given = self._meant(given)
        if "\0" in given:
            raise ToolFailure("bad_path", "A path can not hold a NUL character.", "Correct the path.")
        if len(given) > MAX_PATH:
            raise ToolFailure("bad_path", f"A path may have {MAX_PATH} characters.", "Correct the path.")
        try:
            resolved = Path(os.path.realpath(self.root / given))
        except UnicodeEncodeError:
            raise ToolFailure("bad_path", f"{brief(given)} can not be a path.", "Correct the path.") from None
        holding = [folder for folder in folders if resolved.is_relative_to(folder)]
        if not holding:
            leads = "lies" if str(resolved) == given else f"leads to {brief(str(resolved))},"
            raise ToolFailure(
                "outside_workspace",
                f"{brief(given)} {leads} outside the workspace {self.root}.",
                "Use a path inside the workspace, or ask the user to do this.",
            )
        if holding == [self.root] and any(resolved.is_relative_to(place) for place in self._private):
            raise _is_private(self.relative(resolved))
        return resolved

    def resolve_existing(self, given: str) -> Path:
        """Like `resolve_inside`, for what has to be there and is to be read."""
        path = self._resolve(given, self._readable)
        self.entry_status(path)
        return path

    def resolve_searchable(self, given: str) -> Path:
        """Like `resolve_existing`, for a folder or a regular file."""
        path = self._resolve(given, self._readable)
        status = self.entry_status(path)
        if not stat.S_ISDIR(status.st_mode):
            refuse_special(status, self.relative(path))
        return path

    def resolve_for_change(self, given: str) -> Path:
        """Like `resolve_inside`, for a file whose content is to change."""
        path = self.resolve_inside(given)
        self._refuse_protected(path)
        return path

    def resolve_entry(self, given: str) -> Path:
        """Resolve all but the last name, for an entry that is to be made or removed: a link is itself."""
        folder, name = os.path.split(self._meant(given).rstrip("/"))
        if name in ("", ".", ".."):
            return self.resolve_for_change(given)
        if Path(os.path.realpath(self.root / folder)) / name == self.root:
            folder, name = str(self.root), ""
        path = self.resolve_inside(folder) / name
        self._refuse_protected(path)
        for place in self._private:
            if place.is_relative_to(path) and os.path.lexists(place):
                raise _is_private(self.relative(place))
        return path

    def entry_status(self, path: Path) -> os.stat_result:
        """Status of a resolved entry, of a link its own."""
        name = self.relative(path)
        with os_failures(name):
            if os.path.lexists(path):
                return os.lstat(path)
        raise ToolFailure("not_found", f"There is no {brief(name)} in the workspace.", self._instead_of(path))

    def open_file(self, path: Path) -> BinaryIO:
        """Open a resolved path for reading; never waits for a pipe, never touches a device."""
        name = self.relative(path)
        with os_failures(name):
            refuse_special(os.lstat(path), name)
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            file = open(opened, "rb")  # noqa: SIM115 - closed by the caller
            try:
                refuse_special(os.fstat(opened), name)
            except BaseException:
                file.close()
                raise
            return file

    def replace(self, path: Path, data: bytes, like: os.stat_result | None) -> None:
        """Put `data` in place of a file in one step; `like` is the old one's status, null for a new one."""
        name = self.relative(path)
        with os_failures(name):
            try:
                self._replacements.replace(path, data, like)
            except Changed:
                raise changed_since_read(name) from None
        self.seen.note(path, data)

    def _refuse_protected(self, path: Path) -> None:
        name = self.relative(path)
        if path == self.root:
            raise ToolFailure("protected_path", "This is the workspace itself.", "Name what is inside it.")
        if ".git" in name.casefold().split("/"):
            raise ToolFailure(
                "protected_path", f"{shown(name)} belongs to Git.", "Use git through bash_exec."
            )
        if name in _OWN:
            message = f"{name} is written by Fido alone."
            raise ToolFailure("protected_path", message, f"Use {_OWN[name]}.")

    def _instead_of(self, missing: Path) -> str:
        if missing in self._readable:
            return "This folder is gone: tell the user."
        root = next(each for each in self._readable if missing.is_relative_to(each))
        inside = (each for each in missing.parents if each.is_relative_to(root))
        folder = next((each for each in inside if each.is_dir()), root)
        wanted = missing.relative_to(folder).parts[0]
        try:
            with os.scandir(folder) as entries:
                near = get_close_matches(wanted, [entry.name for entry in islice(entries, 2000)], n=3)
        except OSError:
            near = []
        if near:
            return f"Near it there is {', '.join(shown(self.relative(folder / name)) for name in near)}."
        return f"list_files with path {shown(self.relative(folder))} shows what is there."


def _readings(printed: str) -> Iterator[str]:
    """What a path may stand for that holds escapes: of all characters, or of bytes that are no UTF-8."""
    with suppress(ValueError, RecursionError):
        name = json.loads(printed if printed.startswith('"') else f'"{printed}"')
        if isinstance(name, str):
            yield name
    yield _HALF.sub(lambda found: chr(int(found[1], 16)), printed)


@contextmanager
def os_failures(name: str) -> Iterator[None]:
    """Tell a failure of the system as one of the call on `name`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "Check the path and its permissions, or tell the user."
        raise ToolFailure("system_error", f"{brief(name)}: {reason}.", hint) from error


def shown(name: str) -> str:
    """A name as text that stays on one line: as it is, or as a JSON string when it is out of the ordinary."""
    plain = name.isprintable() and name == name.strip() and not any(each in name for each in "\"'\\")
    return name if plain and name else json.dumps(name)


def brief(name: str) -> str:
    """Like `shown`, for an error: a very long name without its middle."""
    half = MAX_NAME_TOLD // 2
    return shown(name if len(name) <= MAX_NAME_TOLD else f"{name[:half]}…{name[-half:]}")


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def refuse_special(status: os.stat_result, name: str) -> None:
    """Refuse what is no regular file; opening a pipe or a device could wait for ever, or act."""
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), "no file")
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailure("is_a_folder", f"{shown(name)} is a folder.", "list_files shows what is in it.")
    raise ToolFailure("not_a_regular_file", f"{shown(name)} is {kind}, not a file.", "Choose another path.")


def changed_since_read(name: str) -> ToolFailure:
    return ToolFailure(
        "changed_since_read",
        f"{shown(name)} is no longer as it was read: something else has changed it. Nothing was changed.",
        "Read it again with read_file, then send the edit that fits what is there now.",
    )


def _is_private(name: str) -> ToolFailure:
    return ToolFailure(
        "private_path",
        f"{shown(name)} is private: Fido's own, or a place of keys and passwords. It stays closed to this.",
        "Do without it, or ask the user to do what has to be done there.",
    )
