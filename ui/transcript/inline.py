"""The inside of a paragraph as spans: emphasis, code, links; everything else is text."""

import functools
from collections.abc import Hashable
from typing import Final

from markdown_it.token import Token

from ui.transcript import parsing
from ui.transcript.lines import Span, layered
from ui.transcript.links import linked
from ui.transcript.transcript import steady

KEPT: Final = 512
"""Paragraphs, items and cells that are kept: of a table that grows only the last cell is read again."""
_MARKS: Final = {"strong": "strong", "em": "emphasis", "s": "struck"}


@functools.lru_cache(maxsize=KEPT)
def spans(text: str, workspace: str, *, lasts: bool) -> tuple[tuple[Span, ...], ...]:
    """Return the lines of a paragraph; `lasts`: its last word may go on."""
    writer = _Writer(workspace)
    for token in parsing.inside(text, lasts=lasts):
        writer.write(token)
    return tuple(tuple(line) for line in writer.lines)


class _Writer:
    def __init__(self, workspace: str) -> None:
        self.lines: list[list[Span]] = [[]]
        self._workspace = workspace
        self._roles: list[Hashable] = [None]
        self._links: list[tuple[str, list[Span]]] = []
        """Addresses of the links that are open, with what stands before each in its line."""

    def write(self, token: Token) -> None:
        kind = token.type
        mark, _, end = kind.rpartition("_")
        if kind == "text":
            self._add(None, steady(token.content))
        elif kind == "code_inline":
            self._add("code", steady(token.content))
        elif kind in ("softbreak", "hardbreak"):
            self._break()
        elif kind == "link_open":
            self._links.append((str(token.attrs["href"]), self.lines[-1]))
            self.lines[-1] = []
        elif kind == "link_close":
            address, before = self._links.pop()
            self.lines[-1] = [*before, *linked(self.lines[-1], steady(address), self._workspace)]
        elif kind == "image":
            self._image(steady(token.content) or "image", steady(str(token.attrs["src"])))
        elif mark in _MARKS and end == "open":
            self._roles.append(layered(_MARKS[mark], self._roles[-1]))
        elif mark in _MARKS:
            self._roles.pop()
        else:
            self._add(None, steady(token.content))

    def _image(self, said: str, address: str) -> None:
        """Write an image as a link to it; within a link only that leads anywhere."""
        if self._links:
            self._add(None, said)
        else:
            self.lines[-1] += linked([(self._roles[-1], said)], address, self._workspace)

    def _add(self, role: Hashable, text: str) -> None:
        line, role = self.lines[-1], layered(role, self._roles[-1])
        if line and line[-1][0] == role:
            line[-1] = (role, line[-1][1] + text)
        elif text:
            line.append((role, text))

    def _break(self) -> None:
        if self._links:
            self._add(None, " ")
        else:
            self.lines.append([])
