"""Cuts an answer into pieces that can be drawn on their own, while it streams; pure.

A finished piece never changes, and where the cuts are depends on the text alone, not on how it arrived. A
delta costs the same however long the answer is: only the line that is being written is looked at, until its
beginning tells where it belongs, and a piece that grows long goes on in the next one.
"""

import re
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from ui.transcript.blocks import LINE_LIMIT, TextBlock

PIECE_CHARACTERS: Final = 2_000
"""Laid out in 4 ms when it is full of marks, in 1 ms when it is not."""
PIECE_LINES: Final = 40
ITEM_CHARACTERS: Final = 800
ITEM_LINES: Final = 16
"""So much more of an item may wait for a place where another one begins."""
CODE_CHARACTERS: Final = 1_600
"""Of a fence: colouring takes 5 ms for each thousand (Pygments 2.21, Python)."""
CODE_BREAK: Final = 600
CODE_BREAK_LINES: Final = 25
"""Size of a fence from which on it is cut where a part of a program seems to end."""
TAB: Final = 4
"""Columns from one tab stop to the next, as in Markdown."""
TOLD_BY: Final = 200
"""Characters at a line's beginning that tell what it is."""

_Shape = Literal["line", "text", "quote", "code", "item", "fence"]
"""What the last piece is, as far as the next line cares."""

