"""Searching the transcript: every occurrence is counted, and each one is come to from each other one."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from ui.transcript.blocks import Block, NoteBlock
from ui.transcript.search import Search
from ui.transcript.transcript import Transcript

TEXTS = st.lists(st.text("abAB \n", max_size=12), max_size=8)


def notes(texts: list[str]) -> list[Block]:
    return [NoteBlock("info", text) for text in texts]


def read(block: Block) -> str:
    assert isinstance(block, NoteBlock)
    return block.text


def places(search: Search) -> tuple[int, int] | None:
    return search.current and search.current[:2]


def expected(transcript: Transcript, query: str) -> list[tuple[int, int]]:
    """Each occurrence by the position of its block and its number there."""
    flags = 0 if query != query.lower() else re.IGNORECASE
    return [
        (transcript.dropped + at, nth)
        for at, block in enumerate(transcript.blocks)
        for nth, _ in enumerate(
            re.finditer(re.escape(" ".join(query.split())), " ".join(read(block).split()), flags)
        )
    ]


@given(TEXTS, st.text("abA ", min_size=1, max_size=3).filter(str.strip), st.integers(0, 5))
def test_every_occurrence_is_come_to_in_both_directions(texts: list[str], query: str, dropped: int) -> None:
    transcript, search = Transcript(notes(texts), dropped=dropped), Search()
    search.look_for(query, transcript, read, near=10**6)
    found = expected(transcript, query)
    assert search.total == len(found)
    if not found:
        assert search.current is None
        return
    assert places(search) == found[-1]
    for number, place in enumerate(found):
        search.again(transcript, read, 1)
        assert (places(search), search.at) == (place, number)
    for number in reversed(range(len(found) - 1)):
        search.again(transcript, read, -1)
        assert places(search) == found[number]


CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "insert", "grow", "drop", "rebuild", "query"]), st.integers(0, 7)),
    max_size=8,
)


@given(TEXTS, CHANGES, st.sampled_from("abA"), st.sampled_from([1, -1]))
@example(["a", "a", "b"], [("rebuild", 0)], "a", 1)
def test_a_search_sees_whatever_has_come_and_gone(
    texts: list[str], changes: list[tuple[str, int]], query: str, step: int
) -> None:
    transcript, search = Transcript(notes(texts)), Search()
    search.look_for(query, transcript, read, near=0)
    for change, number in changes:
        blocks = transcript.blocks
        match change:
            case "add":
                blocks.append(NoteBlock("info", "one more a A b"))
            case "insert":
                blocks.insert(number, NoteBlock("info", "a b a"))
            case "grow" if blocks:
                grown = blocks[number % len(blocks)]
                assert isinstance(grown, NoteBlock)
                grown.text += " and a"
                grown.revision += 1
            case "drop" if len(blocks) > 2:
                blocks[:2] = notes(["a is gone"])
                transcript.dropped += 1
            case "rebuild":
                transcript = Transcript(notes(["a", "B a"][: number % 3]))
            case "query":
                query = "abA"[number % 3]
                search.look_for(query, transcript, read, near=number)
            case _:
                pass
        search.again(transcript, read, step)
        found = expected(transcript, query)
        assert search.total == len(found)
        assert places(search) == (found[search.at] if found else None)
        assert search.current is None or search.current.block in transcript.blocks


def test_only_what_has_changed_is_read_again() -> None:
    transcript, search, seen = Transcript(notes(["one"] * 100)), Search(), list[Block]()

    def look(block: Block) -> str:
        seen.append(block)
        return read(block)

    search.look_for("one", transcript, look, near=0)
    seen.clear()
    transcript.blocks.append(NoteBlock("info", "one more"))
    transcript.blocks[98].revision += 1
    search.again(transcript, look, 1)
    assert seen == [transcript.blocks[98], transcript.blocks[100]]
    assert search.total == 101
    seen.clear()
    search.look_for("One", transcript, look, near=0)
    transcript.blocks[:50] = notes(["gone"])
    transcript.dropped = 49
    search.again(transcript, look, 1)
    assert len(seen) == 1


def test_the_match_that_is_shown_stays_when_something_is_inserted_above() -> None:
    transcript, search = Transcript(notes(["one", "two one", "one"])), Search()
    search.look_for("one", transcript, read, near=1)
    transcript.blocks.insert(0, NoteBlock("info", "one"))
    search.again(transcript, read, 1)
    assert (places(search), search.at, search.total) == ((3, 0), 3, 4)


def test_a_transcript_that_was_told_anew_is_looked_through_anew() -> None:
    search = Search()
    search.look_for("one", Transcript(notes(["one"] * 9)), read, near=8)
    anew = Transcript(notes(["one", "two"]))
    assert search.follow(anew, read)
    assert (places(search), search.total) == ((0, 0), 1)
    assert not search.follow(anew, read)
