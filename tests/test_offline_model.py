"""The built-in model: a real turn with the real tools, on workspaces of every kind."""

import asyncio
import http.client
import json
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from actors.calls import ToolResult, argument_object, failure
from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.delegation.fork import fork
from actors.delegation.normalize import normalize
from actors.files.workspace import Workspace
from actors.plan.input import UpdatePlanInput
from actors.plan.rules import check
from actors.plan.rules import normalize as normalize_items
from actors.provider.direct import DirectProvider
from actors.provider.interface import Provider
from actors.provider.offline import OfflineModel
from actors.provider.servers.server import Server
from actors.provider.survey.steps import decide
from actors.provider.survey.turn import read_turn
from actors.settings.tables import Timeouts
from actors.tools.delegate import DelegateInput
from actors.tools.list_files import ListFiles, ListFilesInput
from actors.tools.read_file import ReadFile, ReadFileInput
from actors.tools.ripgrep import Ripgrep, RipgrepInput
from actors.tools.tool import ToolFailure
from actors.turn import TurnOutcome, run_turn
from ipc.messages import ModelAnswer, Plan, StreamEvent, TextDelta, ToolCall
from tests.fakes import chat_rules

HEAD = encode_head("fido-offline", b"[]", {"stream": True})
READS: dict[str, tuple[Any, Any]] = {
    "list_files": (ListFiles, ListFilesInput),
    "read_file": (ReadFile, ReadFileInput),
    "ripgrep": (Ripgrep, RipgrepInput),
}


@dataclass
class Bench:
    """Carries out the model's calls: real read tools, the real plan rules, a real nested turn."""

    root: Path
    provider: Provider
    conversation: Conversation
    denied: Collection[str] = ()
    is_subagent: bool = False
    plans: list[Plan] = field(default_factory=list)
    made: list[ToolCall] = field(default_factory=list)
    children: "list[Bench]" = field(default_factory=list)

    def is_parallel(self, call: ToolCall) -> bool:
        return call.name in READS

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        assert not cut_off
        self.made.append(call)
        if call.name in self.denied:
            return ToolResult(failure("permission_denied", "The user said no."), "denied")
        if call.name == "update_plan":
            return ToolResult(self._plan(argument_object(call)), "ok")
        if call.name == "delegate":
            return ToolResult(await self._delegate(call), "ok")
        return ToolResult(await self._read(call), "ok")

    def on_stream(self, event: StreamEvent) -> None:
        pass

    def on_appended(self, message: bytes) -> None:
        """Every history that is ever sent must be one that a strict server takes."""
        if not self.conversation.open_calls:
            chat_rules.check(chat_rules.parse(self.conversation.body()))

    async def _read(self, call: ToolCall) -> str:
        tool, shape = READS[call.name]
        try:
            given = shape.model_validate(argument_object(call))
            made = tool(Workspace(self.root))
            output: str = (await made.run(given, None)).content
        except ToolFailure as error:
            return failure(error.code, error.message, error.next_step)
        except ValidationError as error:
            raise AssertionError(f"{call}: {error}") from error
        return output

    def _plan(self, given: dict[str, object]) -> str:
        reading = UpdatePlanInput.model_validate(given).reading
        assert not reading.faults
        items = normalize_items(reading.items)
        assert not check(reading.reason, items, self.plans[-1].items if self.plans else ())
        self.plans.append(Plan(reason=reading.reason, items=items, revision=len(self.plans) + 1))
        return msgspec.json.encode(self.plans[-1]).decode()

    async def _delegate(self, call: ToolCall) -> str:
        assert not self.is_subagent
        forked = fork(
            self.conversation, call.id, "subagent-1", DelegateInput.model_validate(argument_object(call))
        )
        child = Bench(
            self.root,
            self.provider,
            Conversation(HEAD, [*forked.base, *forked.opening]),
            ("update_plan", *self.denied),
            is_subagent=True,
        )
        self.children.append(child)
        outcome = await run_turn(child.conversation, self.provider, child, child)
        return normalize("subagent-1", outcome.texts).encoded()


@dataclass(frozen=True)
class Played:
    """What a survey came to."""

    outcome: TurnOutcome
    bench: Bench

    @property
    def report(self) -> str:
        return self.outcome.final_text

    def names(self) -> list[str]:
        return [call.name for call in self.bench.made]


