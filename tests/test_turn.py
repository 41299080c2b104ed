"""The turn loop: every call gets one result, in order, whatever happens."""

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.calls import UNKNOWN_TOOL, ToolResult, failure
from actors.conversation import Conversation
from actors.provider.interface import ProviderError
from actors.turn import MOST_MISSES, TurnOutcome, run_turn
from ipc.messages import ModelAnswer, ToolCall
from tests.fakes.models import Recording, ScriptedInvoker, ScriptedProvider, Step, calls, conversation

DEADLINE_S = 10


def play(
    steps: list[Step], invoker: ScriptedInvoker | None = None, **limits: int
) -> tuple[TurnOutcome, Conversation, ScriptedProvider]:
    async def whole() -> tuple[TurnOutcome, Conversation, ScriptedProvider]:
        history, provider = conversation(), ScriptedProvider(steps)
        async with asyncio.timeout(DEADLINE_S):
            outcome = await run_turn(history, provider, invoker or ScriptedInvoker(), Recording(), **limits)
        return outcome, history, provider

    return asyncio.run(whole())


def spoken(history: Conversation) -> list[dict[str, Any]]:
    return [json.loads(message) for message in history.messages]


def result_ids(history: Conversation) -> list[str]:
    return [message["tool_call_id"] for message in spoken(history) if message["role"] == "tool"]


def test_an_answer_without_calls_ends_the_turn() -> None:
    outcome, history, _ = play([ModelAnswer(text="done", finish_reason="stop")])
    assert (outcome.status, outcome.final_text) == ("completed", "done")
    assert spoken(history)[-1] == {"role": "assistant", "content": "done"}


def test_each_request_extends_the_one_before_it_byte_for_byte() -> None:
    _, _, provider = play([calls("read:1"), calls("write:2", "read:3"), ModelAnswer(text="done")])
    for earlier, later in zip(provider.bodies, provider.bodies[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]}"))


@pytest.mark.report("TOOL-02")
def test_results_come_in_the_order_of_the_calls_also_when_reads_finish_otherwise() -> None:
    async def whole() -> None:
        invoker, history = ScriptedInvoker(), conversation()
        invoker.gates["1"] = asyncio.Event()
        provider = ScriptedProvider([calls("read:1", "read:2", "read:3"), ModelAnswer(text="done")])
        turn = asyncio.ensure_future(run_turn(history, provider, invoker, Recording()))
        await invoker.waiting.wait()
        await invoker.has_ended["3"].wait()
        invoker.gates["1"].set()
        await turn
        assert invoker.ended == ["2", "3", "1"]
        assert result_ids(history) == ["1", "2", "3"]

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))


def test_a_read_behind_a_change_waits_for_the_change() -> None:
    async def whole() -> None:
        invoker = ScriptedInvoker()
        invoker.gates["2"] = asyncio.Event()
        provider = ScriptedProvider([calls("read:1", "write:2", "read:3"), ModelAnswer(text="done")])
        turn = asyncio.ensure_future(run_turn(conversation(), provider, invoker, Recording()))
        await invoker.waiting.wait()
        assert invoker.began == ["1", "2"]
        invoker.gates["2"].set()
        await turn
        assert invoker.began == ["1", "2", "3"]

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))


def test_a_cancel_answers_every_open_call_and_keeps_what_was_finished() -> None:
    async def whole() -> None:
        invoker, history = ScriptedInvoker(), conversation()
        invoker.gates["2"] = asyncio.Event()
        provider = ScriptedProvider([calls("read:1", "read:2", "write:3")])
        turn = asyncio.ensure_future(run_turn(history, provider, invoker, Recording()))
        await invoker.waiting.wait()
        turn.cancel()
        outcome = await turn
        assert outcome.status == "cancelled"
        assert result_ids(history) == ["1", "2", "3"]
        contents = [message["content"] for message in spoken(history) if message["role"] == "tool"]
        assert contents[0] == "result of 1"
        assert all(json.loads(content)["error"]["code"] == "cancelled" for content in contents[1:])
        assert "3" not in invoker.began

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))


