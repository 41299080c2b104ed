"""Answers of the terminal cut out of what is typed: which colour its background has."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from ui.palettes import Background, told_by_colour

ASK_BACKGROUND: Final = "\x1b]11;?\x1b\\"
"""xterm's OSC 11; a terminal that does not know it says nothing."""
_BEGIN: Final = b"\x1b]11;"
_END: Final = re.compile(rb"\x07|\x1b\\")
_COLOUR: Final = re.compile(rb"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_LONGEST: Final = 64
"""Bytes of an answer; what is longer is none."""


class Answers:
    """Takes answers out of raw input, also late ones and such that come in pieces; nobody waits for one."""

    def __init__(self, on_background: Callable[[Background], None]) -> None:
        self._on_background = on_background
        self._held = b""
        self._escaped = False
        self.awaited = False
        """Whether a question has had no answer yet."""

    def sift(self, codes: Sequence[int]) -> list[int]:
        """Return what was read without answers."""
        if not (self._held or self._escaped or 0x1B in codes) or any(code > 0xFF for code in codes):
            return list(codes)
        data = self._joined(bytes(codes))
        kept = bytearray()
        while (start := data.find(_BEGIN)) >= 0:
            kept += data[:start]
            if (end := _END.search(data, start)) is None:
                if len(data) - start <= _LONGEST:
                    self._held = data[start:]
                return list(kept)
            self._take(data[start + len(_BEGIN) : end.start()])
            data = data[end.end() :]
        kept += self._without_beginning(data)
        return list(kept)

    def _joined(self, data: bytes) -> bytes:
        """Return what was read with the beginning of an answer before it."""
        begun, self._held = self._held, b""
        if not begun and self._escaped and data.startswith(_BEGIN[1:]):
            begun = _BEGIN[:1]  # taken for the Esc key meanwhile
        self._escaped = False
        return begun + data

    def _without_beginning(self, data: bytes) -> bytes:
        """Hold back what may begin an answer that is awaited, but for an Esc, which is a key as well."""
        if not self.awaited:
            return data
        self._escaped = data[-1:] == _BEGIN[:1]
        for length in range(len(_BEGIN) - 1, 1, -1):
            if data.endswith(_BEGIN[:length]):
                self._held = data[-length:]
                return data[:-length]
        return data

    def _take(self, answer: bytes) -> None:
        self.awaited = False
        if found := _COLOUR.match(answer):
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
            self._on_background(told_by_colour(red, green, blue))
