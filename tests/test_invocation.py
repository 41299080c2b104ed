"""The invocation guard: from a call as a model makes it to exactly one result."""

import asyncio
import contextlib
import json
import threading
from typing import ClassVar

import pytest
from pydantic import Field, ValidationInfo, model_validator

from actors.calls import ToolResult
from actors.invocation import COMMA_IGNORED, AnyTool, InvocationGuard, Refusal
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput
from ipc.messages import ToolCall


class EchoInput(ToolInput):
    text: str = Field(max_length=10)
    times: int = 1


class LenientInput(ToolInput):
    takes_mended: ClassVar[bool] = True
    text: str
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _noted(cls, given: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        return {**given, "note": " ".join(info.context)} if info.context else given


class Lenient:
    """Tells how its input was read."""

    name: ClassVar[str] = "lenient"
    effect: ClassVar[Effect] = "read"
    input: ClassVar[type[LenientInput]] = LenientInput

    def summary(self, given: LenientInput) -> str:
        return given.text

    async def run(self, given: LenientInput, invocation: Invocation) -> ToolOutput:
        return ToolOutput(f"{given.text} {given.note}")


class Echo:
    """Repeats a text; fails, crashes or waits where told."""

    name: ClassVar[str] = "echo"
    effect: ClassVar[Effect] = "read"
    input: ClassVar[type[EchoInput]] = EchoInput

    def __init__(self) -> None:
        self.waiting = asyncio.Event()

    def summary(self, given: EchoInput) -> str:
        return given.text

    async def run(self, given: EchoInput, invocation: Invocation) -> ToolOutput:
        match given.text:
            case "fail":
                raise ToolFailure("no_echo", "There is no echo.", "Shout.")
            case "crash":
                raise KeyError("planted")
            case "wait":
                self.waiting.set()
                await asyncio.Event().wait()
            case "keep":
                self.waiting.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
            case "exit 1":
                return ToolOutput("it failed", ok=False)
        return ToolOutput(given.text * given.times)


class Gate:
    """Refuses the text `forbidden`."""

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> Refusal | None:
        if isinstance(given, EchoInput) and given.text == "forbidden":
            return Refusal("permission_denied", "Not allowed.", "Ask.")
        return None


class Watcher:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.results: list[ToolResult] = []

    def call_started(self, call: ToolCall, summary: str) -> None:
        self.told.append(("started", call.id))

    def call_finished(self, call: ToolCall, result: ToolResult) -> None:
        self.told.append((result.status, call.id))
        self.results.append(result)


def invoke(arguments: str, name: str = "echo", *, cut_off: bool = False) -> tuple[ToolResult, Watcher]:
    watcher = Watcher()

    async def whole() -> ToolResult:
        guard = InvocationGuard({"echo": Echo(), "lenient": Lenient()}, Gate(), watcher)
        return await guard.invoke(ToolCall(id="1", name=name, arguments=arguments), cut_off=cut_off)

    return asyncio.run(whole()), watcher


def error(result: ToolResult) -> dict[str, str]:
    told: dict[str, str] = json.loads(result.content)["error"]
    return told


def test_a_good_call_has_its_output_as_result() -> None:
    result, watcher = invoke('{"text": "ab", "times": 2}')
    assert (result.content, result.status) == ("abab", "ok")
    assert watcher.told == [("started", "1"), ("ok", "1")]


def test_work_that_fails_is_an_error_with_its_output() -> None:
    result, _ = invoke('{"text": "exit 1"}')
    assert (result.content, result.status) == ("it failed", "error")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        ('{"text": "fail"}', "error", "no_echo"),
        ('{"text": "crash"}', "error", "tool_crashed"),
        ('{"text": "forbidden"}', "denied", "permission_denied"),
        ('{"text": "ab"]', "error", "bad_arguments"),
        ('{"text": "ab", "tmies": 2}', "error", "bad_arguments"),
        ('{"text": "much too long a text"}', "error", "bad_arguments"),
        ("", "error", "bad_arguments"),
        ("[1]", "error", "bad_arguments"),
    ],
)
def test_whatever_goes_wrong_is_a_result_with_a_stable_code(arguments: str, status: str, code: str) -> None:
    result, watcher = invoke(arguments)
    assert (result.status, error(result)["code"]) == (status, code)
    assert watcher.told == [("started", "1"), (status, "1")]


