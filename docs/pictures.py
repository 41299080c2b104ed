"""Writes the pictures of the screen: plays the demo in a real pty and draws what is seen.

`python -m docs.pictures`. A picture is an SVG of text and rectangles, a few kilobytes, in the colours that
the terminal got.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

from pyte.screens import Char, Screen

from tests.fakes.terminal import ENTER, F2, TerminalProgram

ROOT: Final = Path(__file__).parents[1]
PROMPT: Final = (
    "Survey this repository: what is it, where does it start, how is it tested, what needs attention?"
)
LEAVE: Final = f"/quit{ENTER}"
AT_WORK: Final = ("SUBAGENT", " delegate ", "working")
FRAME_END: Final = b"\x1b[?25h"
"""The cursor is shown last, so a frame that ends so is whole; over an overlay the last row is drawn last."""
DEADLINE_S: Final = 60.0
CELL_WIDTH: Final = 8.43
"""Width of a character at 14 px in the fonts named below; `textLength` makes any other font fit."""
CELL_HEIGHT: Final = 18
PADDING: Final = 12
BACKGROUND: Final = "#17171f"
FOREGROUND: Final = "#d6d6de"
FONTS: Final = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
NAMED: Final = {
    "black": "#17171f",
    "red": "#d9534f",
    "green": "#3d9a50",
    "brown": "#b8860b",
    "blue": "#5b8def",
    "magenta": "#a78bfa",
    "cyan": "#2a9da8",
    "white": "#d6d6de",
    "brightblack": "#8a8a8a",
}

Look = tuple[str, str, bool]
"""Foreground, background, bold."""


def look_of(cell: Char) -> Look:
    """Return how a cell looks, reversal resolved."""
    front, back = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
    return (back, front, cell.bold) if cell.reverse else (front, back, cell.bold)


def svg(screen: Screen, title: str) -> str:
    """Draw an emulator's screen."""
    width = round(screen.columns * CELL_WIDTH + 2 * PADDING)
    height = screen.lines * CELL_HEIGHT + 2 * PADDING
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
            f'<g font-family="{FONTS}" font-size="14" fill="{FOREGROUND}" xml:space="preserve">',
            *(part for row in range(screen.lines) for part in _row(screen, row)),
            "</g>",
            "</svg>\n",
        ]
    )


def _row(screen: Screen, row: int) -> Iterator[str]:
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    column, top = 0, PADDING + row * CELL_HEIGHT
    for look, run in groupby(cells, look_of):
        text = [cell.data or " " for cell in run]  # The second half of a wide character is empty.
        yield from _run(look, "".join(text), column, len(text), top)
        column += len(text)


def _run(look: Look, text: str, column: int, cells: int, top: int) -> Iterator[str]:
    front, back, bold = look
    if back != BACKGROUND:
        left, width = PADDING + column * CELL_WIDTH, cells * CELL_WIDTH
        yield f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{CELL_HEIGHT}" fill="{back}"/>'
    for word, start in _words(text):
        fill = "" if front == FOREGROUND else f' fill="{front}"'
        weight = ' font-weight="bold"' if bold else ""
        left = PADDING + (column + start) * CELL_WIDTH
        yield (
            f'<text x="{left:.1f}" y="{top + 13}" textLength="{len(word) * CELL_WIDTH:.1f}"{fill}{weight}>'
            f"{escape(word)}</text>"
        )


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Return stretches of text with where they start; wide gaps are left out."""
    at = 0
    for stretch in text.split("  "):
        word = stretch.strip(" ")
        if word:
            yield word, at + len(stretch) - len(stretch.lstrip(" "))
        at += len(stretch) + 2


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return NAMED.get(name) or f"#{name}"


@dataclass(frozen=True)
class Wanted:
    """One picture of the demo: its size, the keys to press at the end of the turn, when it is ready."""

    columns: int
    rows: int
    title: str
    ready: Callable[[str], bool]
    pressed: str = ""


WANTED: Final = (
    Wanted(120, 36, "A subagent at work, at 120 columns", lambda text: all(map(text.__contains__, AT_WORK))),
    Wanted(80, 30, "The report, at 80 columns", lambda text: "ready" in text.partition("\n")[0]),
    Wanted(60, 28, "The whole plan on a key, at 60 columns", lambda text: "Esc close" in text, pressed=F2),
)


def picture(wanted: Wanted, command: list[str], home: Path) -> str:
    """Play the demo in a clone of this repository below `home`; return the SVG."""
    workspace = home / "fido"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(workspace)], check=True)
    environment = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    with TerminalProgram([*command, PROMPT], wanted.columns, wanted.rows, environment, workspace) as program:
        if wanted.pressed:
            program.until(
                lambda: "Plan 5/5" in program.text and "ready" in program.text, "the end", DEADLINE_S
            )
            program.type(wanted.pressed)
        program.until(
            lambda: (
                wanted.ready(program.text) and (program.written.endswith(FRAME_END) or wanted.pressed != "")
            ),
            wanted.title,
            DEADLINE_S,
        )
        drawn = svg(program.screen, wanted.title)
        program.type(wanted.pressed + LEAVE)
        program.until(lambda: program.ended, "the end", DEADLINE_S)
    return drawn


def main() -> int:
    """Write the pictures of the demo at three widths."""
    fido = shutil.which("fido", path=sysconfig.get_path("scripts"))
    if fido is None:
        sys.stderr.write("docs.pictures: fido is not installed here; run: make setup\n")
        return 1
    for wanted in WANTED:
        with tempfile.TemporaryDirectory(prefix="fido-", dir="/tmp") as home:
            drawn = picture(wanted, [fido], Path(home))
        path = ROOT / "docs" / f"screen-{wanted.columns}.svg"
        path.write_text(drawn, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