def survey(root: Path, *prompts: str, denied: Collection[str] = ()) -> Played:
    """Play a turn for each prompt over HTTP, as in real life; the last one is given back."""

    async def main() -> Played:
        async with OfflineModel.serve(pace_s=0.0) as server:
            provider = DirectProvider(Server(server.base_url, server.api_key), Timeouts())
            conversation = Conversation(HEAD, [encode_system("You are Fido.")])
            for prompt in prompts or ("Survey this repository",):
                conversation.append(encode_user(prompt))
                bench = Bench(root, provider, conversation, denied)
                outcome = await run_turn(conversation, provider, bench, bench)
            await provider.aclose()
            return Played(outcome, bench)

    return asyncio.run(main())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small project with something of everything."""
    for name, text in {
        ".fido-plan.json": '{"title": "TODO"}\n',
        "README.md": "# Parcel tracker\n\nTracks parcels.\n",
        "pyproject.toml": '[project]\nname = "parcels"\n',
        "src/main.py": 'import os\n\nif __name__ == "__main__":\n    os.system("ls")\n',
        "src/a b/emoji 🐕.py": "def f():\n    # TODO: fetch\n    return 1\n",
        "src/quiet.py": "try:\n    pass\nexcept:\n    pass\n",
        "tests/test_main.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    pass\n",
        "notes.txt": "FIXME later\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_the_report_names_what_is_there_with_file_and_line(repository: Path) -> None:
    played = survey(repository)
    assert played.outcome.status == "completed"
    for place in (
        "README.md:1",
        "src/main.py:3",
        "src/main.py:4",
        "src/a b/emoji 🐕.py:2",
        "notes.txt:1",
        "src/quiet.py:3",
        "tests/test_main.py:1",
    ):
        assert f"`{place}`" in played.report
    assert "Python: 4 files" in played.report
    assert "7 files" in played.report


def test_it_says_that_it_is_no_language_model_and_how_to_set_one(repository: Path) -> None:
    played = survey(repository)
    for text in (played.outcome.texts[0], played.report):
        assert "no language model" in text
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "FIDO_MODEL"):
        assert name in played.report


def test_the_plan_is_kept_at_milestones_and_ends_done_with_evidence(repository: Path) -> None:
    plans = survey(repository).bench.plans
    assert 2 <= len(plans) <= 4
    assert [[item.status for item in plan.items].count("in_progress") for plan in plans] == [1, 1, 1, 0]
    assert all(item.status == "done" and item.evidence for item in plans[-1].items)


def test_one_inspection_is_delegated_and_its_claims_are_read_again(repository: Path) -> None:
    played = survey(repository)
    assert played.names().count("delegate") == 1
    (child,) = played.bench.children
    assert 1 <= len(child.made) <= 2
    assert {call.name for call in child.made} <= {"ripgrep", "list_files"}
    assert "`src/quiet.py:3` every exception is caught" in played.report
    assert "(checked)" in played.report


def test_the_subagent_answers_in_the_result_contract(repository: Path) -> None:
    child = survey(repository).bench.children[0]
    message = msgspec.json.decode(child.conversation.messages[-1])
    result = json.loads(message["content"])
    assert set(result) == {
        *("status", "summary", "findings", "recommended_next_steps", "tests_to_run", "uncertainties"),
    }
    assert result["status"] == "completed"
    assert {"file", "line", "claim", "confidence"} == set(result["findings"][0])


def test_reads_go_out_side_by_side(repository: Path) -> None:
    conversation = survey(repository).bench.conversation
    batches = [msgspec.json.decode(m).get("tool_calls") or [] for m in conversation.messages]
    assert any(sum(c["function"]["name"] == "read_file" for c in batch) >= 2 for batch in batches)


def test_an_empty_folder_is_surveyed(tmp_path: Path) -> None:
    played = survey(tmp_path)
    assert played.outcome.status == "completed"
    assert "no file here" in played.report
    assert all(item.status == "done" for item in played.bench.plans[-1].items)
    assert not played.bench.children


def test_the_plan_file_is_no_part_of_the_survey(tmp_path: Path) -> None:
    (tmp_path / ".fido-plan.json").write_text('{"reason": "TODO"}', encoding="utf-8")
    assert "no file here" in survey(tmp_path).report


def test_a_tree_too_large_to_list_still_has_its_languages_and_sizes(tmp_path: Path) -> None:
    for number in range(700):
        (tmp_path / f"f{number:04}.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "z.go").write_text("func main() {}\n", encoding="utf-8")
    report = survey(tmp_path).report
    assert "701 files" in report
    assert "Python: 700 files, 4.2 KB" in report
    assert "Go: 1 file, 15 bytes" in report
    assert "`z.go:1`" in report


def test_a_second_prompt_looks_for_what_it_names(repository: Path) -> None:
    played = survey(repository, "Survey this", "Where do you fetch parcels?")
    assert "What you named: fetch, parcels" in played.report
    assert "`pyproject.toml:2`" in played.report
    assert len(played.bench.plans) <= 4


@pytest.mark.parametrize("tool", ["update_plan", "list_files", "read_file", "ripgrep", "delegate"])
def test_a_denied_tool_is_told_and_the_survey_goes_on(repository: Path, tool: str) -> None:
    played = survey(repository, denied=(tool,))
    assert played.outcome.status == "completed"
    assert "What did not work" in played.report
    assert f"`{tool}`: The user said no." in played.report
    assert len({call.name for call in played.bench.made}) >= 4


def test_everything_denied_still_ends_in_an_answer(repository: Path) -> None:
    played = survey(repository, denied=(*READS, "update_plan", "delegate"))
    assert played.outcome.status == "completed"
    assert "could not be listed" in played.report


def test_the_same_request_gets_the_same_answer(repository: Path) -> None:
    first, second = survey(repository), survey(repository)
    assert first.report == second.report
    assert first.bench.conversation.messages == second.bench.conversation.messages


NAMES = st.sampled_from(["list_files", "read_file", "ripgrep", "update_plan", "delegate", "other"])
CONTENT = st.text(max_size=40) | st.sampled_from(
    [
        '{"error":{"message":"no"}}',
        '{"error":null}',
        '{"type":"delegate_result","findings":[{"file":"a","line":1}]}',
        "3 files, 10 bytes\n10 a.py\n[2 more files; narrow]",
        '"a\\u2028.py":3: x\na.py:x: y\na:1:',
        "1\tx\n[lines 1-1 of 1]",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.tuples(NAMES, st.text(max_size=20), CONTENT), min_size=1, max_size=4), max_size=6)
)
def test_no_history_breaks_it(rounds: list[list[tuple[str, str, str]]]) -> None:
    messages: list[Any] = [{"role": "system", "content": "s"}, {"role": "user", "content": "hello parcels"}]
    for number, calls in enumerate(rounds):
        made = [
            {"id": f"c{number}_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments, _) in enumerate(calls)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": made})
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": content}
            for call, (_, _, content) in zip(made, calls, strict=True)
        ]
    reply = decide(read_turn(json.dumps({"messages": messages}).encode()))
    assert reply.text or reply.calls
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    assert len(rounds) < 5 or not reply.calls


# --- the server ---------------------------------------------------------------------------------------------


def ask(base_url: str, *, key: str, path: str = "/v1/chat/completions", sent: bytes = b"{}") -> int:
    host, port = base_url.removeprefix("http://").removesuffix("/v1").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request("POST", path, sent, {"Authorization": f"Bearer {key}"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_only_who_has_the_key_is_answered() -> None:
    async def main() -> list[int]:
        async with OfflineModel.serve() as server:
            key = server.api_key
            return [
                await asyncio.to_thread(ask, server.base_url, key="guess"),
                await asyncio.to_thread(ask, server.base_url, key=key, path="/v1/models"),
                await asyncio.to_thread(ask, server.base_url, key=key, sent=b"{broken"),
            ]

    assert asyncio.run(main()) == [401, 404, 400]


def test_the_server_is_reached_from_this_machine_only_and_ends_with_its_context() -> None:
    async def main() -> str:
        async with OfflineModel.serve() as server:
            assert server.base_url.startswith("http://127.0.0.1:")
        return server.base_url

    base_url = asyncio.run(main())
    with pytest.raises(ConnectionRefusedError):
        ask(base_url, key="x")


def test_text_comes_in_pieces_at_a_pace_and_with_an_estimate_of_usage(tmp_path: Path) -> None:
    async def main() -> tuple[list[StreamEvent], float]:
        async with OfflineModel.serve(pace_s=0.005) as server:
            provider = DirectProvider(Server(server.base_url, server.api_key), Timeouts())
            conversation = Conversation(HEAD, [encode_system("s"), encode_user("x" * 4000)])
            started = time.monotonic()
            events = [event async for event in provider.stream(conversation)]
            await provider.aclose()
            return events, time.monotonic() - started

    events, took = asyncio.run(main())
    answer = events[-1]
    assert isinstance(answer, ModelAnswer)
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 5
    assert "".join(pieces) == answer.text
    assert answer.usage
    assert 1000 < answer.usage.prompt_tokens < 1100
    assert answer.usage.completion_tokens > 20
    assert took >= 0.005 * (len(pieces) - 1)
