"""The real program with a real model server, llama.cpp's, offline.

The model is far too small to be clever: what is judged is the protocol, not the answers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tests.fakes.chat_script import Step, call, say
from tests.fakes.fido import GUARD, Finished, Home, Run, home, wait_until
from tests.fakes.scripted_server import Request, ScriptedServer
from tests.fakes.terminal import ENTER, ESC, TerminalProgram
from tests.interop.llama_server import ALIAS
from tests.interop.serving import CONTEXT, Llama, llama

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]
TURN_S = 400.0
FOLDERS = ("src", "docs", "tests", "lib", "ui")
PROMPTS = [
    f"List the files in {FOLDERS[n % 5]}." if n % 3 else f"Say the word number {n}." for n in range(30)
]
SETTINGS = (
    'model = "{model}"\nmode = "plan"\nmax_output_tokens = {limit}\n{more}\n[timeouts]\nidle_s = 300.0\n'
)


@pytest.fixture(scope="module")
def server() -> Iterator[Llama]:
    with llama() as started:
        yield started


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        set_up(made)
        yield made


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: its path is in the system message, which the server then computes once."""
    folder = tmp_path_factory.mktemp("workspace")
    for name in FOLDERS:
        (folder / name).mkdir()
        (folder / name / f"{name}.py").write_text("pass\n", encoding="utf-8")
    return folder


def set_up(at: Home, limit: int = 32, more: str = "") -> None:
    folder = at.folder / "config" / "fido"
    folder.mkdir(exist_ok=True)
    text = SETTINGS.format(model=ALIAS, limit=limit, more=more)
    (folder / "config.toml").write_text(text, encoding="utf-8")


def turn(at: Home, workspace: Path, base_url: str, prompt: str) -> Finished:
    """One turn of session s-1."""
    options = [
        "--session",
        "s-1",
        "--output-format",
        "stream-json",
        "--max-turns",
        "3",
        "--base-url",
        base_url,
    ]
    done = Run(at, workspace, *options, prompt).finish(TURN_S)
    (finished,) = done.events("turn_finished")
    assert (finished["status"], done.status) in {("completed", 0), ("limit", 3)}, finished
    if finished["status"] == "limit":
        assert finished["error"]["code"] in {"output_limit", "max_rounds"}, done
    text = "".join(event["delta"] for event in done.events("text"))
    assert text.endswith(finished["final_text"]), done
    return done


def lists_files(request: Request) -> Step:
    """What a model should do: list the folder that is named, then tell."""
    last = request.messages[-1]
    named = re.match(r"List the files in (\w+)\.", str(last["content"]))
    if last["role"] == "user" and named:
        return call("list_files", {"path": named[1]})
    return say(f"There you are: {str(last['content'])[:20]}")


def shown(at: Home, workspace: Path, prompts: list[str]) -> list[Request]:
    """The session's turns with a scripted server, which shows the model how tools are called."""
    with ScriptedServer(otherwise=lists_files) as scripted:
        for prompt in prompts:
            done = turn(at, workspace, scripted.base_url, prompt)
            assert done.status == 0, done
        scripted.assert_done()
        return scripted.requests


def calls_of(done: Finished) -> list[str]:
    return [event["name"] for event in done.events("tool_finished")]


def test_thirty_turns_go_the_same_way_with_the_scripted_and_with_the_real_server(
    at: Home, workspace: Path, server: Llama
) -> None:
    first, *others = shown(at, workspace, PROMPTS)
    for earlier, later in zip([first, *others], others, strict=False):
        assert later.extends(earlier)
    with home() as other:
        set_up(other)
        shown(other, workspace, PROMPTS[1:3] * 2)
        played = [turn(other, workspace, server.base_url, prompt) for prompt in PROMPTS]
    assert sum(len(done.events("text")) for done in played) > 2 * len(played), "answers are not streamed"
    assert "list_files" in {name for done in played for name in calls_of(done)}, "no tool was called"
    usage = [done.events("usage")[-1] for done in played]
    assert all(each["prompt_tokens"] > 1_000 and each["completion_tokens"] for each in usage), usage
    # The server has the beginning of a request from the one before: also each start sends the same bytes.
    shares = [each["cached_tokens"] / each["prompt_tokens"] for each in usage[1:]]
    assert median(shares) > 0.8, shares


def test_a_cancelled_answer_ends_on_the_server_too(at: Home, workspace: Path, server: Llama) -> None:
    set_up(at, limit=2_000)
    environment = at.environment(OPENAI_BASE_URL=server.base_url)
    with TerminalProgram([*GUARD], 120, 32, environment, workspace) as terminal:
        terminal.until(lambda: "ready" in terminal.text, "the screen")
        terminal.type("Count from one to one thousand." + ENTER)
        wait_until(lambda: not terminal.take() and server.written > 8, "an answer to begin", TURN_S)
        terminal.type(ESC)
        terminal.until(lambda: "cancelled" in terminal.text.lower(), "the end of the turn")
        wait_until(lambda: not server.is_computing, "the server to stop", 10.0)
        terminal.type("/quit" + ENTER)
        terminal.until(lambda: terminal.ended, "the program to end")


def test_an_overflow_is_compacted_and_sent_again(at: Home, workspace: Path, server: Llama) -> None:
    set_up(at, more="context_window = 100000")
    (used,) = turn(at, workspace, server.base_url, "Say hello.").events("usage")
    filler = "word "
    while server.count(filler) < 0.6 * (CONTEXT - used["prompt_tokens"]):
        filler += "and another word "
    turn(at, workspace, server.base_url, f"Remember: {filler}")
    done = turn(at, workspace, server.base_url, f"Remember, too: {filler}")
    (log,) = (at.folder / "state" / "fido" / "sessions").glob("s-1.jsonl")
    assert log.read_text(encoding="utf-8").count('"type":"ConversationCompacted"') == 1
    assert f"{CONTEXT:,}" in done.out + done.err


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_session_of_another_server_goes_on_here(
    at: Home, workspace: Path, server: Llama, wire: str
) -> None:
    shown(at, workspace, PROMPTS[1:3] * 2)
    set_up(at, more=f'wire_api = "{wire}"')
    played = [turn(at, workspace, server.base_url, prompt) for prompt in PROMPTS[1:3]]
    assert {name for done in played for name in calls_of(done)} >= {"list_files"}
    assert all(done.events("usage")[-1]["prompt_tokens"] > 1_000 for done in played)
