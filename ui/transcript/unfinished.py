"""The end of a piece that is still being written, as it will probably go on; pure.

What is open of bold, of struck text and of code is closed, so that a word is bold from its first letter on,
and a table is one from its first row on. A single `*` or `_`, which may mean itself, and a link change how
their words look when they are whole.
"""

import re
from typing import Final

_MARKS: Final = re.compile(r"\\.|(`+)|(\*\*|~~)", re.DOTALL)
_FENCE: Final = re.compile(r"^[ >]*(?:[-*+] +|[0-9]+[.)] +)*(?:```|~~~)", re.MULTILINE)
_CELL_END: Final = re.compile(r"(?<!\\)\|")


def completed(text: str) -> str:
    """Return the Markdown of a piece with what is open at its end closed."""
    if len(_FENCE.findall(text)) % 2 or text.startswith("    "):  # code ends with what it ends with
        return text
    if text.startswith("|") and "\n" not in text:
        return _table(text)
    paragraph = text[text.rfind("\n\n") + 1 :]
    word = paragraph[1 + max(paragraph.rfind(" "), paragraph.rfind("\n")) :]
    shown = paragraph.rstrip("*`~" if "://" in word else "*_`~")
    return text[: len(text) - len(paragraph)] + shown + _closing(shown)


def _closing(text: str) -> str:
    """Return the marks that close what is open at the end of a paragraph."""
    code, marks = "", list[str]()
    for match in _MARKS.finditer(text):
        ticks, mark = match.groups()
        if code:
            code = "" if ticks == code else code
        elif ticks:
            code = ticks
        elif mark in marks:
            del marks[marks.index(mark) :]
        elif mark and not text[match.end() : match.end() + 1].isspace():
            marks.append(mark)
    return code + "".join(reversed(marks))


def _table(row: str) -> str:
    """Return the first row of a table as its head."""
    cells = max(1, len(_CELL_END.findall(row.rstrip("| "))))
    return f"{row.rstrip('| ')} |\n|{'---|' * cells}"
