"""Pastes cut out of what a terminal sends, so that one is a single key and not one for each character."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from ui import keys, layouts

_BEGIN: Final = b"\x1b[200~"
_END: Final = b"\x1b[201~"
SILENCE_S: Final = 10.0
"""Nothing coming for so long, the end of a paste has been lost; a slow line makes shorter pauses."""
_CTRL_C: Final = re.compile(rb"\x1b\[(?:99(?::\d*){0,2};(\d+)(?::1)?u|27;(\d+);99~)")
"""As kitty and xterm tell keys apart. Read alone within a paste it is a person's: its end has been lost."""
_CTRL: Final = 4

K = TypeVar("K")


class Pastes:
    """Cuts the bracketed pastes out of raw input and puts a key in the place of each."""

    def __init__(self) -> None:
        self._pasted: bytearray | None = None
        self._whole: deque[keys.Pasted] = deque()

    @property
    def coming_in(self) -> bool:
        """Whether a paste has begun and not ended."""
        return self._pasted is not None

    def sift(self, codes: Sequence[int]) -> list[int]:
        """Return what was read without the text of pastes; their brackets stay."""
        if self._pasted is None and 0x1B not in codes:
            return list(codes)
        try:
            data = bytes(codes)
        except ValueError:  # a console's mouse, which reports beside the terminal's bytes
            return list(codes)
        kept = bytearray()
        while data:
            data = self._outside(data, kept) if self._pasted is None else self._inside(data, kept)
        return list(kept)

    def give_up(self) -> keys.Pasted:
        """End a paste that has not ended; return what has come of it."""
        pasted, self._pasted = self._pasted or bytearray(), None
        return _text(pasted)

    def named(self, typed: Iterable[K | str]) -> list[K | str]:
        """Return keys with one for each paste in place of its brackets."""
        named: list[K | str] = []
        for key in typed:
            if key == keys.PASTE_END and self._whole:
                named.append(self._whole.popleft())
            elif key not in (keys.PASTE_BEGIN, keys.PASTE_END):
                named.append(key)
        return named

    def _outside(self, data: bytes, kept: bytearray) -> bytes:
        before, bracket, behind = data.partition(_BEGIN)
        kept += before + bracket
        if bracket:
            self._pasted = bytearray()
        return behind

    def _inside(self, data: bytes, kept: bytearray) -> bytes:
        assert self._pasted is not None
        given_up = _is_ctrl_c(data)
        looked_at = max(0, len(self._pasted) - len(_END))  # the bracket may have come in two pieces
        self._pasted += b"" if given_up else data
        end = len(self._pasted) if given_up else self._pasted.find(_END, looked_at)
        if end < 0:
            return b""
        self._whole.append(_text(self._pasted[:end]))
        behind = bytes(self._pasted[end + len(_END) :])
        self._pasted = None
        kept += _END
        return behind


def _is_ctrl_c(data: bytes) -> bool:
    found = _CTRL_C.fullmatch(layouts.named(data))
    return data == b"\x03" or (found is not None and bool((int(found[1] or found[2]) - 1) & _CTRL))


def _text(pasted: bytearray) -> keys.Pasted:
    """Return what was pasted; terminals send a carriage return for the end of a line."""
    return keys.Pasted(pasted.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"))
