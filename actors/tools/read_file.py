"""`read_file`: a range of a text file with line numbers; binaries are named, not shown."""

import os
import re
from pathlib import Path
from typing import BinaryIO, ClassVar

from pydantic import Field

from actors.files import control_marks, image_size
from actors.files.text_encoding import HEAD_BYTES, Encoding, binary_kind, detect
from actors.files.text_page import Piece, line_count, line_start, page
from actors.files.workspace import Workspace, counted, os_failures, shown
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput

MAX_LINES = 1000
MAX_FILE_BYTES = 64 << 20
"""What lies behind in a larger file is left to other programs."""


class ReadFileInput(ToolInput):
    """A file and a range of its lines."""

    path: str
    offset: int = Field(1, ge=0, description="First line, from 1")
    limit: int = Field(MAX_LINES, ge=1, description="Most lines")


class ReadFile:
    """Shows a part of a file, and says what part it is."""

    name: ClassVar[str] = "read_file"
    effect: ClassVar[Effect] = "read"
    input: ClassVar[type[ReadFileInput]] = ReadFileInput

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def summary(self, given: ReadFileInput) -> str:
        return given.path if given.offset <= 1 else f"{given.path}:{given.offset}"

    async def run(self, given: ReadFileInput, invocation: Invocation) -> ToolOutput:
        path, line, column = self._place(given)
        name = self._workspace.relative(path)
        with self._workspace.open_file(path) as file, os_failures(name):
            raw = _read(file, name)
        data, encoding, partial = _text(raw, name)
        start = line_start(data, line)
        if start is None:
            raise _past_the_end(name, line, data, partial)
        pieces = page(data, start, line, column, min(given.limit, MAX_LINES))
        footer = _footer(pieces, data, encoding, partial)
        self._workspace.seen.note(path, raw)
        return ToolOutput("\n".join([*(_numbered(each, name) for each in pieces), footer]))

    def _place(self, given: ReadFileInput) -> tuple[Path, int, int]:
        """The file, the first line, the first column; a path such as `a.py:12:80` gives the latter two."""
        line = max(1, given.offset)
        try:
            return self._workspace.resolve_existing(given.path), line, 1
        except ToolFailure:
            cursor = re.fullmatch(r"(.+?):(\d{1,12})(?::(\d{1,12}))?:?", given.path, re.DOTALL)
            if cursor is None:
                raise
        path = self._workspace.resolve_existing(cursor[1])
        return path, max(line, int(cursor[2])), max(1, int(cursor[3] or 1))


def _read(file: BinaryIO, name: str) -> bytes:
    """The content, as far as it is read at all; of what is no text not even that."""
    head = file.read(HEAD_BYTES)
    kind = binary_kind(head)
    if not kind:
        return head + file.read(MAX_FILE_BYTES + 1 - len(head))
    if kind.endswith("image") and (pixels := image_size.image_size(head + file.read(image_size.HEAD_BYTES))):
        kind += " of {}x{} pixels".format(*pixels)
    raise _binary(name, kind, os.fstat(file.fileno()).st_size)


def _text(raw: bytes, name: str) -> tuple[bytes, Encoding, bool]:
    """Text as UTF-8 without byte order mark; its true encoding; whether it is only the start."""
    partial = len(raw) > MAX_FILE_BYTES
    data = raw[: raw.rfind(b"\n", 0, MAX_FILE_BYTES) + 1 or MAX_FILE_BYTES] if partial else raw
    try:
        encoding = detect(data)
    except UnicodeDecodeError:
        raise _binary(name, "a file that does not fit the encoding it begins with", len(raw)) from None
    data = data[len(encoding.bom) :] if encoding.codec == "utf-8" else encoding.decode(data).encode()
    if b"\0" in data:
        raise _binary(name, "a binary file", len(raw))
    return data, encoding, partial


def _binary(name: str, kind: str, size: int) -> ToolFailure:
    message = f"{shown(name)} is {kind}, {counted(size, 'byte')}; it is not shown."
    return ToolFailure("binary_file", message, "If what is in it matters, use a program for it in bash_exec.")


def _past_the_end(name: str, line: int, data: bytes, partial: bool) -> ToolFailure:
    if partial:
        message = f"Line {line} of {shown(name)} lies behind the first {MAX_FILE_BYTES} bytes."
        return ToolFailure("past_the_end", message, "Search it with ripgrep, or cut it out with bash_exec.")
    message = f"{shown(name)} has {counted(line_count(data), 'line')}; line {line} is behind its end."
    return ToolFailure("past_the_end", message, "Choose a smaller offset.")


def _numbered(piece: Piece, name: str) -> str:
    place = piece.line if piece.column == 1 else f"{piece.line}:{piece.column}"
    text = control_marks.marked(piece.text)
    if not piece.left:
        return f"{place}\t{text}"
    cursor = shown(f"{name}:{piece.line}:{piece.next_column}")
    return f"{place}\t{text}… [cut: {counted(piece.left, 'more byte')}, read on with path {cursor}]"


def _footer(pieces: list[Piece], data: bytes, encoding: Encoding, partial: bool) -> str:
    if not pieces:
        return "[empty file]"
    total = line_count(data)
    last = pieces[-1].line
    notes = [f"lines {pieces[0].line}-{last} of {f'over {total}' if partial else total}"]
    if last < total:
        notes[0] += f"; read on with offset {last + 1}"
    returns = sum(each.with_return for each in pieces)
    if returns:
        notes.append("CRLF" if returns >= len(pieces) - 1 else "CRLF in some lines")
    if marks := control_marks.key("".join(each.text for each in pieces)):
        notes.append(f"control characters are marked: {marks}, in JSON")
    if encoding.rivals or encoding.is_unknown:
        notes.append(f"not UTF-8: shown as {encoding.name}, a guess")
    elif encoding.codec != "utf-8":
        notes.append(encoding.name)
    if last == total and not partial and not data.endswith(b"\n"):
        notes.append("no newline at the end")
    return f"[{'; '.join(notes)}]"
