"""Answers that reach the output limit, from a real server: told as cut, never taken for whole."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.provider.direct import DirectProvider
from actors.provider.servers.server import Server
from actors.provider.wires.chat import ChatWire
from actors.settings.tables import Timeouts
from actors.turn import OUT_OF_OUTPUT, TurnOutcome, run_turn
from tests.fakes.fido import Run, home, openai_environment
from tests.fakes.models import Recording, ScriptedInvoker
from tests.fakes.scripted_server import ScriptedServer, call, say


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made
        made.assert_done()


def play(server: ScriptedServer) -> tuple[TurnOutcome, Conversation]:
    head = encode_head("m", b"[]", {"stream": True})
    conversation = Conversation(head, [encode_system("s"), encode_user("go")])

    async def main() -> TurnOutcome:
        provider = DirectProvider(Server(server.base_url), Timeouts(), wire=ChatWire(64))
        try:
            return await run_turn(conversation, provider, ScriptedInvoker(), Recording())
        finally:
            await provider.aclose()

    return asyncio.run(main()), conversation


THOUGHT = say(reasoning="on and on", finish_reason="length")


@pytest.mark.report("PROV-17")
def test_an_answer_of_reasoning_alone_is_gone_on_with_once(server: ScriptedServer) -> None:
    server.add(THOUGHT, say("Here it is."))
    outcome, conversation = play(server)
    assert (outcome.status, outcome.final_text) == ("completed", "Here it is.")
    first, second = server.requests
    assert second.extends(first)
    assert second.messages[-1] == {"role": "user", "content": OUT_OF_OUTPUT}
    assert OUT_OF_OUTPUT.encode() not in b"".join(conversation.messages)
    assert first.data["max_tokens"] == 64


@pytest.mark.report("PROV-17")
def test_reasoning_that_uses_up_the_limit_twice_is_told_with_what_to_do(server: ScriptedServer) -> None:
    server.add(call("read", {}, id="c1"), THOUGHT, THOUGHT)
    outcome, conversation = play(server)
    assert outcome.problem is not None
    assert (outcome.status, outcome.problem.code) == ("limit", "output_limit")
    assert "max_output_tokens" in outcome.problem.next_step
    assert b'"role":"tool"' in conversation.messages[-1]


@pytest.mark.report("PROV-17")
def test_reasoning_that_merely_stops_is_asked_again_as_it_was(server: ScriptedServer) -> None:
    server.add(say(reasoning="hm", finish_reason="stop"), say(reasoning="hm", finish_reason="stop"))
    outcome, _ = play(server)
    assert outcome.problem is not None
    assert (outcome.status, outcome.problem.code) == ("failed", "empty_answer")
    assert server.requests[0].body == server.requests[1].body


def test_a_text_that_is_cut_off_is_kept_and_told_as_cut(server: ScriptedServer) -> None:
    server.add(say("Half of i", finish_reason="length"))
    outcome, conversation = play(server)
    assert outcome.problem is not None
    assert (outcome.status, outcome.problem.code) == ("limit", "output_limit")
    assert outcome.final_text == "Half of i"
    assert b"Half of i" in conversation.messages[-1]


@pytest.mark.report("PROV-17")
def test_a_run_that_reached_the_output_limit_has_its_status(tmp_path: Path, server: ScriptedServer) -> None:
    server.add(THOUGHT, THOUGHT)
    with home() as at:
        done = Run(at, tmp_path, "go", **openai_environment(server.base_url)).finish()
    assert done.status == 3, done
    assert "output limit" in done.err
    assert "max_output_tokens" in done.err
