"""The shell of a session follows the settings."""

import asyncio
from pathlib import Path

import pytest

from actors.settings.tables import Shell as ShellSettings
from actors.shell.opening import open_shell
from actors.shell.outputs import Outputs
from actors.shell.shell import Shell

KEY = "sk-canary-4711"


def output_of(shell: Shell, root: Path, command: str) -> str:
    async def run() -> str:
        ended = await shell.run(command, str(root), 20.0, lambda _: None)
        ended.call.close()
        return ended.output.decode()

    try:
        return asyncio.run(run())
    finally:
        shell.close()


def opened(root: Path, settings: ShellSettings) -> Shell:
    return open_shell(settings, root, Outputs(root.with_name("output") / "s"), [], [KEY])


def test_commands_are_walled_in_when_that_is_set_and_else_not(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    leave = "echo x > ../left; ls .."
    walled = opened(root, ShellSettings(sandbox="workspace-write"))
    assert walled.walled
    assert "left\n" not in output_of(walled, root, leave)
    free = opened(root, ShellSettings())
    assert not free.walled
    assert "left\n" in output_of(free, root, leave)


def test_no_command_sees_a_key_under_whatever_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("MY_GATEWAY", f"Bearer {KEY}")
    text = output_of(opened(tmp_path, ShellSettings()), tmp_path, "env; cat /proc/$PPID/environ")
    assert "GIT_TERMINAL_PROMPT=0" in text
    assert KEY not in text
    assert "OPENAI_API_KEY" not in text
