"""A subagent makes room: once, and only in what its own tools brought."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import Conversation, encode_assistant, encode_tool_result, encode_user
from actors.delegation.gate import decode_message
from actors.delegation.shortener import HEAD, TailShortener, shortened
from tests.fakes.worker_parent import calls

OPENING = (encode_tool_result("d", "x" * 50_000), encode_user("the task"))


def grown(*sizes: int) -> Conversation:
    """A subagent's conversation with one round of tools for each size."""
    conversation = Conversation(b"", OPENING)
    for number, size in enumerate(sizes):
        conversation.append(encode_assistant("I look.", [calls("read_file", f"c{number}")]))
        conversation.append(encode_tool_result(f"c{number}", "y" * size))
    return conversation


def contents(conversation: Conversation) -> list[str]:
    results = conversation.messages[len(OPENING) + 1 :: 2]
    return [decode_message(message).content or "" for message in results]


def test_the_oldest_results_go_first_and_that_is_said() -> None:
    conversation = grown(10_000, 10_000, 100, 10_000, 9_000)
    assert asyncio.run(TailShortener(len(OPENING)).overflow(conversation))
    assert tuple(conversation.messages[: len(OPENING)]) == OPENING
    cut, cut_too, short, kept, newest = contents(conversation)
    assert (len(short), len(kept), len(newest)) == (100, 10_000, 9_000)
    for each in (cut, cut_too):
        assert each.startswith("y" * HEAD + "\n[9,600 characters were removed to make room")


def test_one_result_that_is_all_there_is_goes_as_well() -> None:
    conversation = grown(500_000)
    assert asyncio.run(TailShortener(len(OPENING)).overflow(conversation))
    (cut,) = contents(conversation)
    assert "499,600 characters were removed" in cut


def test_it_makes_room_once() -> None:
    conversation, shortener = grown(10_000, 10_000), TailShortener(len(OPENING))
    assert asyncio.run(shortener.overflow(conversation))
    before = list(conversation.messages)
    assert not asyncio.run(shortener.overflow(conversation))
    assert conversation.messages == before


def test_where_nothing_is_long_nothing_is_cut() -> None:
    for conversation in (grown(), grown(100, 200)):
        before = list(conversation.messages)
        assert not asyncio.run(TailShortener(len(OPENING)).overflow(conversation))
        assert conversation.messages == before


@given(st.lists(st.integers(0, 100_000), max_size=12))
def test_what_is_left_has_the_same_messages_and_half_of_what_was_long(sizes: list[int]) -> None:
    before = grown(*sizes).messages[len(OPENING) + 1 :]
    after = shortened(before)
    pairs = [(decode_message(one), decode_message(other)) for one, other in zip(before, after, strict=True)]
    assert all((one.role, one.tool_call_id) == (other.role, other.tool_call_id) for one, other in pairs)
    long = sum(len(message) for message in before if len(message) > 2_000)
    left = sum(len(new) for old, new in zip(before, after, strict=True) if len(old) > 2_000)
    assert left <= long // 2 + 600 * len(sizes)
