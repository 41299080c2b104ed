"""Whatever a turn on a real server fails of: the status and the one object that a run of it ends with."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.headless import EXIT_STATUS
from actors.headless_output import printer_for
from actors.provider.direct import DirectProvider
from actors.provider.servers.server import Server
from actors.provider.wires.chat import ChatWire
from actors.settings.tables import Timeouts
from actors.turn import TurnOutcome, run_turn
from ipc.messages import TurnFinished
from tests.fakes.chat_script import Step, say, status
from tests.fakes.models import Recording, ScriptedInvoker
from tests.fakes.scripted_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made
        made.assert_done()


def a_conversation() -> Conversation:
    return Conversation(encode_head("m", b"[]", {"stream": True}), [encode_system("s"), encode_user("go")])


def play(server: ScriptedServer, conversation: Conversation) -> TurnOutcome:
    async def main() -> TurnOutcome:
        provider = DirectProvider(Server(server.base_url), Timeouts(), wire=ChatWire(64))
        try:
            return await run_turn(conversation, provider, ScriptedInvoker(), Recording())
        finally:
            await provider.aclose()

    return asyncio.run(main())


def printed(outcome: TurnOutcome) -> dict[str, Any]:
    out = bytearray()
    end = TurnFinished(turn=1, status=outcome.status, final_text=outcome.final_text, problem=outcome.problem)
    printer_for("json", out.extend, bytearray().extend, progress=False).finish(end)
    (line,) = out.decode().splitlines()
    told: dict[str, Any] = json.loads(line)
    return told


@pytest.mark.report("HEAD-01")
@pytest.mark.parametrize(
    ("steps", "expected", "code", "text"),
    [
        ([status(404, body={"error": {"message": "no such model", "code": "model_not_found"}})],
         1, "model_not_found", ""),
        ([status(401)], 1, "unauthorized", ""),
        ([say("half an ans", finish_reason="length")], 3, "output_limit", "half an ans"),
        ([say("half an ans", finish_reason="content_filter")], 1, "content_filter", "half an ans"),
        ([say("")] * 2, 1, "empty_answer", ""),
    ],
)  # fmt: skip
def test_whatever_a_turn_fails_of_a_run_has_its_status_and_one_object(
    server: ScriptedServer, steps: list[Step], expected: int, code: str, text: str
) -> None:
    server.add(*steps)
    outcome = play(server, a_conversation())
    told = printed(outcome)
    assert (EXIT_STATUS[outcome.status], told["error"]["code"]) == (expected, code)
    assert (told["type"], told["final_text"]) == ("turn_finished", text)
    assert told["error"]["next_step"]


@pytest.mark.report("PROV-07", "PROV-13")
@pytest.mark.parametrize(
    "nothing",
    [say(""), say("", reasoning="Let me think."), say(" \n"), say("", finish_reason="tool_calls")],
    ids=["empty", "reasoning", "blank", "calls announced"],
)
def test_an_answer_of_nothing_is_asked_for_once_more_and_never_sent_back_whatever_it_is(
    server: ScriptedServer, nothing: Step
) -> None:
    server.add(nothing, nothing, say("Here I am."))
    conversation = a_conversation()
    outcome = play(server, conversation)
    assert outcome.problem is not None
    assert (outcome.status, outcome.final_text, len(server.requests)) == ("failed", "", 2)
    assert "twice" in outcome.problem.message
    conversation.append(encode_user("again"))
    assert play(server, conversation).final_text == "Here I am."
    assert [message["role"] for message in server.requests[-1].messages] == ["system", "user", "user"]
    assert server.requests[-1].extends(server.requests[0])
