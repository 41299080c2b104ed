"""The pictures of the screen show what the screen is now; `make docs` draws them anew."""

from pathlib import Path

import pytest

from docs import pictures
from docs.pictures import PAPERS, Paper, draw, meaning
from tests.fakes.launch import command
from tests.fakes.places import short_directory

LARGEST = 40_000
DOCS = Path(pictures.__file__).parent


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_no_picture_is_stale(paper: Paper) -> None:
    with short_directory() as home:
        drawn = draw(paper, command("actors.guard"), home)
    for name, picture in drawn.items():
        kept = (DOCS / name).read_text(encoding="utf-8")
        assert meaning(picture) == meaning(kept), f"docs/{name} is stale: run make docs"
        assert len(kept) < LARGEST


def test_every_picture_is_shown() -> None:
    pages = "".join(
        path.read_text(encoding="utf-8") for path in (DOCS.parent / "README.md", *DOCS.glob("*.md"))
    )
    assert [path.name for path in DOCS.glob("*.svg") if path.name not in pages] == []


def test_a_picture_means_the_same_whatever_its_numbers_are() -> None:
    kept = '<text x="1.0" y="25" fill="#aa00ff">SUBAGENT 7f3a took 12 ms</text>'
    assert meaning(kept) == meaning(kept.replace("7f3a", "beef").replace("12 ms", "1.3 s"))
    assert meaning(kept) != meaning(kept.replace("took", "needs"))
    assert meaning(kept) != meaning(kept.replace("aa00ff", "000000"))
