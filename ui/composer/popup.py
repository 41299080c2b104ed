"""What is offered above the composer, drawn over the last rows of the transcript: nothing moves for it."""

import re
from collections.abc import Collection, Sequence
from typing import ClassVar, Final

import urwid

from ui import cleaned
from ui.composer.completer import PAGE, Completer
from ui.composer.completion import Choice
from ui.composer.fuzzy import MOST, marks, name_start
from ui.view import View
from ui.widgets.row import Content, Part, Size, cut, draw, fit, parts_width, width

_HEADS: Final = {"file": "Files", "command": "Commands", "word": "Running in the background"}
_BEFORE_MATCH: Final = 24
"""Characters that stand before the first match when a prompt is too long to begin with its beginning."""
_NAMES: Final = 3 / 5
"""Share of a row that the longest name may take."""


class Popup(urwid.Widget):
    """A head, a window of the choices with the chosen one in view, and where one searches a line for that."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View, completer: Completer) -> None:
        super().__init__()
        self._view = view
        self._completer = completer
        self.limit = 1
        """Most rows it may take."""
        self._top = 0
        self._has_head = True
        self._shown: list[int] = []
        """Which choice stands in each row below the head."""

    def rows(self, size: Size, focus: bool = False) -> int:
        listed = min(PAGE, max(1, self._count))
        return max(1 + self._searching, min(self.limit, 1 + listed + self._searching))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size[0], self.rows(size)
        self._has_head = rows > 1 + self._searching
        room = rows - self._has_head - self._searching
        drawn = [self._head(columns)] if self._has_head else []
        drawn += self._search_rows(columns, room) if self._searching else self._choice_rows(columns, room)
        parts = [(self._draw(content, columns, role), None, False) for content, role in drawn]
        if self._searching:
            parts.append((self._search_line(columns), None, True))
        return urwid.CanvasCombine(parts)

    def scroll(self, key: str) -> None:
        """Choose another one: `up` or `down`."""
        self._completer.move(-1 if key.endswith("up") else 1)

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:
        """Choose what was clicked."""
        at = row - self._has_head
        if event != "mouse press" or not 0 <= at < len(self._shown):
            return False
        self._completer.choose(self._shown[at])
        return True

    # --- rows

    @property
    def _searching(self) -> bool:
        return self._completer.search is not None

    @property
    def _count(self) -> int:
        search = self._completer.search
        return len(self._completer.choices) if search is None else len(search.matching)

    def _head(self, columns: int) -> tuple[Content, str | None]:
        completer = self._completer
        if (search := completer.search) is not None:
            every, found = len(search.history.prompts), len(search.matching)
            return self._ruled("Earlier prompts", f"{found:,} of {every:,} match", columns), "rule"
        assert completer.token is not None
        title, count = _HEADS[completer.token.kind], len(completer.choices)
        files = self._view.desk.files
        if completer.token.kind == "file" and files.is_cut:
            title += f" (the first {len(files.paths):,})"
        more = "+" if count == MOST else ""
        place = f"{completer.chosen + 1} of {count}{more}" if count > min(PAGE, self.limit - 1) else ""
        return self._ruled(title, place, columns), "rule"

    def _ruled(self, title: str, right: str, columns: int) -> Content:
        rule = self._view.glyphs.rule
        left: list[Part] = [(None, rule), ("strong", f" {title} ")]
        end: list[Part] = [("dim", f" {right} "), (None, rule)] if right else []
        gap = max(0, columns - parts_width(left) - parts_width(end))
        return [*left, (None, rule * gap), *end], []

    def _window(self, at: int, count: int, room: int) -> range:
        """Return what is in view; scrolled as little as needed for the one at `at`."""
        self._top = max(0, at - room + 1, min(self._top, at, count - room))
        return range(self._top, min(count, self._top + room))

    def _choice_rows(self, columns: int, room: int) -> list[tuple[Content, str | None]]:
        completer = self._completer
        if not completer.choices:
            self._shown = []
            return [(([("dim", f"  Listing the files{self._view.glyphs.ellipsis}")], []), None)]
        self._shown = list(self._window(completer.chosen, len(completer.choices), room))
        choices = [completer.choices[at] for at in self._shown]
        assert completer.token is not None
        if completer.token.kind == "file":
            rows = self._files(choices, completer.token.query, columns)
        else:
            rows = _described(choices, columns)
        return self._with_marks(rows, completer.chosen)

    def _files(self, choices: Sequence[Choice], query: str, columns: int) -> list[list[Part]]:
        """Return a row for each file: its name, then the folder it is in."""
        paths = [choice.name for choice in choices]
        starts = [name_start(path) for path in paths]
        names = [path[start:] for path, start in zip(paths, starts, strict=True)]
        widest = min(max(map(width, names)), int((columns - 2) * _NAMES))
        rows: list[list[Part]] = []
        for path, start, marked in zip(paths, starts, marks(query, paths), strict=True):
            name = cut(path[start:], widest, self._view.glyphs.ellipsis)
            row = _lit(name, {at - start for at in marked}, None, "found")
            gap = " " * (widest - width(name) + 2)
            room = columns - 2 - widest - 2
            folder, cut_off = _end(path[:start], room, self._view.glyphs.ellipsis)
            rows.append([*row, (None, gap), *_lit(folder, {at - cut_off for at in marked}, "dim", "found")])
        return rows

    def _search_rows(self, columns: int, room: int) -> list[tuple[Content, str | None]]:
        search, history = self._completer.search, self._view.desk.history
        assert search is not None
        if not search.matching:
            loading = f"Loading{self._view.glyphs.ellipsis}"
            nothing = (
                "No earlier prompt holds this." if history.prompts else "There is no earlier prompt here."
            )
            self._shown = []
            is_loading = history.asking and not history.count
            return [(([("dim", f"  {loading if is_loading else nothing}")], []), None)]
        # The newest stands next to the line: up is older.
        self._shown = list(reversed(self._window(search.chosen_at, len(search.matching), room)))
        ellipsis, found = self._view.glyphs.ellipsis, [search.matching[at] for at in self._shown]
        rows = [_excerpt(prompt, search.pattern, columns, ellipsis) for prompt in found]
        return self._with_marks(rows, search.chosen_at)

    def _with_marks(self, rows: Sequence[list[Part]], chosen: int) -> list[tuple[Content, str | None]]:
        marked: list[tuple[Content, str | None]] = []
        for at, row in zip(self._shown, rows, strict=True):
            sign = f"{self._view.glyphs.chosen if at == chosen else ' '} "
            marked.append((([("brand", sign), *row], []), "strong" if at == chosen else None))
        return marked

    def _search_line(self, columns: int) -> urwid.CompositeCanvas:
        mark = draw([("dim", "search ")], 7)
        room = max(1, columns - 7)
        line = self._completer.search_line.render((room,), True)
        return urwid.CanvasJoin([(mark, None, False, 7), (line, None, True, room)])

    def _draw(self, content: Content, columns: int, role: str | None) -> urwid.CompositeCanvas:
        return draw(fit(*content, columns, self._view.glyphs.ellipsis), columns, role)


def _described(choices: Sequence[Choice], columns: int) -> list[list[Part]]:
    """Return a row for each choice: its name, then what it is."""
    widest = min(max(width(choice.name) for choice in choices), int((columns - 2) * _NAMES))
    rows: list[list[Part]] = []
    for choice in choices:
        gap = " " * max(2, widest - width(choice.name) + 2)
        rows.append([(None, choice.name), ("dim", gap + choice.help)])
    return rows


def _excerpt(prompt: str, pattern: re.Pattern[str] | None, columns: int, ellipsis: str) -> list[Part]:
    """Return the part of a prompt that holds the first match, on one line, matches lit."""
    first = pattern.search(prompt) if pattern is not None else None
    start = (
        max(0, first.start() - _BEFORE_MATCH) if first is not None and first.end() > 2 * _BEFORE_MATCH else 0
    )
    text = cleaned.line(prompt[start : start + columns + 1], columns)
    text = f"{ellipsis}{text}" if start else text
    found = pattern.finditer(text) if pattern is not None else ()
    return _lit(text, {at for each in found for at in range(*each.span())}, None, "found")


def _lit(text: str, marked: Collection[int], role: str | None, lit: str) -> list[Part]:
    """Return a text in pieces, with a role of their own for the characters at these places."""
    parts: list[Part] = []
    for at, character in enumerate(text):
        own = lit if at in marked else role
        if parts and parts[-1][0] == own:
            parts[-1] = own, parts[-1][1] + character
        else:
            parts.append((own, character))
    return parts


def _end(text: str, columns: int, ellipsis: str) -> tuple[str, int]:
    """Return as much of the end of a text as fits, and by how much its characters have moved."""
    if width(text) <= columns:
        return text, 0
    room = columns - width(ellipsis)
    start = next((at for at in range(len(text)) if width(text[at:]) <= room), len(text))
    return ellipsis + text[start:] if room >= 0 else "", start - len(ellipsis)
