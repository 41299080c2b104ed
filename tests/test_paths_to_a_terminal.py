"""Every way that a text from outside has to a terminal beside the screen: it is cleaned on each of them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.chat_script import call, calls, chunks, say, status
from tests.fakes.fido import GUARD, Finished, Home, Run, home, openai_environment
from tests.fakes.hostile_texts import HOSTILE, foreign
from tests.fakes.scripted_server import ScriptedServer

ALL = "".join(text for text in HOSTILE.values() if "\x00" not in text)
CONFIG = f"[permissions]\nallow = [{json.dumps(ALL, ensure_ascii=True)}]\n"
WAYS = {
    "the plan": ["plan", "show"],
    "the plan, for programs": ["plan", "show", "--json"],
    "sessions": ["sessions"],
    "tools": ["tools"],
    "what works": ["doctor"],
    "a flag that is none": [f"--{ALL}"],
    "a command that is none": ["plan", ALL],
    "a session that is none": ["resume", ALL],
    "a folder that is none": ["doctor", "--workspace", f"/{ALL}"],
    "a model that is none": ["doctor", "--model", ALL],
    "an address that is none": ["run", "x", "--base-url", f"http://{ALL}"],
}
FORMATS = ["text", "stream-json"]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(strict=False) as made:
        yield made


@pytest.fixture(scope="module")
def at(server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, Path]]:
    """A home with a session and a plan that are full of it, and the workspace they belong to."""
    workspace = tmp_path_factory.mktemp("\u202e work \x1b[2J")
    with home() as made:
        finished(made, workspace, server, "text")
        yield made, workspace


def finished(made: Home, workspace: Path, server: ScriptedServer, form: str) -> Finished:
    item = {"id": "s1", "title": ALL, "status": "in_progress", "next_action": ALL, "evidence": [ALL]}
    doings = [
        call("update_plan", {"reason": ALL, "items": [item]}),
        call("bash_exec", {"command": f"printf %s '{ALL}'; exit 3"}),
        call(ALL, {"x": ALL}),
        call("read_file", {"path": ALL}),
    ]
    server.add(say([ALL], calls=calls(doings).calls), say([ALL]))
    prompt = ["--mode", "yolo", "--output-format", form, ALL]
    return Run(made, workspace, *prompt, **openai_environment(server.base_url)).finish()


def assert_harmless(written: str) -> None:
    assert foreign(written.replace("\t", " ").encode()) == ""


@pytest.mark.report("ESC-02")
@pytest.mark.parametrize("form", FORMATS)
def test_no_format_of_a_run_lets_a_text_act(at: tuple[Home, Path], server: ScriptedServer, form: str) -> None:
    done = finished(*at, server, form)
    assert "pwned" in done.out
    assert_harmless(done.out)
    assert_harmless(done.err)


@pytest.mark.report("ESC-02")
def test_an_error_of_the_server_does_not_act(at: tuple[Home, Path], server: ScriptedServer) -> None:
    server.add(status(400, body={"error": {"message": ALL, "type": ALL, "code": ALL}}))
    made, workspace = at
    done = Run(made, workspace, "x", **openai_environment(server.base_url)).finish()
    assert done.status != 0
    assert "pwned" in done.err
    assert_harmless(done.out + done.err)


@pytest.mark.report("ESC-02")
@pytest.mark.parametrize("way", WAYS)
def test_no_command_lets_a_text_act(at: tuple[Home, Path], server: ScriptedServer, way: str) -> None:
    made, workspace = at
    environment = made.environment(**openai_environment(server.base_url))
    ran = subprocess.run(
        [*GUARD, *WAYS[way]], cwd=workspace, env=environment, capture_output=True, timeout=30, check=False
    )
    assert ran.stdout + ran.stderr
    assert_harmless((ran.stdout + ran.stderr).decode())


@pytest.mark.report("TERM-10")
def test_a_lone_surrogate_is_told_and_harms_no_later_request(tmp_path: Path) -> None:
    half = {"choices": [{"index": 0, "delta": {"content": "caf\udce9 \ud83d"}, "finish_reason": "stop"}]}
    (tmp_path / "bad").write_bytes(b"caf\xe9\n")
    with ScriptedServer() as server, home() as made:
        server.add(
            call("bash_exec", {"command": "cat bad"}),
            chunks(json.dumps(half)),
            say("Second."),
            say("Third."),
        )
        told = [
            Run(
                made,
                tmp_path,
                "--mode",
                "yolo",
                "--session",
                "s",
                prompt,
                **openai_environment(server.base_url),
            ).finish()
            for prompt in ("caf\udce9", "again", "and again")
        ]
        assert [done.status for done in told] == [0, 0, 0]
        assert "caf" in told[0].out
        assert [done.out for done in told[1:]] == ["Second.\n", "Third.\n"]
        for request in server.requests:
            json.dumps(request.data, ensure_ascii=False).encode("utf-8")
