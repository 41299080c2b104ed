"""Answers cut into pieces while they stream."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui.transcript.blocks import LINE_LIMIT, TextBlock, raw_text
from ui.transcript.pieces import ITEM_CHARACTERS, PIECE_CHARACTERS, Cutter

ANSWER = """# Title

A paragraph with *marks*
that goes on.
## Next
- one
  more of it
- two
  - nested

  still two
1. first
2) other
> said
> by someone
---
```python
def f():

    return 1
```
after
~~~
# no heading
- no item
~~~
| a | b |
|---|:-:|
| 1 | 2 |

    indented

    code
10. ten
    ```sh
    ls
    ```
    end

*** bold *** and ``` inline ``` code
-5 degrees
42
"""


def pieces(*deltas: str) -> list[TextBlock]:
    cutter = Cutter()
    return [block for delta in deltas for block in cutter.feed(delta)] + cutter.end()


def texts(*deltas: str) -> list[str]:
    return [block.text for block in pieces(*deltas)]


def seen(*deltas: str) -> list[object]:
    return [(block.joint, block.text, block.opening, block.margin) for block in pieces(*deltas)]


def test_an_answer_is_cut_into_what_stands_on_its_own() -> None:
    assert texts(ANSWER) == [
        "# Title",
        "A paragraph with *marks*\nthat goes on.",
        "## Next",
        "- one\n  more of it",
        "- two\n  - nested\n\n  still two",
        "1. first",
        "2) other",
        "> said\n> by someone",
        "---",
        "```python\ndef f():\n\n    return 1\n```",
        "after",
        "~~~\n# no heading\n- no item\n~~~",
        "| a | b |\n|---|:-:|\n| 1 | 2 |",
        "    indented\n\n    code",
        "10. ten\n    ```sh\n    ls\n    ```\n    end",
        "*** bold *** and ``` inline ``` code\n-5 degrees\n42",
    ]


def test_what_was_written_can_be_had_back() -> None:
    assert raw_text(pieces(ANSWER)) == ANSWER.rstrip("\n")
    assert raw_text(pieces("a\tb\n\n\n\n\tc\n")) == "a\tb\n\n\n\n\tc"


@pytest.mark.parametrize(
    ("written", "cut"),
    [
        ("text\n---\nmore", ["text\n---\nmore"]),
        ("text\n***\nmore", ["text", "***", "more"]),
        ("text\n12. no item here", ["text\n12. no item here"]),
        ("text\n1. an item", ["text", "1. an item"]),
        ("- one\nlazy\n\nnot lazy", ["- one\nlazy", "not lazy"]),
        ("```\n``\n``` x\n```\nafter", ["```\n``\n``` x\n```", "after"]),
        ("````\n```\n````", ["````\n```\n````"]),
        ("- one\n```sh\nls\n```\n- two", ["- one", "```sh\nls\n```", "- two"]),
        ("1. one\n  - below it", ["1. one", "  - below it"]),
        ("> quote\nlazy\n# Head", ["> quote\nlazy", "# Head"]),
        ("#5 is no heading", ["#5 is no heading"]),
        ("\n\n  \nfirst", ["first"]),
        ("-\n- one", ["-", "- one"]),
        ("```\nnever closed\n\n", ["```\nnever closed"]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_lines_belong_where_markdown_says(written: str, cut: list[str]) -> None:
    assert texts(written) == cut


def test_what_does_not_tell_yet_what_it_is_waits() -> None:
    for beginning, rest, shown in (
        ("#", "# Head", "## Head"),
        ("``", "`sh", ""),
        ("-", " item", "- item"),
        ("1", ". item", "1. item"),
        ("**", "bold", "**bold"),
        ("  ", "text", "  text"),
        ("| -", "-|", ""),
    ):
        cutter = Cutter()
        assert cutter.feed(beginning) == []
        assert [block.text for block in cutter.feed(rest)] == ([shown] if shown else [])


def test_a_finished_piece_never_changes() -> None:
    cutter = Cutter()
    finished: list[tuple[TextBlock, str, int]] = []
    blocks: list[TextBlock] = []
    for character in ANSWER:
        blocks += cutter.feed(character)
        assert all((block.text, block.revision) == (text, revision) for block, text, revision in finished)
        assert [block.lasts for block in blocks] == [False] * (len(blocks) - 1) + [True] * bool(blocks)
        finished = [(block, block.text, block.revision) for block in blocks[:-1]]
    cutter.end()
    assert not blocks[-1].lasts


LINES = st.sampled_from(
    [
        *ANSWER.split("\n"),
        "   ",
        "\t- tab",
        "=====",
        "- - -",
        "> ```",
        "word " * 500,
        "x" * 2500,
        "-" * 300,
        "```" + "a" * 300 + "`",
        "|a|" * 900,
        "`" * 250,
        "    " * 60 + "x",
        "- " * 150,
    ]
)


@settings(max_examples=150)
@given(st.lists(LINES, max_size=60).map("\n".join), st.lists(st.integers(0, 12_000), max_size=30))
def test_where_an_answer_is_cut_does_not_depend_on_how_it_arrived(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(place for place in cuts if place < len(text)), len(text)]
    deltas = [text[a:b] for a, b in itertools.pairwise(places)]
    assert seen(*deltas) == seen(text)


@settings(max_examples=25)
@given(st.lists(LINES, max_size=12).map("\n".join))
def test_an_answer_that_comes_by_characters_is_the_same(text: str) -> None:
    assert seen(*text) == seen(text)


@settings(max_examples=60)
@given(st.lists(LINES, max_size=60).map("\n".join))
def test_nothing_is_lost_and_every_piece_is_bounded(text: str) -> None:
    cut = pieces(text)
    assert all(len(block.text) <= PIECE_CHARACTERS + ITEM_CHARACTERS + LINE_LIMIT for block in cut)
    assert all(block.text for block in cut)
    words = "".join(block.joint + block.text for block in cut).split()
    assert "".join(words) == "".join(text.split())


@pytest.mark.parametrize(
    ("line", "opening"),
    [
        ("    x = 1\n", "```python\n"),
        ("| 1 | 2 |\n", "| a | b |\n|---|---|\n"),
        ("> said\n", ""),
        ("- item\n", ""),
        ("text\n", ""),
    ],
)
def test_a_long_piece_goes_on_as_what_it_was(line: str, opening: str) -> None:
    begin = {"    x = 1\n": "```python\n", "| 1 | 2 |\n": "| a | b |\n|---|---|\n"}.get(line, "")
    cut = pieces(begin + line * 1000)
    assert len(cut) > 10
    assert {block.opening for block in cut[1:]} == {opening}
    assert {block.head is cut[0] for block in cut[1:]} == {line != "- item\n"}


def test_a_long_program_is_cut_where_a_part_of_it_ends() -> None:
    part = "def f():\n" + "    x = 1\n\n" * 18 + "\n"
    cut = pieces("```python\n" + part * 10 + "```\n")
    assert {block.text.splitlines()[0] for block in cut[1:]} == {"def f():"}


def test_an_item_that_grows_long_goes_on_at_its_own_column() -> None:
    cut = pieces("- head\n" + "".join(f"  - inner {i}\n    text\n" for i in range(200)) + "- tail")
    assert all(block.text.lstrip().startswith("-") for block in cut)
    assert {block.margin for block in cut[1:-1]} == {2}
    assert cut[-1].text == "- tail"


def test_a_long_line_is_cut_between_words() -> None:
    cut = pieces("word " * 3000)
    assert raw_text(cut).split() == ["word"] * 3000
    assert all(block.joint == "" and block.text.startswith("word") for block in cut)


def test_a_line_of_marks_is_cut_at_once() -> None:
    for line in ("-  " * 40 + "x", "1. " * 900 + "x", "- " * 900 + "`", "a|b\n" + " " * 3_000 + "x"):
        assert raw_text(pieces(f"- a\n\n{line}\n")).split() == ["-", "a", *line.split()]


def test_empty_lines_make_no_piece_long() -> None:
    cut = pieces("```\nx" + "\n" * 5_000 + "y" + "\n" * 5_000 + "```")
    assert [block.text for block in cut] == ["```\nx", "y", "```"]


def test_items_are_counted_as_their_list_counts_them() -> None:
    cut = pieces("1. a\n1. b\n\n   more\n   7. x\n1. c\n\n5) d\n9) e\n- f\n\ntext\n\n1. g\n```\nx\n```\n1. h")
    assert [block.number for block in cut if block.number] == [1, 2, 3, 5, 6, 1, 1]
    nested = pieces("- head\n" + "".join(f"  1. inner {i}\n     text\n" for i in range(200)))
    assert [block.number for block in nested if block.margin] == [
        int(block.text.split()[2]) + 1 for block in nested if block.margin
    ]
