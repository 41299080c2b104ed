"""The inside of a paragraph as spans: emphasis, code, links; everything else is text."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

from ui.transcript.lines import Span, layered
from ui.transcript.links import linked, with_bare_links
from ui.transcript.transcript import steady

if TYPE_CHECKING:
    from markdown_it.token import Token

    from ui.transcript.lines import Span, layered

_MARKS: Final = {"strong": "strong", "em": "emphasis", "s": "struck"}


def spans(tokens: Sequence["Token"], workspace: str) -> list[list[Span]]:
    """Return the lines of a paragraph."""
    writer = _Writer(workspace)
    for token in tokens:
        writer.write(token)
    return writer.lines


class _Writer:
    def __init__(self, workspace: str) -> None:
        self.lines: list[list[Span]] = [[]]
        self._workspace = workspace
        self._roles: list[Hashable] = [None]
        self._links: list[tuple[str, list[Span]]] = []
        """Addresses of the links that are open, with what stands before each in its line."""

    def write(self, token: "Token") -> None:
        kind = token.type
        mark, _, end = kind.rpartition("_")
        if kind == "text":
            self._text(steady(token.content))
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
            said: list[Span] = [(self._roles[-1], steady(token.content) or "image")]
            self.lines[-1] += linked(said, steady(str(token.attrs["src"])), self._workspace)
        elif mark in _MARKS and end == "open":
            self._roles.append(layered(_MARKS[mark], self._roles[-1]))
        elif mark in _MARKS:
            self._roles.pop()
        else:
            self._text(steady(token.content))

    def _text(self, text: str) -> None:
        if self._links:
            self._add(None, text)
            return
        for part, address in with_bare_links(text):
            if address:
                self.lines[-1] += linked([(self._roles[-1], part)], address, self._workspace)
            else:
                self._add(None, part)

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
