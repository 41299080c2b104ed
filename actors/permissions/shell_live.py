"""Which bytes of a shell line are explained by its syntax; what a parser could miss is looked for (pure)."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

Span = tuple[int, int]

_OPENING: Final = re.compile(rb"`|[$<>]\(|\$\{")
_ALWAYS: Final = re.compile(rb"@P\s*\}|\$\{[\s|]|\$\{$")
"""A value that is expanded again, and a substitution in braces."""
_ESCAPED_IN_WORD: Final = re.compile(rb"\\[ -_a-~]")
_ESCAPED_IN_STRING: Final = re.compile(rb"\\[\"\\$]")
_PROCESS: Final = (b"<(", b">(")
_FAR: Final = 1 << 60
_ESCAPE, _BACKTICK = b"\\`"


class Explained:
    """What a walk over a line has seen, byte by byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._opened: set[int] = set()
        self._escapes: set[int] = set()
        self._dead: list[Span] = []
        self._strings: list[Span] = []
        self._texts: list[Span] = []

    def opens(self, start: int, end: int) -> None:
        """A substitution or an expansion that was walked into."""
        self._opened.add(start)
        if self._data[start] == _BACKTICK:
            self._opened.add(end - 1)

    def is_dead(self, start: int, end: int) -> None:
        """Text in which the shell sees nothing."""
        self._dead.append((start, end))

    def is_text(self, start: int, end: int, in_quotes: bool) -> None:
        """A word, or what stands between double quotes, of which the shell takes a backslash away."""
        self._texts.append((start, end))
        if in_quotes:
            self._strings.append((start, end))
        escape = _ESCAPED_IN_STRING if in_quotes else _ESCAPED_IN_WORD
        self._escapes |= {each.start() for each in escape.finditer(self._data, start, end)}

    def is_clear(self) -> bool:
        """Whether everything that could open a substitution was walked into or is no more than text."""
        if _ALWAYS.search(self._data):
            return False
        nests = any(self._data[at] == _BACKTICK for at in self._opened)
        if nests and _ESCAPE in self._data:
            return False
        dead, strings, texts = _Spans(self._dead), _Spans(self._strings), _Spans(self._texts)
        for found in _OPENING.finditer(self._data):
            at = found.start()
            if at in self._opened or found[0] == b"${" or (at in dead and not (nests and found[0] == b"`")):
                continue
            is_escaped = at in texts and _is_escaped(self._data, at)
            if not (is_escaped or (found[0] in _PROCESS and at in strings)):
                return False
        return True

    def is_plain(self) -> bool:
        """Whether it has no backtick, no backslash but before one character, no expansion but of a name."""
        dead, strings = _Spans(self._dead), _Spans(self._strings)
        for at, byte in enumerate(self._data):
            if byte in (_ESCAPE, _BACKTICK) and not (at in dead or self._is_escape(at, strings)):
                return False
        return all(
            found.start() in self._opened or found.start() in dead or found[0] in _PROCESS
            for found in _OPENING.finditer(self._data)
        )

    def _is_escape(self, at: int, strings: "_Spans") -> bool:
        if self._data[at] != _ESCAPE:
            return False
        if at in self._escapes or (at - 1 in self._escapes):
            return True
        is_joint = self._data[at + 1 : at + 2] == b"\n" and self._data[at - 1 : at] in (b" ", b"\t")
        return is_joint and at not in strings


class _Spans:
    """Ranges of bytes, asked by place."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans: list[Span] = []
        for start, end in sorted(spans):
            if self._spans and start <= self._spans[-1][1]:
                self._spans[-1] = (self._spans[-1][0], max(end, self._spans[-1][1]))
            else:
                self._spans.append((start, end))

    def __contains__(self, at: int) -> bool:
        index = bisect_right(self._spans, (at, _FAR)) - 1
        return index >= 0 and self._spans[index][0] <= at < self._spans[index][1]


def _is_escaped(data: bytes, at: int) -> bool:
    front = data[:at]
    return (len(front) - len(front.rstrip(b"\\"))) % 2 == 1
