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
        self.awaited = False
        """Whether a question has had no answer yet."""

    def sift(self, codes: Sequence[int]) -> list[int]:
        """Return what was read without answers."""
        nothing = not (self._held or 0x1B in codes)
        if not codes or nothing or any(code > 0xFF for code in codes):
            return list(codes)
        # An Esc at the end was let through at once, since it is a key as well; it may yet begin an answer.
        passed = self._held == _BEGIN[:1]
        data, self._held = self._held + bytes(codes), b""
        kept = bytearray()
        while (start := data.find(_BEGIN)) >= 0:
            kept += data[:start]
            if (end := _END.search(data, start)) is None:
                self._held = data[start:] if len(data) - start <= _LONGEST else b""
                return list(kept[passed and start > 0 :])
            self._take(data[start + len(_BEGIN) : end.start()])
            passed, data = passed and start > 0, data[end.end() :]
        return list((kept + self._without_beginning(data))[passed:])

    def _without_beginning(self, data: bytes) -> bytes:
        """Hold back what may begin an answer that is awaited."""
        for length in range(len(_BEGIN) - 1, 0, -1) if self.awaited else ():
            if data.endswith(_BEGIN[:length]):
                self._held = data[-length:]
                return data if length == 1 else data[:-length]
        return data

    def _take(self, answer: bytes) -> None:
        self.awaited = False
        if found := _COLOUR.match(answer):
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
            self._on_background(told_by_colour(red, green, blue))