# Beginnings of lines that do not tell yet what they are.
_UNTOLD: Final = re.compile(
    r" *(?:#{1,6}|(?:[-*+_=] *)+|[0-9]{1,9}(?:[.)] *)?|`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*|\|[-:| ]*)?"
)
_UNTOLD_IN_FENCE: Final = re.compile(r" *(?:`+|~+)? *")
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}[^`]*$|~{3,})")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?: |$)")
_RULE: Final = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")
_QUOTE: Final = re.compile(r" {0,3}>")
_ITEM: Final = re.compile(r"( *)([-*+]|[0-9]{1,9}[.)])(?: {1,4}(?=[^ ])| |$)")
_ENDS_TEXT: Final = re.compile(
    f"{_HEADING.pattern}|{_QUOTE.pattern}|{_FENCE.pattern}|{_RULE.pattern}| {{0,3}}(?:[-*+]|1[.)]) +[^ ]"
)
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+) *$")
_FENCE_OF_ITEM: Final = re.compile(r" *(?:(?:[-*+]|[0-9]{1,9}[.)]) +)*(`{3,}[^`]*|~{3,}.*)$")
_BELOW_HEAD: Final = re.compile(r"\|?(?: *:?-+:? *\|)* *:?-+:? *\|?")


class _List(NamedTuple):
    """A list whose items are counted: Markdown numbers them from the first one on."""

    column: int
    """Where the text of its last item begins."""
    sign: str
    """What ends the numbers, or the bullet."""
    number: int
    """Of its last item."""


class Cutter:
    """Cuts one answer."""

    def __init__(self) -> None:
        self.block: TextBlock | None = None
        """The last piece, which still grows."""
        self._begun: list[TextBlock] = []
        self._shape: _Shape = "line"
        self._held = ""
        """The beginning of a line of which nothing can be shown yet."""
        self._at = -1
        """Where the line that is being written begins in the last piece; -1 when none is."""
        self._newlines = 0
        """Line ends since the last text."""
        self._lines = 0
        """Lines of the last piece."""
        self._column = 0
        """Where the text of an item begins."""
        self._fence = ""
        """The first line of the fence that is open."""
        self._lists: list[_List] = []
        """The lists that are open, each within the one before."""

    def feed(self, text: str) -> list[TextBlock]:
        """Add text; return the pieces that it begins."""
        *whole, last = text.split("\n")
        for line in whole:
            if self._at < 0:
                self._held += line
            else:
                self._write(line)
            self._end_line()
        self._write(last)
        begun, self._begun = self._begun, []
        return begun

    def end(self) -> list[TextBlock]:
        """Add what was held back; return the pieces that it begins."""
        self._end_line()
        begun, self._begun = self._begun, []
        self._finish()
        return begun

    def _write(self, text: str) -> None:
        """Go on with the line that is being written."""
        if not text:
            return
        if self._at >= 0 and self.block is not None:
            self.block.text += text
            self.block.revision += 1
            self._bound_line(self.block)
        else:
            self._held += text
            if not self._is_untold(self._held):
                self._begin_line(self._held)

    def _is_untold(self, line: str) -> bool:
        line = line.expandtabs(TAB)
        pattern = _UNTOLD_IN_FENCE if self._shape == "fence" else _UNTOLD
        return len(line) < TOLD_BY and pattern.fullmatch(line) is not None

    def _begin_line(self, line: str) -> None:
        self._held = ""
        told = line[:TOLD_BY].expandtabs(TAB)
        block = self.block
        if self._shape != "item":
            self._lists = []
        number = self._numbered(told)
        if block is None or not self._joins(told):
            block = TextBlock(line, first=block is None, joint=self._joint())
            block.number = number
            self._begin_piece(block)
            self._take_shape(told)
        elif self._is_full(told):
            block = self._go_on(line, self._joint(), told)
            block.number = number
        else:
            self._at = len(block.text) + self._newlines
            block.text += self._joint() + line
            block.revision += 1
            self._lines += self._newlines
        self._newlines = 0
        if len(line) > LINE_LIMIT:
            self._bound_line(block)

    def _joint(self) -> str:
        return "\n" * self._newlines if self.block is not None else ""

    def _end_line(self) -> None:
        if self._held and not self._held.isspace():
            self._begin_line(self._held)
        self._held = ""
        if self.block is not None:
            self._newlines += 1
            if self._at >= 0 and self._shape in ("fence", "item"):
                self._learn(self.block.text[self._at :].expandtabs(TAB))
        self._at = -1

    def _begin_piece(self, block: TextBlock) -> None:
        self._finish()
        self.block = block
        self._begun.append(block)
        self._at, self._lines = 0, 1

    def _finish(self) -> None:
        if self.block is not None and self.block.lasts:
            self.block.lasts = False
            self.block.revision += 1

    # --- which line belongs to which piece ------------------------------------------------------------

    def _joins(self, line: str) -> bool:
        apart = self._newlines > 1
        match self._shape:
            case "fence":
                return True
            case "line":
                return False
            case "code":
                return _indent(line) >= 4
            case "text":
                return not apart and (_UNDERLINE.match(line) is not None or not _interrupts(line))
            case "quote":
                return not apart and (_QUOTE.match(line) is not None or not _interrupts(line))
            case "item":
                if _indent(line) >= self._column:
                    return True
                return not apart and not self._fence and not _ITEM.match(line) and not _interrupts(line)

    def _take_shape(self, line: str) -> None:
        """Learn what the piece is that begins with a line."""
        assert self.block is not None
        self._fence = ""
        if _indent(line) >= 4:
            self._shape = "code"
        elif _FENCE.match(line):
            self._shape, self._fence = "fence", "?"
        elif _HEADING.match(line) or _RULE.match(line):
            self._shape = "line"
        elif _QUOTE.match(line):
            self._shape = "quote"
        elif item := _ITEM.match(line):
            self._shape, self._column, self.block.margin = "item", item.end(), len(item[1])
        else:
            self._shape = "text"

    def _numbered(self, line: str) -> int | None:
        """Return the number of the item that a line begins, as its list counts; None when it begins none."""
        item = None if self._fence else _ITEM.match(line)
        in_text = self._shape in ("text", "quote") and self._newlines < 2 and not _interrupts(line)
        if item is None or in_text:
            return None
        margin, mark = len(item[1]), item[2]
        while len(self._lists) > 1 and margin < self._lists[-2].column:
            self._lists.pop()
        own = int(mark[:-1] or 0)
        if self._lists and margin < self._lists[-1].column:
            last = self._lists.pop()
            own = last.number + 1 if last.sign == mark[-1] else own
        self._lists.append(_List(item.end(), mark[-1], own))
        return own

    def _learn(self, line: str) -> None:
        """Learn from a whole line whether a fence opens or ends with it."""
        if self._shape == "fence":
            if self._fence == "?":
                self._fence = line
            elif _closes(line, self._fence):
                self._shape, self._fence = "line", ""
        elif self._shape == "item":
            if self._fence:
                self._fence = "" if _closes(line, self._fence) else self._fence
            elif opened := _FENCE_OF_ITEM.match(line):
                self._fence = opened[1]

    # --- pieces that are too long ---------------------------------------------------------------------

    def _is_full(self, line: str) -> bool:
        assert self.block is not None
        long, lines = len(self.block.text), self._lines + max(0, self._newlines - 1)
        if self._shape == "fence":
            if _closes(line, self._fence):
                return self._newlines > PIECE_LINES
            if self._newlines > 1 and line[0] != " ":
                return long > CODE_BREAK or lines >= CODE_BREAK_LINES
            return long > CODE_CHARACTERS or lines >= PIECE_LINES
        if self._shape == "item" and (self._fence or not _ITEM.match(line)):
            long, lines = long - ITEM_CHARACTERS, lines - ITEM_LINES
        return long > PIECE_CHARACTERS or lines >= PIECE_LINES

    def _go_on(self, line: str, joint: str, told: str) -> TextBlock:
        """Begin the next piece of a long one with a line."""
        above = self.block
        assert above is not None
        block = TextBlock(line, first=False, joint=joint, head=above.head or above)
        item = _ITEM.match(told) if self._shape == "item" and not self._fence else None
        if item is not None:  # an item within a long one stands on its own
            self._column, block.margin, block.head = item.end(), len(item[1]), None
        elif self._shape == "item":
            block.margin = min(_indent(told), self._column)
        block.opening = self._opening(above, joint)
        self._begin_piece(block)
        return block

    def _opening(self, above: TextBlock, joint: str) -> str:
        if self._fence:
            return self._fence + "\n"
        if self._shape == "quote" and not joint:
            return "> "
        if self._shape == "text" and joint:
            return above.opening or _head_of_table(above.text)
        return ""

    def _bound_line(self, block: TextBlock) -> None:
        while len(block.text) - self._at > LINE_LIMIT:
            at = self._at
            cut = block.text.rfind(" ", at + LINE_LIMIT // 2, at + LINE_LIMIT) + 1 or at + LINE_LIMIT
            rest = block.text[cut:]
            block.text = block.text[:cut]
            block = self._go_on(rest, "", "x")


def code_of(text: str) -> str | None:
    """Return the code of a text that is one fence and nothing else; None when it is something else."""
    first, *lines = text.split("\n")
    if not _FENCE.match(first.expandtabs(TAB)):
        return None
    end = next((at for at, line in enumerate(lines) if _closes(line, first)), len(lines))
    if any(line.strip() for line in lines[end + 1 :]):
        return None
    indent = _indent(first)
    return "\n".join(line[min(indent, _indent(line)) :] for line in lines[:end])


def _head_of_table(text: str) -> str:
    """Return the first two lines of a table that a text holds; empty when it holds none."""
    lines = text.split("\n")
    for head, below in pairwise(lines):
        if "|" in head and _BELOW_HEAD.fullmatch(below.strip(" ")):
            return f"{head}\n{below}\n"
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _interrupts(line: str) -> bool:
    """Tell whether a line ends the text above it without an empty line between."""
    return _ENDS_TEXT.match(line) is not None


def _closes(line: str, fence: str) -> bool:
    """Tell whether a line ends the fence that another one has opened."""
    mark, opened = line.strip(" "), fence.lstrip(" ")
    length = len(opened) - len(opened.lstrip(opened[:1]))
    return len(mark) >= length and not mark.strip(opened[:1])
