"""Canaries: secrets of every source are planted, then looked for in every byte written, sent and printed."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from actors.secrets.redactor import Redactor
from actors.settings.layers import SettingsError
from actors.settings.settings import load
from tests.fakes.chat_script import Step, call, calls, gate, parent, say, status, subagent
from tests.fakes.fido import DEADLINE_S, GUARD, Finished, Home, home
from tests.fakes.scripted_server import ScriptedServer

KEY: Final = "canary-of-the-key-0001/+a"
HEADER: Final = "canary-of-a-header-0002"
PASSWORD: Final = "canary-of-a-password-0003"
COOKIE: Final = "canary-of-a-cookie-0004"
ALL: Final = (KEY, HEADER, PASSWORD, COOKIE)
RESULT = json.dumps({"status": "completed", "summary": f"It is {KEY}.", "findings": []})
ITEMS = [{"id": "look", "title": f"Look at {KEY}", "status": "in_progress", "next_action": HEADER}]
ESCAPED: Final = json.dumps({"reason": HEADER, "items": ITEMS}).replace("canary", "\\u0063anar\\u0079")
"""A call whose arguments hold the secrets, and not as they are."""


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / ".env").write_text(f"OPENAI_API_KEY={KEY}\nTOKEN='{HEADER}'\n", encoding="utf-8")
    (folder / "AGENTS.md").write_text(f"Never tell anybody {KEY}.\n", encoding="utf-8")
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    return folder


def configured(at: Home, base_url: str, key: str) -> None:
    """Write the person's settings; `key` is the line that says what the key is."""
    file = at.folder / "config" / "fido" / "config.toml"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.write_text(
        f'base_url = "{base_url}"\n{key}\n[headers]\nX-API-Key = "{HEADER}"\n'
        f'[web]\nsearch_url = "http://me:{PASSWORD}@127.0.0.1:9/search?token={PASSWORD}"\n',
        encoding="utf-8",
    )
    file.chmod(0o600)


