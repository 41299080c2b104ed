"""What a terminal says of itself, cut out of what is typed: the colour of its background, or anything."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from ui.palettes import Background, told_by_colour

ASK_BACKGROUND: Final = "\x1b]11;?\x1b\\"
"""xterm's OSC 11; a terminal that does not know it says nothing."""
PAUSE_S: Final = 0.1
"""How long the rest of an answer may be on its way; then it is none, or cut off."""
_ESC: Final = b"\x1b"
_OSC: Final = b"\x1b]"
_BEGIN: Final = re.compile(rb"\x1b[\]P_^X]")
"""OSC, DCS, APC, PM and SOS begin a string; each of them is a key with Alt, too, when nothing follows."""
_CONTROL: Final = re.compile(rb"[\x00-\x1f\x7f]")
_ENDS: Final = re.compile(rb"\x1b\\")
_OSC_ENDS: Final = re.compile(rb"\x1b\\|\x07")
_ANSWER: Final = re.compile(rb"\x1b(?:\][0-9lL]|P[0-9>!$+=]|_G)")
"""How the strings begin that terminals send. What is cut off of one is dropped, anything else was typed."""
_COLOUR: Final = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_LONGEST: Final = 65_536
"""Bytes of an answer; the longest there are tell a clipboard."""


class Answers:
    """Takes strings of control out of raw input, also late ones and such that come in pieces.

    None of them is a key, whoever has asked for it. Nobody waits for one.
    """

    def __init__(self, on_background: Callable[[Background], None]) -> None:
        self._on_background = on_background
        self._held = b""
        self._esc = self._passed = False
        """Whether an Esc was let through last, and whether it is the one that begins what is held."""
        self._given_up = b""
        self.awaited = False
        """Whether a question has had no answer yet."""

    @property
    def holds(self) -> bool:
        """Whether a part of an answer is held; after `PAUSE_S` without the rest it is to be given up."""
        return bool(self._held)

    def sift(self, codes: Sequence[int]) -> list[int]:
        """Return what was read without strings of control."""
        given_up, self._given_up = self._given_up, b""
        nothing = not (self._held or self._esc or 0x1B in codes)
        if not codes or nothing or any(code > 0xFF for code in codes):
            return [*given_up, *codes]
        # An Esc at the end was let through at once, since it is a key as well; it may yet begin an answer.
        self._passed |= self._esc and codes[0] == ord("]")
        data = (_ESC if self._esc and self._passed else self._held) + bytes(codes)
        self._held = b""
        kept = self._without_strings(data)
        if self._passed and kept[:2] == data[:2]:
            kept = kept[1:]
        self._passed &= bool(self._held)
        self._esc = self.awaited and not self._held and data.endswith(_ESC)
        return [*given_up, *kept]

    def give_up(self) -> bool:
        """Wait no longer for the rest of what is held; tell whether there is something to read of it."""
        held, self._held = self._held, b""
        if held and not _ANSWER.match(held):
            self._given_up = held[self._passed :]
        self._passed = False
        return bool(self._given_up)

    def _without_strings(self, data: bytes) -> bytes:
        kept, at = bytearray(), 0
        while begin := _BEGIN.search(data, at):
            kept += data[at : begin.start()]
            at = self._end_of(data, begin)
            if at < 0:  # it goes on
                self._held = data[begin.start() :]
                return bytes(kept)
            if at == begin.end():  # it is none
                kept += begin[0]
        return bytes(kept + data[at:])

    def _end_of(self, data: bytes, begin: re.Match[bytes]) -> int:
        """Return where a string ends or breaks off; where it has begun when it is none; -1: not here."""
        is_answer = _ANSWER.match(data, begin.start()) is not None
        control = _CONTROL.search(data, begin.end())
        if control is None:
            whole = len(data) - begin.start()
            waits = (is_answer and whole <= _LONGEST) or (self.awaited and data[begin.start() :] == _OSC)
            return -1 if waits else (len(data) if is_answer else begin.end())
        ends = (_OSC_ENDS if begin[0] == _OSC else _ENDS).match(data, control.start())
        if ends is not None:
            self._take(data[begin.start() : control.start()])
            return ends.end()
        if is_answer and data[control.start() :] == _ESC:
            return -1
        return control.start() if is_answer else begin.end()

    def _take(self, answer: bytes) -> None:
        if found := _COLOUR.match(answer):
            self.awaited = False
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
            self._on_background(told_by_colour(red, green, blue))
