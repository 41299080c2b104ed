"""How answers end: which are whole, which are at a limit, and which never are what the model meant to say."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from actors.provider.answers.endings import ending_of
from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.wires.chat import ChatWire
from actors.provider.wires.responses import ResponsesWire
from actors.provider.wires.wire import Wire
from ipc.messages import Level, ModelAnswer, RetryScheduled, TextDelta
from tests.fakes.apis import CHAT, RESPONSES
from tests.fakes.asking import conversation, fail, play, run
from tests.fakes.chat_script import Raw, Step, call, chunks, gate, say, sse, status
from tests.fakes.fido import Home, Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer

LIMITS = ("length", "max_tokens", "MAX_TOKENS", "model_length")
DONE = b"data: [DONE]\n\n"
WITHHELD = ("content_filter", "content-filter", "SAFETY", "sensitive", "RECITATION")
BROKEN = ("error", "insufficient_system_resource", "abort", "network_error", "MALFORMED_FUNCTION_CALL")


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


@pytest.mark.parametrize("reason", LIMITS)
def test_a_limit_is_told_by_one_name_whatever_the_server_calls_it(
    server: ScriptedServer, reason: str
) -> None:
    server.add(call("rm", '{"path": "a', finish_reason=reason))
    answer = run(server.base_url)[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.finish_reason == "length"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        *((reason, "content_filter") for reason in WITHHELD),
        *((reason, "incomplete") for reason in BROKEN),
        (None, "incomplete"),
    ],
)
@pytest.mark.report("PROV-11")
def test_an_answer_that_is_not_at_its_end_is_no_answer(
    server: ScriptedServer, reason: str | None, code: str
) -> None:
    server.add(call("rm", {"path": "a"}, text="I remove", finish_reason=reason))
    error = fail(server.base_url)
    assert (error.code, len(server.requests)) == (code, 1)
    assert repr(reason) in error.message or reason is None
    assert "nothing of this answer was carried out" in error.next_step


@pytest.mark.parametrize("reason", [None, "error"])
def test_an_answer_that_broke_off_before_anything_was_shown_is_asked_for_once_more(
    server: ScriptedServer, reason: str | None
) -> None:
    server.add(call("rm", {"path": "a"}, finish_reason=reason), say("Hello"))
    *before, answer = run(server.base_url)
    assert any(isinstance(event, RetryScheduled) for event in before)
    assert isinstance(answer, ModelAnswer)
    assert (answer.text, answer.tool_calls) == ("Hello", ())


def test_an_answer_that_is_withheld_is_not_asked_for_again(server: ScriptedServer) -> None:
    server.add(say("", finish_reason="content_filter"))
    assert fail(server.base_url).code == "content_filter"
    assert len(server.requests) == 1


def test_a_finish_reason_that_nobody_knows_is_told_once_and_the_answer_stands(
    server: ScriptedServer,
) -> None:
    told: list[tuple[Level, str]] = []
    server.add(*[say("Hello", finish_reason="novel")] * 2)
    events = run(server.base_url, turns=2, tell=lambda level, text: told.append((level, text)))
    assert isinstance(events[-1], ModelAnswer)
    assert events[-1].text == "Hello"
    ((level, text),) = told
    assert (level, "'novel'" in text) == ("warning", True)
    assert ending_of("novel") is None


def incomplete(told: str | None, reason: str) -> Step:
    response = {"status": told, "incomplete_details": {"reason": reason}}
    said = {"type": "response.output_text.delta", "output_index": 0, "delta": "Half"}
    return chunks(said, {"type": "response.incomplete", "response": response})


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: call("rm", {}, text="I remove", finish_reason="content_filter"), "content_filter"),
        (lambda: incomplete(None, "content_filter"), "content_filter"),
        (lambda: chunks({"type": "response.output_text.delta", "delta": "Half"}, DONE), "incomplete"),
    ],
)  # fmt: skip
@pytest.mark.report("PROV-11")
def test_the_responses_api_ends_its_answers_by_the_same_table(make: Callable[[], Step], code: str) -> None:
    with ScriptedServer([make()], api=RESPONSES) as server:
        assert fail(server.base_url, wire=ResponsesWire()).code == code
        assert len(server.requests) == 1


def test_an_incomplete_response_is_at_its_limit_also_where_only_the_event_says_so() -> None:
    with ScriptedServer([incomplete(None, "max_output_tokens")], api=RESPONSES) as server:
        answer = run(server.base_url, wire=ResponsesWire())[-1]
    assert isinstance(answer, ModelAnswer)
    assert (answer.text, answer.finish_reason) == ("Half", "length")


@pytest.mark.parametrize(
    ("reason", "exit_status", "code"),
    [
        (None, 1, "incomplete"),
        ("error", 1, "incomplete"),
        ("content_filter", 1, "content_filter"),
        ("MAX_TOKENS", 3, "output_limit"),
    ],
)
@pytest.mark.report("PROV-11", "HEAD-01")
def test_a_run_whose_answer_is_not_whole_says_so_and_keeps_the_text(
    at: Home, tmp_path: Path, server: ScriptedServer, reason: str | None, exit_status: int, code: str
) -> None:
    server.add(say("half an ans", finish_reason=reason))
    done = Run(at, tmp_path, "go", "--output-format", "json", **openai_environment(server.base_url)).finish()
    told = json.loads(done.out)
    assert (done.status, told["error"]["code"], told["final_text"]) == (exit_status, code, "half an ans")


@pytest.mark.parametrize("reason", [None, "content_filter"])
@pytest.mark.report("PROV-11")
def test_a_call_of_an_answer_that_is_not_whole_is_not_run(
    at: Home, tmp_path: Path, server: ScriptedServer, reason: str | None
) -> None:
    (tmp_path / "a.txt").write_text("kept", encoding="utf-8")
    server.add(call("rm", {"path": "a.txt"}, text="I remove it.", finish_reason=reason))
    done = Run(at, tmp_path, "go", "--mode", "yolo", **openai_environment(server.base_url)).finish()
    assert done.status == 1
    assert (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("wire", [ChatWire, ResponsesWire])
def test_a_refusal_is_shown_and_told_as_one(wire: Callable[[], Wire]) -> None:
    told: list[tuple[Level, str]] = []
    if wire is ChatWire:
        pieces = [{"choices": [{"delta": {"refusal": text}}]} for text in ("I can", "not.")]
        step = chunks(*pieces, {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    else:
        said = [{"type": "response.refusal.delta", "delta": text} for text in ("I can", "not.")]
        step = chunks(*said, {"type": "response.completed", "response": {"status": "completed"}})
    with ScriptedServer([step], api=RESPONSES if wire is ResponsesWire else CHAT) as server:
        events = run(server.base_url, wire=wire(), tell=lambda level, text: told.append((level, text)))
    assert isinstance(events[-1], ModelAnswer)
    assert events[-1].text == "".join(one.text for one in events if isinstance(one, TextDelta)) == "I cannot."
    ((level, text),) = told
    assert (level, "refused" in text) == ("warning", True)


# --- errors in a body of status 200


def body(text: str, kind: str = "text/event-stream") -> Step:
    return Step(status=201, headers={"Content-Type": kind}, body=text.encode())


ERROR = '{"error": {"message": "The disk is full.", "code": 400}}'
WHOLE = '{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}'
EVENTS = 'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json", ""])
@pytest.mark.parametrize(
    "text", [WHOLE, EVENTS, f"\n {WHOLE}", f"\n{EVENTS}", f"\ufeff{EVENTS}", f"\ufeff{WHOLE}"]
)
def test_a_body_is_what_it_begins_with_whatever_it_is_called(
    server: ScriptedServer, kind: str, text: str
) -> None:
    server.add(body(text, kind))
    answer = run(server.base_url)[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "Hello"


@pytest.mark.parametrize("wire", [ChatWire, ResponsesWire])
@pytest.mark.parametrize(
    "text",
    [
        ERROR,
        f"[{ERROR}]",
        f"data: {ERROR}\n\n",
        f"data: [{ERROR}]\n\ndata: [DONE]\n\n",
        '{"detail": "The disk is full.", "code": 400}',
        '{"code": 400, "message": "The disk is full."}',
        'data: {"object": "error", "message": "The disk is full.", "code": 400}\n\ndata: [DONE]\n\n',
        'event: error\ndata: {"message": "The disk is full.", "code": 400}\n\n',
        'data: {"type": "error", "message": "The disk is full.", "code": 400}\n\n',
        '{"base_resp": {"status_code": 400, "status_msg": "The disk is full."}, "choices": null}',
    ],
)
def test_what_a_server_says_is_told_wherever_it_says_it(text: str, wire: Callable[[], Wire]) -> None:
    if "choices" in text and wire is ResponsesWire:
        return
    with ScriptedServer([body(text)], api=RESPONSES if wire is ResponsesWire else CHAT) as server:
        error = fail(server.base_url, wire=wire())
    assert "The disk is full." in error.message


@pytest.mark.parametrize(
    ("told", "again"),
    [
        ({"message": "overloaded", "code": 529}, True),
        ({"message": "slow down", "code": 429}, True),
        ({"message": "The engine died."}, True),
        ({"message": "no quota", "code": "insufficient_quota", "status": 429}, False),
        ({"message": "no such thing", "code": 400}, False),
        ({"message": "bad key", "code": 401}, False),
    ],
)
def test_a_busy_server_is_asked_again_also_when_it_says_so_in_its_answer(
    server: ScriptedServer, told: dict[str, object], again: bool
) -> None:
    thought = {"choices": [{"delta": {"role": "assistant", "reasoning": "Hm."}}]}
    server.add(*[chunks(thought, {"error": told})] * (3 if again else 1), *[say("Hello")] * again)
    if again:
        answer = run(server.base_url)[-1]
        assert isinstance(answer, ModelAnswer)
        assert answer.text == "Hello"
    else:
        fail(server.base_url)
    server.assert_done()


def test_a_busy_server_is_not_asked_again_behind_shown_text(server: ScriptedServer) -> None:
    error = Raw(sse({"error": {"message": "busy", "code": 529}}))
    server.add(replace(say(["He", gate("shown"), error]), finish_reason=None))

    async def work(provider: DirectProvider) -> None:
        async for event in provider.stream(conversation()):
            assert event == TextDelta(text="He")
            server.open("shown")

    with pytest.raises(ProviderError, match="busy"):
        play(work, server.base_url)
    assert len(server.requests) == 1


@pytest.mark.report("PROV-15")
def test_a_wait_that_is_too_long_is_told(server: ScriptedServer) -> None:
    server.add(status(429, {"Retry-After": "3600"}))
    assert "wait 1 hour" in fail(server.base_url).next_step


@pytest.mark.parametrize(
    ("code", "message", "expected", "advice"),
    [
        (402, "Insufficient Balance", "no_credit", "Top up"),
        (404, "No endpoints found that support tool use.", "model_not_found", "tool calls"),
        (404, "No endpoints found matching your data policy", "model_not_found", "Choose another"),
        (404, "The API deployment for this resource does not exist.", "model_not_found", "Choose another"),
    ],
)
def test_a_refusal_says_what_helps(
    server: ScriptedServer, code: int, message: str, expected: str, advice: str
) -> None:
    server.add(status(code, body={"error": {"message": message, "code": "DeploymentNotFound"}}))
    error = fail(server.base_url)
    assert (error.code, len(server.requests)) == (expected, 1)
    assert message in error.message
    assert advice in error.next_step