def test_all_faults_of_an_input_are_told_with_place_and_value() -> None:
    message = error(invoke('{"times": "three", "tmies": 2}')[0])["message"]
    assert "text: Field required" in message
    assert "times: " in message
    assert "'three'" in message
    assert "tmies: Extra inputs" in message


def test_broken_json_is_told_with_its_position_and_what_was_received() -> None:
    message = error(invoke('{"text": "ab"]')[0])["message"]
    assert "byte 13" in message
    assert '{"text": "ab"]' in message


def test_a_tool_that_takes_it_gets_arguments_without_their_one_trailing_comma_and_a_note() -> None:
    result, _ = invoke('{"text": "a,]",}', "lenient")
    assert (result.status, result.content) == ("ok", f"a,] {COMMA_IGNORED}")
    assert invoke('{"text": "a"}', "lenient")[0].content == "a "


@pytest.mark.parametrize("arguments", ['{"text": "a",,}', '{"text": ["a",],}', "{,}", '{"text": "a",}]'])
def test_what_is_broken_otherwise_is_told_with_the_place_in_what_was_sent(arguments: str) -> None:
    told = error(invoke(arguments, "lenient")[0])
    assert told["code"] == "bad_arguments"
    assert "byte " in told["message"]
    assert arguments in told["message"]


def test_every_other_tool_refuses_a_trailing_comma_since_what_stood_behind_it_may_be_lost() -> None:
    told = error(invoke('{"text": "ab",}')[0])
    assert told["code"] == "bad_arguments"
    assert "byte 14" in told["message"]


def test_arguments_that_were_cut_off_are_never_mended() -> None:
    told = error(invoke('{"text": "ab",}', "lenient", cut_off=True)[0])
    assert told["code"] == "arguments_cut_off"


def test_arguments_cut_off_at_the_output_limit_are_never_run_and_said_to_be() -> None:
    told = error(invoke('{"text": "a', cut_off=True)[0])
    assert told["code"] == "arguments_cut_off"
    assert "smaller" in told["next_step"]


@pytest.mark.report("PROV-05")
@pytest.mark.parametrize("cut_off", [True, False])
@pytest.mark.parametrize(
    "arguments", ['{"text": "a', '{"text": "a"', '{"te', "{", '{"text": "a\\', '{"text": "a",']
)
def test_arguments_that_stop_before_their_end_are_never_run_whatever_the_server_says(
    arguments: str, cut_off: bool
) -> None:
    for tool in ("echo", "lenient"):
        result, watcher = invoke(arguments, tool, cut_off=cut_off)
        assert (result.code, watcher.told) == ("arguments_cut_off", [("started", "1"), ("error", "1")])
        assert "smaller pieces" in error(result)["next_step"]


@pytest.mark.report("TOOL-03")
def test_an_unknown_tool_is_answered_with_the_nearest_and_all_names() -> None:
    told = error(invoke("{}", name="ehco")[0])
    assert told["code"] == "unknown_tool"
    assert "Did you mean echo?" in told["next_step"]
    assert "There are: echo, lenient." in told["next_step"]
    assert len(error(invoke("{}", name="x" * 100_000)[0])["message"]) < 1000


def test_a_cancelled_call_is_told_to_the_watcher_and_raised() -> None:
    async def whole() -> None:
        watcher, echo = Watcher(), Echo()
        guard = InvocationGuard({"echo": echo}, Gate(), watcher)
        task = asyncio.ensure_future(
            guard.invoke(ToolCall(id="1", name="echo", arguments='{"text": "wait"}'))
        )
        await echo.waiting.wait()
        await asyncio.to_thread(threading.Event().wait, 0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert watcher.told == [("started", "1"), ("cancelled", "1")]
        assert watcher.results[0].duration_ms >= 1

    asyncio.run(whole())


def test_a_call_that_hands_in_its_result_although_it_was_cancelled_counts_as_cancelled() -> None:
    async def whole() -> None:
        echo, watcher = Echo(), Watcher()
        guard = InvocationGuard({"echo": echo}, Gate(), watcher)
        running = asyncio.ensure_future(
            guard.invoke(ToolCall(id="1", name="echo", arguments='{"text": "keep"}'))
        )
        await echo.waiting.wait()
        running.cancel()
        result = await running
        assert (result.content, result.status) == ("keep", "cancelled")
        assert watcher.told == [("started", "1"), ("cancelled", "1")]

    asyncio.run(whole())
