"""The whole program on a disk that is full: a clear notice, nothing lost, and the turn goes on."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.session.history import History
from actors.session.log import read_log
from actors.session.recorder import WRITTEN_AGAIN
from tests.fakes import chat_rules
from tests.fakes.chat_script import call, say
from tests.fakes.fido import DEADLINE_S, GUARD, Finished, Home, Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer

OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
DISK_KB = 160


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


def test_a_disk_that_is_full_for_a_while_costs_nothing(at: Home, tmp_path: Path) -> None:
    """The log is on a small disk with little room left, until a tool of the turn removes what fills it."""
    logs, kept = at.folder / "state" / "fido" / "sessions", tmp_path / "kept"
    logs.mkdir(parents=True, mode=0o700)
    filler = shlex.quote(str(logs / "filler"))
    large = "head -c 8000 /dev/zero | tr '\\0' x"
    steps = [call("bash_exec", {"command": large}) for _ in range(6)]
    script = f"""
        mount -t tmpfs -o size={DISK_KB}k,mode=700 none {shlex.quote(str(logs))}
        head -c {(DISK_KB - 28) * 1024} /dev/zero > {filler}
        "$@"; status=$?
        cp -r {shlex.quote(str(logs))} {shlex.quote(str(kept))}
        exit $status
    """
    with ScriptedServer([*steps, call("bash_exec", {"command": f"rm {filler}"}), say("All done.")]) as server:
        done = subprocess.run(
            [
                *OWN_MOUNTS,
                "sh",
                "-ec",
                script.replace('"$@";', 'set +e; "$@";'),
                "sh",
                *GUARD,
                "run",
                "go",
                "--output-format",
                "stream-json",
            ],
            cwd=tmp_path,
            env=at.environment(FIDO_MODE="yolo", **openai_environment(server.base_url)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        server.assert_done()
    told = Finished(done.returncode, done.stdout, done.stderr)
    assert told.status == 0, told
    full, over = told.events("notice")
    assert "No space left on device" in full["message"]
    assert "Make room" in full["message"]
    assert (full["level"], over["level"], over["message"]) == ("error", "info", WRITTEN_AGAIN)
    (log,) = kept.glob("*.jsonl")
    history = History()
    assert read_log(log, history.apply).notice() == ""
    messages = [json.loads(message) for message in history.messages]
    chat_rules.check({"model": "m", "stream": True, "messages": messages})
    assert messages[:-1] == server.requests[-1].messages
    assert messages[-1]["content"] == "All done."


def test_a_log_that_is_damaged_in_the_middle_is_gone_on_with_and_kept_as_it_is(
    at: Home, tmp_path: Path
) -> None:
    at.damaged = True
    go_on = ["--session", "s-1", "--output-format", "stream-json"]
    with ScriptedServer([call("list_files", {}), say("One."), say("Two."), say("Three.")]) as server:
        environ = openai_environment(server.base_url)
        assert Run(at, tmp_path, "first", *go_on, **environ).finish().status == 0
        (log,) = (at.folder / "state" / "fido" / "sessions").glob("*.jsonl")
        lines = log.read_bytes().splitlines(keepends=True)
        (result,) = (number for number, line in enumerate(lines) if b'"role":"tool"' in line)
        lines[result] = lines[result].replace(b"role", b"rol\x00")
        lines.insert(3, bytes(700) + b"\n")
        lines.insert(5, b'{"seq":4,"crc":0,"event":{"type":"FromTheFuture"}}\n')
        log.write_bytes(b"".join(lines))
        for prompt, answer in (("second", "Two."), ("third", "Three.")):
            told = Run(at, tmp_path, prompt, *go_on, **environ).finish()
            assert told.events("turn_finished")[0]["final_text"] == answer
            (notice,) = (event["message"] for event in told.events("notice"))
            assert notice.startswith("3 records of the session log could not be read and were left out: ")
            assert f"line 4 (damaged); line 6 (damaged); line {result + 3} (damaged)" in notice
        server.assert_done()
        roles = [message["role"] for message in server.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert "its result was lost" in server.requests[-1].messages[3]["content"]
    assert log.read_bytes().startswith(b"".join(lines))