def test_a_call_that_hands_in_its_result_although_it_was_cancelled_is_the_last_one() -> None:
    class HandingIn(ScriptedInvoker):
        async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
            try:
                return await super().invoke(call)
            except asyncio.CancelledError:
                return ToolResult("what there was", "cancelled")

    async def whole() -> None:
        invoker, history = HandingIn(), conversation()
        invoker.gates["1"] = asyncio.Event()
        provider = ScriptedProvider([calls("write:1", "write:2")])
        turn = asyncio.ensure_future(run_turn(history, provider, invoker, Recording()))
        await invoker.waiting.wait()
        turn.cancel()
        assert (await turn).status == "cancelled"
        assert result_ids(history) == ["1", "2"]
        first, second = [message["content"] for message in spoken(history) if message["role"] == "tool"]
        assert first == "what there was"
        assert json.loads(second)["error"]["code"] == "cancelled"
        assert invoker.began == ["1"]
        assert len(provider.bodies) == 1

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))


def test_a_text_of_spaces_is_no_answer_also_when_it_breaks_off() -> None:
    async def play() -> None:
        talk, provider = conversation(), ScriptedProvider(["\n\n"])
        turn = asyncio.ensure_future(run_turn(talk, provider, ScriptedInvoker(), Recording()))
        await provider.waiting.wait()
        turn.cancel()
        assert (await turn).status == "cancelled"
        assert len(talk) == 2

    asyncio.run(play())


def test_a_cancel_in_mid_answer_keeps_the_text_so_far() -> None:
    async def whole() -> None:
        history, provider = conversation(), ScriptedProvider(["half an ans"])
        turn = asyncio.ensure_future(run_turn(history, provider, ScriptedInvoker(), Recording()))
        await provider.waiting.wait()
        turn.cancel()
        outcome = await turn
        assert (outcome.status, outcome.final_text) == ("cancelled", "half an ans")
        assert spoken(history)[-1] == {"role": "assistant", "content": "half an ans"}

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))


def test_a_provider_fault_ends_the_turn_with_its_problem_and_a_balanced_history() -> None:
    outcome, history, _ = play([calls("read:1"), ProviderError("unreachable", "no server", "start it")])
    assert outcome.status == "failed"
    assert outcome.problem is not None
    assert outcome.problem.code == "unreachable"
    assert not history.open_calls


@pytest.mark.parametrize(
    ("reason", "status", "code"), [("stop", "failed", "empty_answer"), ("length", "limit", "output_limit")]
)
def test_an_empty_answer_is_asked_for_once_more_and_never_kept(reason: str, status: str, code: str) -> None:
    empty = ModelAnswer(finish_reason=reason)
    outcome, history, provider = play([empty, empty])
    assert outcome.problem is not None
    assert (outcome.status, outcome.problem.code) == (status, code)
    assert len(provider.bodies) == 2
    assert spoken(history)[-1]["role"] == "user"
    outcome, _, _ = play([empty, ModelAnswer(text="here")])
    assert outcome.status == "completed"


def test_the_turn_stops_at_its_limit_of_rounds() -> None:
    outcome, history, _ = play([calls(f"read:{n}") for n in range(5)], max_rounds=3)
    assert (outcome.status, outcome.rounds) == ("limit", 3)
    assert outcome.problem is not None
    assert outcome.problem.code == "max_rounds"
    assert not history.open_calls


@pytest.mark.parametrize("arguments", ["", "  ", "null", '{"a": 1]', '"text"', "[1]", "\ud800"])
def test_arguments_in_history_are_always_an_object_that_a_server_can_parse(arguments: str) -> None:
    call = ToolCall(id="1", name="read", arguments=arguments)
    _, history, _ = play([ModelAnswer(tool_calls=(call,)), ModelAnswer(text="done")])
    sent = spoken(history)[2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {}


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"a":[1,],"b":"[,]"}', '{"a":[1],"b":"[,]"}'),
        ('{"a":"x", }', '{"a":"x" }'),
        ('{"a":[1,],}', "{}"),
        ('{"a":[,]}', "{}"),
        ("[1,]", "{}"),
    ],
)
def test_arguments_with_one_trailing_comma_are_kept_without_it(arguments: str, kept: str) -> None:
    call = ToolCall(id="1", name="read", arguments=arguments)
    _, history, _ = play([ModelAnswer(tool_calls=(call,)), ModelAnswer(text="done")])
    assert spoken(history)[2]["tool_calls"][0]["function"]["arguments"] == kept


