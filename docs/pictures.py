"""Writes the pictures of the screen: plays the demo in a real pty and draws what is seen.

`python -m docs.pictures`. A picture is an SVG of text and rectangles, a few kilobytes, in the colours that
the terminal got; on paper of the colour that it answered with when it was asked for its background.
"""

import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from typing import Final

from pyte.screens import Char, Screen

from tests.fakes.terminal import CTRL_U, ENTER, ESC, F2, TerminalProgram

ROOT: Final = Path(__file__).parents[1]
PROMPT: Final = (
    "Survey this repository: what is it, where does it start, how is it tested, what needs attention?"
)
LEAVE: Final = f"/quit{ENTER}"
DEADLINE_S: Final = 60.0
CELL_WIDTH: Final = 8.43
"""Width of a character at 14 px in the fonts named below; `textLength` makes any other font fit."""
CELL_HEIGHT: Final = 18
PADDING: Final = 12
FONTS: Final = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

WORKSPACE: Final = {
    "README.md": "# Parcel\n\nSends large files in parcels.\n\n    pip install -e .\n    parcel big.iso\n",
    "pyproject.toml": (
        '[project]\nname = "parcel"\nversion = "1.2.0"\ndependencies = ["click>=8"]\n\n'
        '[project.scripts]\nparcel = "parcel.app:main"\n'
    ),
    "src/parcel/__init__.py": "",
    "src/parcel/app.py": (
        "import subprocess\nimport sys\n\nfrom parcel.pieces import pieces\n\n\n"
        "def main() -> None:\n    for name in sys.argv[1:]:\n        for piece in pieces(name):\n"
        '            subprocess.run(f"send {len(piece)}", shell=True)\n\n\n'
        'if __name__ == "__main__":\n    main()\n'
    ),
    "src/parcel/pieces.py": (
        "from collections.abc import Iterator\n\n\n"
        "def pieces(name: str, size: int = 4096) -> Iterator[bytes]:\n"
        "    # TODO: large files are read twice\n"
        '    with open(name, "rb") as file:\n        while piece := file.read(size):\n'
        "            yield piece  # type: ignore\n"
    ),
    "tests/test_pieces.py": "from parcel.pieces import pieces\n\n\ndef test_it():\n    assert pieces\n",
}
"""What the demo surveys: a small program with a few things to find."""


@dataclass(frozen=True)
class Paper:
    """What a picture is drawn on: the terminal's own colours, and those it has names for."""

    name: str
    background: str
    foreground: str


PAPERS: Final = (Paper("dark", "17171f", "d6d6de"), Paper("light", "fbfbf8", "24242c"))

Look = tuple[str, str, bool]
"""Foreground, background, bold."""


def svg(screen: Screen, title: str, paper: Paper) -> str:
    """Draw an emulator's screen."""
    width = round(screen.columns * CELL_WIDTH + 2 * PADDING)
    height = screen.lines * CELL_HEIGHT + 2 * PADDING
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#{paper.background}"/>',
            f'<g font-family="{FONTS}" font-size="14" fill="#{paper.foreground}" xml:space="preserve">',
            *(part for row in range(screen.lines) for part in _row(screen, row, paper)),
            "</g>",
            "</svg>\n",
        ]
    )


def _row(screen: Screen, row: int, paper: Paper) -> Iterator[str]:
    cells = [screen.buffer[row][column] for column in range(screen.columns)]
    column, top = 0, PADDING + row * CELL_HEIGHT
    for look, run in groupby(cells, lambda cell: _look(cell, paper)):
        text = [cell.data or " " for cell in run]  # The second half of a wide character is empty.
        yield from _run(look, "".join(text), column, top, paper)
        column += len(text)


def _look(cell: Char, paper: Paper) -> Look:
    """Return how a cell looks, reversal resolved."""
    front = paper.foreground if cell.fg == "default" else cell.fg
    back = paper.background if cell.bg == "default" else cell.bg
    return (back, front, cell.bold) if cell.reverse else (front, back, cell.bold)