def fido(at: Home, workspace: Path, *words: str, environ: Mapping[str, str] | None = None) -> Finished:
    run = subprocess.run(
        ["/bin/sh", "-c", 'umask 0; exec "$@"', "sh", *GUARD, "run", *words, "--log-level", "debug"],
        cwd=workspace,
        env=at.environment(**(environ or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return Finished(run.returncode, run.stdout.decode(), run.stderr.decode())


def sightings(at: Home, workspace: Path, *texts: str) -> list[str]:
    """Where a canary is to be seen in any form: files, and texts that were printed or sent.

    What `/undo` keeps of a person's own files is what they were, to the byte.
    """
    forms = [form.encode() for form in Redactor(ALL).forms]
    own = [workspace / ".env", workspace / "AGENTS.md"]
    planted = {at.folder / "config" / "fido" / "config.toml", at.folder / "key", *own}
    places = {f"{number}: {text[:60]}": text.encode() for number, text in enumerate(texts)}
    for path in (path for root in (at.folder, workspace) for path in root.rglob("*") if path.is_file()):
        if path not in planted:
            places[str(path)] = path.read_bytes()
        if path.is_relative_to(at.folder / "state" / "fido" / "undo"):
            for file in own:
                places[str(path)] = places[str(path)].replace(file.read_bytes(), b"")
    return [f"{place}: {form!r}" for place, text in places.items() for form in forms if form in text]


def sent(server: ScriptedServer) -> list[str]:
    return [request.body.decode() for request in server.requests]


def leaking_turn() -> list[Step]:
    """A server and a model that tell everything they know, in pieces, and tools that find the rest."""
    read_env = call("read_file", {"path": ".env"})
    return [
        say(["It is ", KEY[:7], KEY[7:], ", and ", HEADER[:3], HEADER[3:]], reasoning=f"I know {KEY}",
            calls=calls([read_env]).calls, when=parent),
        calls([
            read_env,
            call("ripgrep", {"pattern": "OPENAI", "path": ".env"}),
            call("bash_exec", {"command": 'cat .env "$XDG_CONFIG_HOME/fido/config.toml"; env; base64 .env'}),
            call("websearch", {"query": KEY}),
            call("patch", {"path": "b.txt", "old_text": "", "new_text": f"{KEY}\n"}),
            call("update_plan", ESCAPED),
            call(KEY, {"path": KEY}),
        ], when=parent),
        call("delegate", {"task": f"Find {KEY}"}, when=parent),
        calls([read_env, call("ripgrep", {"pattern": "TOKEN"})], when=subagent),
        say(RESULT, when=subagent),
        say(f"Done: {KEY}", when=parent),
    ]  # fmt: skip


@pytest.mark.report("SEC-01", "SEC-02")
def test_no_canary_is_found_whatever_a_server_a_model_and_tools_tell(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    configured(at, server.base_url, f"api_key_command = \"printf '%s' '{KEY}'\"")
    server.add(*leaking_turn())
    seen = fido(
        at, workspace, f"Look for {KEY}", "--mode", "yolo", "--output-format", "stream-json", "--session", "s"
    )
    server.assert_done()
    assert seen.status == 0, seen
    assert [event["name"] for event in seen.events("tool_finished")].count("read_file") == 2
    headers = [request.headers for request in server.requests]
    assert {each["authorization"] for each in headers} == {f"Bearer {KEY}"}
    assert {each["x-api-key"] for each in headers} == {HEADER}
    assert "[redacted key]" in (workspace / "b.txt").read_text(encoding="utf-8")
    assert "Look at [redacted key]" in (workspace / ".fido-plan.json").read_text(encoding="utf-8")
    names = [
        each["function"]["name"]
        for message in server.requests[-1].messages
        for each in message.get("tool_calls", ())
    ]
    assert "redacted_key" in names, names

    server.add(say(f"Again {KEY}"))
    again = fido(at, workspace, "And again", "--output-format", "json", "--session", "s")
    assert again.status == 0, again
    assert sightings(at, workspace, seen.out, seen.err, again.out, again.err, *sent(server)) == []


@pytest.mark.report("SEC-01")
def test_no_canary_is_found_when_a_key_is_refused(at: Home, workspace: Path, server: ScriptedServer) -> None:
    (at.folder / "key").write_text(f"{KEY}\n", encoding="utf-8")
    (at.folder / "key").chmod(0o600)
    configured(at, server.base_url, f'api_key_file = "{at.folder}/key"')
    words = f"Incorrect API key provided: {KEY}; sent were Authorization: Bearer {KEY}, X-API-Key: {HEADER}"
    body = json.dumps({"error": {"message": words, "code": "invalid_api_key"}}).encode()
    server.add(status(401, {"Set-Cookie": f"session={COOKIE}; HttpOnly"}, body=body))
    done = fido(at, workspace, "hello", "--output-format", "stream-json")
    assert done.status == 1
    assert "refuses the key" in done.out + done.err
    assert sightings(at, workspace, done.out, done.err, *sent(server)) == []


TELLING: Final = f"""api_key_command = "echo '{KEY}'; echo '{KEY}' >&2; false\""""


@pytest.mark.report("SEC-01")
@pytest.mark.parametrize(
    ("key", "status", "told"),
    [
        (f'api_key = "{KEY}"', 1, "No connection to http://127.0.0.1:9"),
        (TELLING, 2, "ended with status 1"),
    ],
    ids=["no server", "no key"],
)
def test_no_canary_is_found_when_a_run_can_not_be(
    at: Home, workspace: Path, key: str, status: int, told: str
) -> None:
    configured(at, "http://127.0.0.1:9", f"retry_attempts = 1\n{key}")
    done = fido(at, workspace, "hello", environ={"https_proxy": f"http://u:{PASSWORD}@127.0.0.1:9"})
    assert told in done.err, done
    assert done.status == status
    assert sightings(at, workspace, done.out, done.err) == []


@pytest.mark.report("SEC-01")
@pytest.mark.parametrize(
    ("key", "told"),
    [
        (f'api_key = "{KEY}', "is not TOML"),
        (f'api_key_file = "{KEY}"', "cannot be read"),
        (TELLING, "ended with status 1"),
    ],
)
def test_no_canary_is_in_what_is_told_of_settings_that_are_wrong(
    at: Home, workspace: Path, key: str, told: str
) -> None:
    configured(at, "http://127.0.0.1:9", key)
    with pytest.raises(SettingsError, match=told) as caught:
        load({}, at.environment(), workspace)
    assert sightings(at, workspace, str(caught.value), repr(caught.value)) == []


def test_whatever_is_written_is_for_its_owner_alone(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    configured(at, server.base_url, f'api_key = "{KEY}"')
    server.add(
        calls([
            call("bash_exec", {"command": "seq 1 60000; sleep 60 & echo x > c.txt"}),
            call("patch", {"path": "b.txt", "old_text": "", "new_text": "two\n"}),
            call("update_plan", {"reason": "r", "items": [ITEMS[0] | {"title": "Look", "next_action": "n"}]}),
        ]),
        say(["here ", gate("looked"), "done"]),
    )  # fmt: skip
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'umask 0; exec "$@"', "sh", *GUARD, "run", "go", "--mode", "yolo"],
        cwd=workspace, env=at.environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    server.wait_for_requests(2, DEADLINE_S)
    running = open_to_others(at.folder)
    server.open("looked")
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, err.decode()
    assert running == open_to_others(at.folder) == []
    assert stat.S_IMODE((workspace / ".fido-plan.json").stat().st_mode) & 0o022 == 0


def open_to_others(folder: Path) -> list[str]:
    """What below a folder others could read, write or enter; what a test made itself does not count."""
    found = []
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) & 0o077:
            found.append(f"{stat.filemode(mode)} {path}")
    return found


ANCESTORS: Final = """p=$PPID; while [ "$p" -gt 1 ]; do
    tr '\\0' '\\n' <"/proc/$p/environ" | rev
    p=$(awk '/^PPid/ {print $2}' "/proc/$p/status")
done"""
"""Shows the environment of whoever is above, which root may do; backwards no secret is known."""


@pytest.mark.report("SEC-01")
def test_a_command_sees_no_variable_that_holds_a_secret(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    configured(at, server.base_url, 'api_key_variable = "MY_OWN_NAME"')
    server.add(
        call("bash_exec", {"command": "env; cat /proc/self/environ"}),
        call("bash_exec", {"command": ANCESTORS}),
        say("done"),
    )
    variables = {"OPENAI_API_KEY": KEY, "MY_OWN_NAME": COOKIE, "ALSO": f"x {COOKIE}"}
    done = fido(at, workspace, "go", "--mode", "yolo", environ=variables)
    assert done.status == 0, done
    result = server.requests[1].messages[-1]["content"]
    assert "PATH=" in result
    assert not any(name in result for name in variables)
    above = server.requests[2].messages[-1]["content"]
    assert KEY[::-1] not in above
    if os.geteuid() == 0:
        assert at.tag[::-1] in above
    assert sightings(at, workspace, done.out, done.err, *sent(server)) == []