@pytest.mark.parametrize("name", ["[redacted key]", "read file", "a.b/c", "", "é", "x" * 65])
def test_a_name_that_no_tool_can_have_goes_back_as_one_that_a_server_takes(name: str) -> None:
    call = ToolCall(id="1", name=name, arguments="{}")
    _, history, _ = play([ModelAnswer(tool_calls=(call,)), ModelAnswer(text="done")])
    sent = spoken(history)[2]["tool_calls"][0]["function"]["name"]
    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", sent)
    assert result_ids(history) == ["1"]


@given(
    st.lists(st.lists(st.sampled_from(["read", "write"]), min_size=1, max_size=5), max_size=5),
    st.integers(0, 40),
)
def test_wherever_a_turn_is_cancelled_its_history_is_balanced(rounds: list[list[str]], ticks: int) -> None:
    async def whole() -> None:
        answers: list[Step] = [
            calls(*(f"{name}:{n}.{m}" for m, name in enumerate(names))) for n, names in enumerate(rounds)
        ]
        history = conversation()
        provider = ScriptedProvider([*answers, ModelAnswer(text="done")])
        turn = asyncio.ensure_future(run_turn(history, provider, ScriptedInvoker(), Recording()))
        for _ in range(ticks):
            await asyncio.sleep(0)
        turn.cancel()
        try:
            await turn
        except asyncio.CancelledError:
            assert ticks == 0  # it had not begun
        made = [call["id"] for message in spoken(history) for call in message.get("tool_calls", ())]
        assert result_ids(history) == made

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))


class Knowing(ScriptedInvoker):
    """Knows `read` and `write` alone."""

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        if call.name in ("read", "write"):
            return await super().invoke(call, cut_off=cut_off)
        return ToolResult(failure(UNKNOWN_TOOL, "There is none."), "error", code=UNKNOWN_TOOL)


@pytest.mark.report("TOOL-03")
def test_a_tool_that_is_invented_again_and_again_ends_the_turn_with_a_clear_problem() -> None:
    rounds: list[Step] = [calls(f"search_everything:{n}", f"read:r{n}") for n in range(9)]
    outcome, history, provider = play(rounds, Knowing())
    assert (outcome.status, len(provider.bodies)) == ("failed", MOST_MISSES)
    assert outcome.problem is not None
    assert (outcome.problem.code, "search_everything" in outcome.problem.message) == (UNKNOWN_TOOL, True)
    assert not history.open_calls


@pytest.mark.report("TOOL-03")
def test_a_turn_goes_on_behind_a_few_inventions() -> None:
    rounds: list[Step] = [calls(*(f"{name}:{name}{n}" for name in ("a", "b", "read"))) for n in range(4)]
    outcome, history, _ = play([*rounds, ModelAnswer(text="done")], Knowing())
    assert (outcome.status, outcome.final_text) == ("completed", "done")
    assert len(result_ids(history)) == 12


@pytest.mark.report("PROV-13")
def test_calls_that_are_announced_and_never_made_are_asked_for_once_more_and_then_told() -> None:
    announced = ModelAnswer(finish_reason="tool_calls")
    outcome, history, provider = play([announced] * 9)
    assert (outcome.status, len(provider.bodies)) == ("failed", 2)
    assert outcome.problem is not None
    assert "announced tool calls and made none, twice" in outcome.problem.message
    assert outcome.problem.next_step
    assert spoken(history)[-1]["role"] == "user"


@pytest.mark.report("TOOL-01")
def test_calls_run_in_their_order_also_behind_one_that_waits_for_a_person() -> None:
    async def whole() -> None:
        invoker, history = ScriptedInvoker(), conversation()
        invoker.gates["b"] = asyncio.Event()
        provider = ScriptedProvider([calls("read:a", "write:b", "read:c"), ModelAnswer(text="done")])
        turn = asyncio.ensure_future(run_turn(history, provider, invoker, Recording()))
        await invoker.waiting.wait()
        assert (invoker.began, invoker.ended) == (["a", "b"], ["a"])
        invoker.gates["b"].set()
        assert (await turn).status == "completed"
        assert invoker.ended == result_ids(history) == ["a", "b", "c"]

    asyncio.run(asyncio.wait_for(whole(), DEADLINE_S))
