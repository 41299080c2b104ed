"""The ledger: what a session really did, as far as the evidence of a plan may name it.

A fold of the session's events. A shell command counts with the outcome of its last run, also one of several
on a line. Where the end of the line does not tell how one of them ended (`pytest | tail`, `pytest || true`),
that one counts as not succeeded, and so does the line. A file counts with the lines that were read, changed
or found by a search; one that a shell command made or changed, however it ended, by its name and first line,
since the lines are not known. What failed or was denied is no other deed of a file, and a call without an end
is none. A file that a person took back, or made again, counts no longer: what it holds now was not seen.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, Literal

import msgspec

from actors.session.commands import canonical, parts
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    FileChange,
    FilesChanged,
    FilesRestored,
    FilesRestoring,
    MessageAppended,
    PromptTaken,
    SessionStarted,
)
from ipc.messages import Deed

MAX_DEEDS: Final = 1000
MAX_SUBJECT: Final = 500
"""Characters of a command or path; longer ones are not kept, an entry of evidence could not name them."""
MAX_RANGES: Final = 40
"""Separate ranges of lines of one file."""
MAX_PARTS: Final = 50
"""Commands of one line."""
MAX_CHANGED: Final = 200
"""Files that one command changed; the first of more, so that they do not push everything else out."""

Range = tuple[int, int]
"""First and last line."""
Key = tuple[Literal["command", "file"], str]

_RELEVANT: Final = frozenset({"bash_exec", "read_file", "patch", "ripgrep"})
_SHOWN_LINES: Final = re.compile(r"\[lines (\d{1,9})-(\d{1,9}) of ")
_NUMBERED: Final = re.compile(r"^(\d{1,9})(?::\d+)?\t", re.MULTILINE)
_CHANGED_LINES: Final = re.compile(r"^@@ -\S+ \+(\d{1,9})(?:,(\d{1,9}))? @@", re.MULTILINE)
_FOUND_LINE: Final = re.compile(r'^([^"\n][^\n]*?)([:-])([1-9]\d{0,8})\2 ', re.MULTILINE)
_CURSOR: Final = re.compile(r"(.+?):\d{1,12}(?::\d{1,12})?:?", re.DOTALL)


class _Arguments(msgspec.Struct):
    command: str = ""
    path: str = ""


class _Result(msgspec.Struct):
    tool_call_id: str = ""
    content: str = ""


_decode_arguments = msgspec.json.Decoder(_Arguments).decode
_decode_result = msgspec.json.Decoder(_Result).decode


class Ledger:
    """Takes every event of a session, and tells its deeds."""

    def __init__(self) -> None:
        self._root = "/"
        self._open: dict[str, CallStarted] = {}
        self._unread: dict[str, str] = {}
        """Path by call, where the lines that were read stand in the result alone."""
        self._deeds: dict[Key, bool | tuple[Range, ...]] = {}
        """Of a command whether it succeeded, of a file its lines; the latest last."""

    def apply(self, event: AnyEvent) -> None:
        """Take the next event."""
        match event:
            case CallStarted(name=name) if name in _RELEVANT:
                self._open[event.call_id] = event
            case CallEnded(call_id=call_id):
                started = self._open.pop(call_id, None)
                if started is not None:
                    self._end(started, event)
            case MessageAppended(message=message) if self._unread:
                self._read(bytes(message))
            case FilesChanged(call_id=call_id, changes=changes):
                if call_id not in self._open or self._open[call_id].name == "bash_exec":
                    self._changed(changes)
            case FilesRestoring(paths=paths) | FilesRestored(paths=paths):
                for path in paths:
                    self._deeds.pop(("file", path), None)
            case PromptTaken():
                self._open.clear()
                self._unread.clear()
            case SessionStarted(workspace=workspace):
                self._root = workspace
            case _:
                pass

    def deeds(self) -> tuple[Deed, ...]:
        """What was done, each thing once, the latest last; at most `MAX_DEEDS`."""
        newest = islice(self._backwards(), MAX_DEEDS)
        return tuple(newest)[::-1]

    def _backwards(self) -> Iterator[Deed]:
        for (kind, subject), what in reversed(self._deeds.items()):
            if isinstance(what, bool):
                yield Deed(kind=kind, subject=subject, ok=what)
            else:
                for first, last in reversed(what):
                    yield Deed(kind=kind, subject=subject, first_line=first, last_line=last)

    def _end(self, started: CallStarted, ended: CallEnded) -> None:
        try:
            given = _decode_arguments(started.arguments)
        except (msgspec.DecodeError, RecursionError):
            return
        if started.name == "bash_exec":
            if ended.status != "denied":
                self._command(given.command, ok=ended.status == "ok")
        elif ended.status == "ok":
            self._file(started, given.path, ended.display)

    def _command(self, line: str, *, ok: bool) -> None:
        found = parts(line)
        for part in found[-MAX_PARTS:]:
            self._keep(("command", part.command), ok and part.certain)
        self._keep(("command", canonical(line)), ok and all(part.certain for part in found))

    def _file(self, started: CallStarted, path: str, display: str) -> None:
        match started.name:
            case "patch":
                self._lines(path, [_hunk(hunk) for hunk in _CHANGED_LINES.finditer(display)] or [(1, 1)])
            case "ripgrep":
                found: dict[str, list[Range]] = {}
                for name, _, digits in _FOUND_LINE.findall(display):
                    found.setdefault(name, []).append((number := int(digits), number))
                for name, lines in found.items():
                    self._lines(name, lines)
            case _:
                cursor = _CURSOR.fullmatch(path)
                path = cursor[1] if cursor else path
                if not self._shown(path, display):
                    self._unread[started.call_id] = path
                    numbers = [int(line[1]) for line in _NUMBERED.finditer(display)]
                    self._lines(path, [(numbers[0], numbers[-1])] if numbers else [])

    def _changed(self, changes: Iterable[FileChange]) -> None:
        files = (each.path for each in changes if each.after is not None and each.after.kind == "file")
        for path in islice(files, MAX_CHANGED):
            self._lines(path, [(1, 1)])

    def _shown(self, path: str, text: str) -> bool:
        """Note the lines that the end of a read tells."""
        footer = text[text.rfind("\n") + 1 :]
        told = _SHOWN_LINES.match(footer)
        if told is not None:
            self._lines(path, [(int(told[1]), int(told[2]))])
        elif footer == "[empty file]":
            self._lines(path, [(1, 1)])
        else:
            return False
        return True

    def _read(self, message: bytes) -> None:
        try:
            result = _decode_result(message)
        except (msgspec.DecodeError, RecursionError):
            return
        path = self._unread.pop(result.tool_call_id, None)
        if path is not None:
            self._shown(path, result.content)

    def _lines(self, path: str, lines: list[Range]) -> None:
        key: Key = ("file", self._relative(path))
        known = self._deeds.get(key)
        ranges = _joined(known if isinstance(known, tuple) else (), lines)
        if ranges:
            self._keep(key, ranges)

    def _relative(self, path: str) -> str:
        whole = posixpath.normpath(posixpath.join(self._root, path))
        return whole.removeprefix(self._root.rstrip("/") + "/")

    def _keep(self, key: Key, what: bool | tuple[Range, ...]) -> None:
        if not key[1] or len(key[1]) > MAX_SUBJECT:
            return
        self._deeds.pop(key, None)
        self._deeds[key] = what
        if len(self._deeds) > MAX_DEEDS:
            del self._deeds[next(iter(self._deeds))]


def _hunk(header: re.Match[str]) -> Range:
    """The lines of the new text that a hunk of a diff shows; at least one."""
    first, count = int(header[1]) or 1, int(header[2] or 1)
    return first, max(first, first + count - 1)


def _joined(known: Iterable[Range], fresh: Iterable[Range]) -> tuple[Range, ...]:
    """All ranges in order, joined where they touch; of too many the fresh ones are kept first."""
    joined: list[Range] = []
    for first, last in sorted([*known, *fresh]):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    if len(joined) > MAX_RANGES:
        starts = [first for first, _ in fresh]
        joined.sort(key=lambda each: not any(each[0] <= start <= each[1] for start in starts))
    return tuple(joined[:MAX_RANGES])
