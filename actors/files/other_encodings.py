"""Files in other encodings than UTF-8 and UTF-16, as a search comes upon them: which they are, and in which.

rg finds them by their bytes, 300 ms in 50,000 files; each is then read, and rg told its encoding.
"""

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from actors.files.path_glob import PathGlob
from actors.files.rg import WALK, narrowed, run_rg
from actors.files.text_encoding import HEAD_BYTES, LATIN_1, Encoding, binary_kind, detect
from actors.files.workspace import Workspace
from actors.tools.tool import ToolFailure

MOST_FILES: Final = 200
MOST_BYTES: Final = 4 << 20
"""In a file."""
MOST_S: Final = 5.0
"""Seconds for telling the encodings, some 30 ms each."""
_MEMORY: Final = 4 << 20
"""Bytes of names."""

_NO_UTF_8: Final = (
    r"(?-u:[\xC0\xC1\xF5-\xFF]|[\xC2-\xF4](?:[\x00-\x09\x0B-\x7F\xC0-\xFF]|$)|(?:^|[\x00-\x09\x0B-\x7F])[\x80-\xBF]"
    r"|[\xE0-\xEF][\x80-\xBF](?:[\x00-\x09\x0B-\x7F\xC0-\xFF]|$)"
    r"|[\xF0-\xF4][\x80-\xBF]{2}(?:[\x00-\x09\x0B-\x7F\xC0-\xFF]|$))"
)
"""Bytes that no UTF-8 has: no lead byte, a lead byte with too little behind it, a rest without one."""
_LABELS: Final = {
    "cp932": "shift_jis", "cp949": "euc-kr", "euc_jp": "euc-jp", "koi8_r": "koi8-r",
    "iso8859_2": "iso-8859-2", "cp874": "windows-874",
    "iso8859_1": "windows-1252", LATIN_1.codec: "windows-1252",
}  # fmt: skip
"""Codecs that rg knows by another name; a code page of Windows has the same one, and others their own."""


@dataclass(slots=True)
class Others:
    """What was found."""

    by_label: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    """Paths, by the name that rg has for what they are in."""
    missed: int = 0
    """Files that are too many or too long."""
    guessed: int = 0
    """Files that may be in something else than what is searched for in them."""
    all_seen: bool = True

    def paths(self) -> Iterator[bytes]:
        return chain.from_iterable(self.by_label.values())


async def find_others(
    workspace: Workspace, glob: PathGlob | None, folder: str, where: Collection[str]
) -> Others:
    """Look for text files where a search looks; bounded in number, in size and in time."""
    names = _Names()
    arguments = [*WALK, *narrowed(glob), "--files-with-matches", "--null", f"--regexp={_NO_UTF_8}", *where]
    end = await run_rg(arguments, workspace.root, names.take)
    paths = [each for each in names.all() if glob is None or glob.matches(os.fsdecode(each), folder)]
    others = await asyncio.to_thread(_sorted_out, workspace, sorted(paths))
    others.all_seen = end.status is not None
    return others


class _Names:
    """Names with a NUL behind each, as far as there is room for them."""

    def __init__(self) -> None:
        self._data = bytearray()

    def take(self, chunk: bytes) -> None:
        if len(self._data) < _MEMORY:
            self._data += chunk

    def all(self) -> list[bytes]:
        return bytes(self._data).split(b"\0")[:-1]


def encoding_of(workspace: Workspace, path: bytes) -> Encoding | None:
    """What a file is in that is no UTF-8; null when it is too long, no text, or can not be read."""
    try:
        with workspace.open_file(workspace.root / os.fsdecode(path)) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES or b"\0" in data or binary_kind(data[:HEAD_BYTES]):
            return None
        return detect(data)
    except (OSError, ToolFailure, UnicodeDecodeError):
        return None


def _sorted_out(workspace: Workspace, paths: list[bytes]) -> Others:
    others, until = Others(), time.monotonic() + MOST_S
    for number, path in enumerate(paths):
        if number >= MOST_FILES or time.monotonic() > until:
            others.missed += len(paths) - number
            break
        encoding = encoding_of(workspace, path)
        if encoding is None:
            others.missed += 1
        elif encoding.codec != "utf-8":
            others.by_label[_label(encoding)].append(path)
            others.guessed += bool(encoding.rivals) or encoding.is_unknown
    return others


def _label(encoding: Encoding) -> str:
    codec = encoding.codec
    return _LABELS.get(codec) or (f"windows-{codec[2:]}" if codec.startswith("cp") else codec)


def arguments_of(others: Others) -> Iterator[list[str]]:
    """For each encoding: arguments with which rg reads the files that are in it."""
    for label, paths in others.by_label.items():
        yield [f"--encoding={label}", "--", *map(os.fsdecode, paths)]
