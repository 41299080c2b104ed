"""Searching the transcript: every occurrence is counted, and each one is come to from each other one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from ui.transcript.blocks import Block, NoteBlock
from ui.transcript.search import Search


def notes(texts: list[str]) -> list[Block]:
    return [NoteBlock("info", text) for text in texts]


TEXTS = st.lists(st.text("abAB \n", max_size=12), max_size=8)


@given(TEXTS, st.text("abA ", min_size=1, max_size=3).filter(str.strip), st.integers(0, 5))
def test_every_occurrence_is_come_to_in_both_directions(texts: list[str], query: str, dropped: int) -> None:
    blocks, search = notes(texts), Search()
    search.look_for(query, blocks, dropped, near=10**6)
    flags = 0 if query != query.lower() else re.IGNORECASE
    said = [f"{text}\n".replace("\n", " ") for text in texts]
    expected = [
        (dropped + at, nth)
        for at, text in enumerate(said)
        for nth, _ in enumerate(re.finditer(re.escape(query), text, flags))
    ]
    assert search.total == len(expected)
    if not expected:
        assert search.current is None
        return
    assert search.current == expected[-1]
    seen = list[object]()
    for _ in expected:
        search.again(blocks, dropped, 1)
        assert (search.current, search.at) == (expected[len(seen)], len(seen))
        seen.append(search.current)
    for number in reversed(range(len(expected) - 1)):
        search.again(blocks, dropped, -1)
        assert search.current == expected[number]


def test_a_search_sees_what_has_come_since() -> None:
    blocks, search = notes(["one"]), Search()
    search.look_for("one", blocks, 0, near=0)
    blocks.append(NoteBlock("info", "one more"))
    search.again(blocks, 0, 1)
    assert (search.at, search.total) == (1, 2)
