"""Markdown as lines: markdown-it-py parses, and each construct says how it is laid out in a width.

Nothing in a text does anything but look different: HTML is text, and so is what is no Markdown.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from markdown_it.token import Token

from ui.theme import Glyphs
from ui.transcript import parsing
from ui.transcript.code import coloured
from ui.transcript.inline import spans
from ui.transcript.lines import ROWS_KEPT, Line, Span, between, layered
from ui.transcript.tables import Align, Cell, Table
from ui.transcript.transcript import steady

Layout = Callable[[int], list[Line]]
"""What lays a construct out in so many columns."""

MOST_SIGNS: Final = 600
"""Marks in a piece that is read as Markdown: 2,000 brackets take 60 ms, and no text has so many."""
_SIGNS: Final = re.compile(r"[\[\]()!*_~`<>&\\|#]")
_CODE: Final = re.compile(r" *(?:`{3,}[^`\n]*(?:\n|$)|~{3,})|    ")
_CODE_INDENT: Final = "  "
_RULE: Final = 32
"""Columns of a rule; one over the whole width would look like the frame of the screen."""
_ANY_WIDTH: Final = 80
_TASKS: Final = {"[ ] ": ("dim", "[ ] "), "[x] ": ("ok", "[x] "), "[X] ": ("ok", "[x] ")}


@dataclass(frozen=True, slots=True)
class Piece:
    """What is drawn, as far as its text does not tell."""

    glyphs: Glyphs
    workspace: str
    """The directory whose files may be opened; empty for none."""
    number: int | None
    """Of the item that it begins with; None: as written."""
    lasts: bool
    """Whether it may go on."""
    again: Callable[[], None]
    """What is called when it would look different, if it was drawn anew."""


def markdown(text: str, piece: Piece) -> Layout:
    """Return what lays a text out."""
    if len(_SIGNS.findall(text)) > MOST_SIGNS and not _CODE.match(text):
        return _fixed([Line([(None, line)]) for line in steady(text).split("\n")])
    return _Drawing(text, piece).layout()


class _Drawing:
    def __init__(self, text: str, piece: Piece) -> None:
        self._lines = text.split("\n")
        self._piece = piece
        self._glyphs = piece.glyphs
        self._tokens = parsing.blocks(text)
        said = [token for token in self._tokens if token.content]
        self._last = said[-1] if said and piece.lasts else None
        """What is being written, if anything is."""

    def layout(self) -> Layout:
        return _one_below_the_other(self.blocks(self._tokens))

    def blocks(self, tokens: Sequence[Token], depth: int = 0) -> list[Layout]:
        """Return the layouts of what stands below each other."""
        layouts: list[Layout] = []
        for group in _siblings(tokens):
            if layouts and self._is_apart(group[0]):
                layouts.append(_fixed([Line([])]))
            layouts += self._block(group, depth)
        return layouts

    def _is_apart(self, token: Token) -> bool:
        """Tell whether an empty line stands above, in a quote too."""
        at = token.map[0] if token.map else 0
        return at > 0 and not self._lines[at - 1].strip(" >")

    def _block(self, group: Sequence[Token], depth: int) -> list[Layout]:
        token = group[0]
        match token.type:
            case "paragraph_open":
                return [_fixed([Line([*line]) for line in self._inline(group[1])])]
            case "heading_open":
                role = "heading" if token.tag in ("h1", "h2") else "strong"
                return [_fixed([Line(_in_role(line, role)) for line in self._inline(group[1])])]
            case "fence" | "code_block":
                return [_fixed(self._code(token))]
            case "hr":
                return [lambda columns: [Line([("rule", self._glyphs.rule * min(columns, _RULE))])]]
            case "blockquote_open":
                bar = f"{self._glyphs.bar} "
                quoted = _one_below_the_other(self.blocks(group[1:-1], depth))
                return [_behind(_all_in_role(quoted, "quote"), ("rule", bar), bar)]
            case "bullet_list_open" | "ordered_list_open":
                return list(self._items(group, depth))
            case "table_open":
                return [self._table(group).lines]
            case _:
                text = steady("\n".join(each.content for each in group))
                return [_fixed([Line([(None, line)]) for line in text.split("\n")])]

    def _inline(self, token: Token) -> Sequence[Sequence[Span]]:
        return spans(token.content, self._piece.workspace, lasts=token is self._last)

    def _code(self, token: Token) -> list[Line]:
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        code = steady(token.content.removesuffix("\n"))
        return [
            _code_line(tuple(line))
            for line in coloured(code, language, self._piece.again, lasts=token is self._last)
        ]

    def _items(self, group: Sequence[Token], depth: int) -> Iterator[Layout]:
        list_token = group[0]
        own = self._piece.number if list_token is self._tokens[0] else None
        number = int(list_token.attrs.get("start", 1)) if own is None else own
        for count, item in enumerate(_siblings(group[1:-1])):
            if count and self._is_apart(item[0]):
                yield _fixed([Line([])])
            numbered = list_token.type == "ordered_list_open"
            body = _one_below_the_other(self.blocks(item[1:-1], depth if numbered else depth + 1))
            if numbered:
                mark = f"{number + count}{list_token.markup} "
                yield _behind(body, ("dim", mark), " " * len(mark))
            else:
                yield _with_bullet(body, f"{self._glyphs.bullets[min(depth, 1)]} ")

    def _table(self, group: Sequence[Token]) -> Table:
        rows: list[list[Cell]] = []
        aligns: list[Align] = []
        for token in group:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                aligns.append(_align(token))
            elif token.type == "inline":
                rows[-1].append([span for line in self._inline(token) for span in line])
        return Table(rows[0], rows[1:], aligns, self._glyphs)


def _siblings(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Cut tokens into those that belong together: each construct with all that it contains."""
    start = depth = 0
    for at, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : at + 1]
            start = at + 1


