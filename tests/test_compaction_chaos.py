"""Compaction under whatever a model and a server do: the session stays whole and usable."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.conversation import Conversation
from actors.plan.delivery import plan_result
from actors.provider.interface import ProviderError
from ipc.messages import ModelAnswer, StreamEvent, TextDelta, ToolCall, Usage
from tests.fakes.compacting import SYSTEM, Session
from tests.fakes.models import ScriptedProvider, Step, calls
from tests.fakes.plans import plan, step
from tests.fakes.session_events import fold

REQUESTS_A_TURN = 40


def overflow(window: int) -> ProviderError:
    return ProviderError("context_length_exceeded", "too long", window=window)


class Chaos(ScriptedProvider):
    """Answers as drawn; what it calls has results of any length."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Step]], Step]) -> None:
        super().__init__([])
        self.draw = draw
        self.left = 0

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        self.left -= 1
        assert self.left >= 0, "a turn does not end"
        is_summary = b"This is a request of Fido" in conversation.messages[-1]
        self.steps = [self.draw(SUMMARIES if is_summary else ANSWERS)]
        if is_summary and isinstance(self.steps[0], ModelAnswer):
            yield TextDelta(text=self.steps[0].text or " ")
            yield self.steps.pop()
            return
        async for event in super().stream(conversation):
            yield event


TEXTS = st.sampled_from(["yes", "a longer answer " * 200])
USAGES = st.none() | st.integers(0, 20_000).map(lambda n: Usage(prompt_tokens=n, completion_tokens=9))
FAULTS = st.sampled_from(
    [overflow(0), overflow(6_000), overflow(30_000), ProviderError("server_error", "broken")]
)
SUMMARIES: st.SearchStrategy[Step] = st.one_of(
    FAULTS,
    st.builds(
        ModelAnswer,
        text=st.sampled_from(["", "a summary", "s" * 90_000]),
        finish_reason=st.sampled_from(["stop", "length", "tool_calls"]),
        usage=USAGES,
    ),
)
ANSWERS: st.SearchStrategy[Step] = st.one_of(
    st.integers(1, 3).map(lambda count: calls(*(f"read:{n}" for n in range(count)))),
    st.integers(1, 3).map(lambda count: calls(*(f"read:{n}" for n in range(count)), text="look")),
    st.builds(ModelAnswer, text=TEXTS, usage=USAGES),
    FAULTS,
)


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from([0, 8_000, 16_000]), st.booleans())
def test_whatever_happens_the_session_stays_whole(data: st.DataObject, window: int, has_plan: bool) -> None:
    current = plan(step("look", status="in_progress")) if has_plan else None
    provider = Chaos(data.draw)
    session = Session(provider=provider, window=window, plan=current)

    def result(call: ToolCall) -> str:
        return "r" * data.draw(st.sampled_from([1, 3_000, 30_000]))

    async def turns() -> None:
        for number in range(1, data.draw(st.integers(2, 5)) + 1):
            provider.left = REQUESTS_A_TURN
            count = len(session.compactions)
            session.prompt(f"wish {number}")
            await session.run(result, max_rounds=6)
            if data.draw(st.booleans()):
                provider.left += 1
                await session.compactor.compact(session.conversation, "")
            check(session, number, compacted=len(session.compactions) > count)

    asyncio.run(asyncio.wait_for(turns(), 60))


def check(session: Session, number: int, *, compacted: bool) -> None:
    said = session.said()
    assert session.conversation.messages[0] == SYSTEM
    assert fold(session.events).messages == tuple(session.conversation.messages)
    words = "\n".join(str(message["content"]) for message in said if message["role"] == "user")
    assert f"wish {number}" in words
    if compacted and session.plans.plan.items:
        results = [message["content"] for message in said if message["role"] == "tool"]
        assert plan_result(session.plans.plan) in results
    starts, ends = (
        [type(fact).__name__ for fact in session.facts].count(name)
        for name in ("CompactionStarted", "CompactionFinished")
    )
    nothing = [fact for fact in session.finished if fact.detail == "There is nothing new to compact."]
    assert starts == ends - len(nothing)
    assert all(fact.after_tokens <= fact.before_tokens for fact in session.finished)
