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
from tests.fakes.fido import DEADLINE_S, GUARD, Finished, Home, home, openai_environment
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
