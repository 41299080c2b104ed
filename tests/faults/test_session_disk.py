"""The session log on a full disk, damaged, and enormous: a clear notice, nothing lost, and it goes on."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from actors.session.events import ConversationCompacted
from actors.session.history import History
from actors.session.log import read_log
from actors.session.recorder import WRITTEN_AGAIN
from actors.session.records import encode_event
from tests.fakes import chat_rules
from tests.fakes.chat_script import call, say
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.fido import DEADLINE_S, GUARD, Finished, Home, Run, home, openai_environment
from tests.fakes.launch import script
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.session_events import HEADER, whole_turn

OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
DISK_KB = 160
SLOWER = 10.0
"""Reading a log into all that is kept of it may take so many times as long as decoding its lines."""


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


def of_the_log(told: Finished) -> list[dict[str, Any]]:
    """The notices that speak of the session log."""
    return [event for event in told.events("notice") if "session log" in event["message"]]


@pytest.mark.fault(47, says="no room for the log for a while")
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
    full, over = of_the_log(told)
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


@pytest.mark.fault(46, says="a session with a log damaged in the middle")
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
            (notice,) = (event["message"] for event in of_the_log(told))
            assert notice.startswith("3 records of the session log could not be read and were left out: ")
            assert f"line 4 (damaged); line 6 (damaged); line {result + 3} (damaged)" in notice
        server.assert_done()
        roles = [message["role"] for message in server.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert "its result was lost" in server.requests[-1].messages[3]["content"]
    assert log.read_bytes().startswith(b"".join(lines))


RESUMED = """
import json, re, sys, time
from pathlib import Path
from actors.compaction.memory import Memory
from actors.session.events import ConversationCompacted
from actors.session.history import History
from actors.session.ledger import Ledger
from actors.session.log import SessionLog
from actors.session.replay import Replay
from actors.undo.log import UndoLog
path = Path(sys.argv[1])
started = time.process_time()
with path.open("rb") as file:
    for line in file:
        json.loads(line)
plainly = time.process_time() - started
folds = [History(), Replay(), Memory(), Ledger(), UndoLog()]
started = time.process_time()
log, recovery = SessionLog.open(path, *(fold.apply for fold in folds))
took = time.process_time() - started
status = Path("/proc/self/status").read_text()
print(plainly, took, re.search(r"VmHWM:\\s+(\\d+)", status)[1], len(recovery.skipped), len(folds[0].messages))
"""


@pytest.mark.timeout(300)
@pytest.mark.fault(48, says="a log of a gigabyte" if LONG else "a log of fifty megabytes")
def test_an_enormous_log_is_read_quickly_and_in_little_memory(tmp_path: Path, fault: Fault) -> None:
    """A session of a gigabyte was compacted on its way; so it is here, after every twenty turns."""
    wanted, path = (1_000_000_000 if LONG else 50_000_000), tmp_path / "s-1.jsonl"
    compacted = ConversationCompacted(turn=1, messages=(), method="trim", before_tokens=9, after_tokens=1)
    block = [e for turn in range(1, 21) for e in whole_turn(turn, 5, "x" * 24_000)] + [compacted]
    bodies = [encode_event(event) for event in block]
    written = 1
    with path.open("wb") as file:
        file.write(line(0, encode_event(HEADER)))
        while file.tell() < wanted:
            file.writelines(line(written + place, body) for place, body in enumerate(bodies))
            written += len(bodies)
    done = script(RESUMED, path)
    assert done.stdout, done.stderr
    plainly, took, peak_kb, skipped, messages = done.stdout.split()
    fault.took(float(took))
    path.unlink()
    assert (skipped, messages) == ("0", "0")
    assert int(peak_kb) < 300_000
    assert float(took) < SLOWER * float(plainly)


def line(number: int, body: bytes) -> bytes:
    return b'{"seq":%d,"crc":%d,"event":%b}\n' % (number, crc32(body, number), body)
