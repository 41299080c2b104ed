"""The real program on a terminal, with a home of its own and a server that plays a script."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.fido import GUARD, Home, home, openai_environment
from tests.fakes.scene import Start
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import TerminalProgram


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


@pytest.fixture
def start(at: Home, tmp_path: Path, server: ScriptedServer) -> Iterator[Start]:
    """Start `fido` in a terminal; whatever is left of it is ended."""
    (tmp_path / "a.py").write_text("print(1)\n", encoding="utf-8")
    environment = at.environment(TERM="xterm-256color", **openai_environment(server.base_url))
    with ExitStack() as started:

        def begin(*arguments: str, columns: int = 120) -> TerminalProgram:
            program = TerminalProgram([*GUARD, *arguments], columns, 32, environment, tmp_path)
            return started.enter_context(program)

        yield begin
