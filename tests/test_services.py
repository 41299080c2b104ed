"""The actors as separate services, as a Procfile starts them, and the screen that attaches to them."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.fakes.fido import DEADLINE_S, GUARD, Home, home, openai_environment, pid_of, wait_until
from tests.fakes.terminal import CTRL_C, TerminalProgram

PROCFILE = Path(__file__).parent.parent / "Procfile"
NOBODY = openai_environment("http://127.0.0.1:9/v1")
PLAN = {"version": 1, "revision": 1, "updatedAt": "2025-01-01T00:00:00.000Z", "reason": "Ship it"}
ITEM = {"id": "look", "title": "Look around", "status": "in_progress", "next_action": "Read"}


def fido(at: Home, workspace: Path, *words: str) -> bytes:
    run = subprocess.run(
        [*GUARD, *words],
        cwd=workspace,
        env=at.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return run.stdout


@contextmanager
def services(at: Home, workspace: Path) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Every line of the Procfile as a process, ready; ended at the end."""
    lines = [line.split(": fido ") for line in PROCFILE.read_text(encoding="utf-8").splitlines()]
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(
                subprocess.Popen(
                    [*GUARD, *words.split()],
                    cwd=workspace,
                    env=at.environment(**NOBODY),
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
            for name, words in lines
        }
        try:
            sockets = at.folder / "run"
            wanted = ("plan_store.ipc", "parent.ipc", "workers/w-*/mail.ipc")
            wait_until(lambda: all(any(sockets.rglob(name)) for name in wanted), "all services to be ready")
            yield started
        finally:
            for process in started.values():
                process.kill()


def test_services_of_a_workspace_find_each_other_and_are_drawn(tmp_path: Path) -> None:
    (tmp_path / ".fido-plan.json").write_text(json.dumps(PLAN | {"items": [ITEM]}), encoding="utf-8")
    with home() as at, services(at, tmp_path):
        running = [
            one["session_id"]
            for one in json.loads(fido(at, tmp_path, "sessions", "--json"))
            if one["running"]
        ]
        assert len(running) == 1
        attach = [*GUARD, "attach", running[0]]
        with TerminalProgram(attach, 120, 30, at.environment(), tmp_path) as terminal:
            asyncio.run(terminal.shows("Look around", tmp_path.name))
            cleared = json.loads(fido(at, tmp_path, "plan", "clear", "--json"))
            assert (cleared["revision"], cleared["items"]) == (2, [])
            asyncio.run(terminal.becomes(lambda: "Look around" not in terminal.text, "the cleared plan"))
            before = terminal.modes_before
            terminal.type(CTRL_C)
            terminal.until(lambda: "again to leave" in terminal.text, "the hint")
            terminal.type(CTRL_C)
            assert asyncio.run(terminal.ends()) == 0
            assert terminal.modes == before
        assert json.loads(fido(at, tmp_path, "plan", "--json")) == cleared


def test_service_with_other_flags_than_the_first_is_refused(tmp_path: Path) -> None:
    with home() as at, services(at, tmp_path):
        for flag, value in (("--mode", "plan"), ("--session", "another")):
            run = subprocess.run(
                [*GUARD, "actor", "parent", flag, value],
                cwd=tmp_path,
                env=at.environment(**NOBODY),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DEADLINE_S,
                check=False,
            )
            assert run.returncode == 2
            assert f"run with another {flag}; give every one the same flags" in run.stderr.decode()


def test_attached_screen_does_not_have_the_key(tmp_path: Path) -> None:
    with home() as at, services(at, tmp_path):
        key = "sk-canary-attach"
        attach = [*GUARD, "attach"]
        environ = at.environment(OPENAI_API_KEY=key)
        with TerminalProgram(attach, 120, 30, environ, tmp_path) as terminal:
            asyncio.run(terminal.shows(tmp_path.name))
            screen = pid_of(at, terminal.process.pid, "ui")
            assert key.encode() not in Path(f"/proc/{screen}/environ").read_bytes()


def test_ended_services_leave_nothing_running(tmp_path: Path) -> None:
    with home() as at:
        with services(at, tmp_path) as started:
            for process in started.values():
                process.send_signal(signal.SIGTERM)
            statuses = [process.wait(DEADLINE_S) for process in started.values()]
        assert set(statuses) <= {0, 128 + signal.SIGTERM}
        assert at.processes() == []


def test_killed_service_leaves_nothing_running(tmp_path: Path) -> None:
    with home() as at:
        with services(at, tmp_path) as started:
            for process in started.values():
                process.kill()
        wait_until(lambda: not at.processes(), "everything to end")