def _align(token: Token) -> Align:
    style = str(token.attrs.get("style", ""))
    aligns: tuple[Literal["center", "right"], ...] = ("center", "right")
    return next((align for align in aligns if style.endswith(align)), "left")


@functools.lru_cache(maxsize=ROWS_KEPT)
def _code_line(line: tuple[Span, ...]) -> Line:
    """Indent a line of code, and where it goes on a little more."""
    text = "".join(part for _, part in line)
    indent = len(text) - len(text.lstrip(" "))
    lead = [(None, _CODE_INDENT), *between(line, 0, indent)]
    return Line(between(line, indent, len(text)), lead, 2 * _CODE_INDENT + " " * indent)


def _fixed(lines: list[Line]) -> Layout:
    return lambda _: lines


def _one_below_the_other(layouts: Sequence[Layout]) -> Layout:
    return lambda columns: [line for layout in layouts for line in layout(columns)]


def _behind(layout: Layout, lead: Span, hang: str) -> Layout:
    """Lay out behind a lead, whose further rows are `hang`."""

    def behind(columns: int) -> list[Line]:
        lines = layout(max(1, columns - len(hang))) or [Line([])]
        return [line.under((lead[0], hang) if number else lead, hang) for number, line in enumerate(lines)]

    return behind


def _with_bullet(layout: Layout, mark: str) -> Layout:
    """Lay an item out behind its bullet, or behind the box of a task, which the item's text begins with."""
    lines = layout(_ANY_WIDTH)
    role, text = lines[0].body[0] if lines and lines[0].body and not lines[0].lead else (None, "")
    task = _TASKS.get(text[:4])
    if task is None:
        return _behind(layout, ("dim", mark), " " * len(mark))

    def without_box(columns: int) -> list[Line]:
        first, *rest = layout(columns)
        return [Line([(role, text[4:]), *first.body[1:]]), *rest]

    return _behind(without_box, task, " " * len(task[1]))


def _all_in_role(layout: Layout, role: str) -> Layout:
    def in_role(columns: int) -> list[Line]:
        return [replace(line, body=_in_role(line.body, role)) for line in layout(columns)]

    return in_role


def _in_role(line: Sequence[Span], role: str) -> list[Span]:
    return [(layered(own, role), text) for own, text in line]