def _run(look: Look, text: str, column: int, top: int, paper: Paper) -> Iterator[str]:
    front, back, bold = look
    if back != paper.background:
        left, width = PADDING + column * CELL_WIDTH, len(text) * CELL_WIDTH
        yield f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{CELL_HEIGHT}" fill="#{back}"/>'
    for word, start in _words(text):
        fill = "" if front == paper.foreground else f' fill="#{front}"'
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


@dataclass(frozen=True)
class Wanted:
    """One picture of the demo's end: its size, what is typed for it and undone again, when it is ready."""

    columns: int
    rows: int
    title: str
    ready: str
    typed: str = ""
    undone: str = ""


WANTED: Final = (
    Wanted(160, 40, "The survey is done: conversation, whole plan, session, at 160 columns", "F1 help"),
    Wanted(
        100,
        32,
        "A file is completed behind an @, at 100 columns",
        "› pieces.py",
        "Look at @pie",
        CTRL_U,
    ),
    Wanted(60, 28, "The whole plan on a key, at 60 columns", "Esc close", F2, ESC),
)


def draw(paper: Paper, command: list[str], home: Path) -> dict[str, str]:
    """Play the demo in a workspace below `home`, on one paper; return the pictures by their file names."""
    workspace = home / "parcel"
    for name, content in WORKSPACE.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    environment = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    first, drawn = WANTED[0], {}
    with TerminalProgram(
        [*command, PROMPT], first.columns, first.rows, environment, workspace, paper.background
    ) as program:
        program.until(lambda: "5/5" in program.text and "ready" in program.lines[0], "the end", DEADLINE_S)
        for wanted in WANTED:
            _show(program, wanted)
            drawn[f"screen-{wanted.columns}-{paper.name}.svg"] = svg(program.screen, wanted.title, paper)
            program.type(wanted.undone)
            program.until(lambda: "F1 help" in program.text, "the composer", DEADLINE_S)
        program.type(LEAVE)
        program.until(lambda: program.ended, "the end", DEADLINE_S)
    return drawn


def _show(program: TerminalProgram, wanted: Wanted) -> None:
    """Bring the screen to the size and into the state of a picture."""
    program.resize(wanted.columns, wanted.rows)
    program.until(lambda: program.fits, wanted.title, DEADLINE_S)
    program.type(wanted.typed)
    program.until(lambda: wanted.ready in program.text and program.rests, wanted.title, DEADLINE_S)


def meaning(picture: str) -> list[str]:
    """Return what a picture shows, row by row with its colours: without numbers and ids."""
    rows: dict[str, list[str]] = {}
    for attributes, text in re.findall("<text ([^>]*)>([^<]*)<", picture):
        top, colour = (re.search(f'{name}="([^"]*)"', attributes) for name in ("y", "fill"))
        assert top, attributes
        rows.setdefault(top[1], []).append(f"{colour[1] if colour else ''} {_nameless(unescape(text))}")
    grounds = {found[1] for found in re.finditer('<rect[^>]*fill="([^"]*)"', picture)}
    return [*(" ".join(row) for row in rows.values()), *sorted(grounds)]


def _nameless(text: str) -> str:
    """Return a text with numbers, units of time and ids put out of it."""
    text = re.sub(r"\bSUBAGENT \w+|\b\d{8}-\d{6}-\w+", "ID", text)
    return " ".join(re.sub(r"[\d.,:]*\d[\d.,:]*( ?(ms|s|m\d*s?|k|MB|kB)\b)?", "0", text).split())


def main() -> int:
    """Write the pictures of the demo: three widths on two papers."""
    fido = shutil.which("fido", path=sysconfig.get_path("scripts"))
    if fido is None:
        sys.stderr.write("docs.pictures: fido is not installed here; run: make setup\n")
        return 1
    for paper in PAPERS:
        with tempfile.TemporaryDirectory(prefix="fido-", dir="/tmp") as home:
            for name, picture in draw(paper, [fido], Path(home)).items():
                (ROOT / "docs" / name).write_text(picture, encoding="utf-8")
                sys.stdout.write(f"docs/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
