"""The key on a real terminal: whatever a server, a model and tools tell of it, nobody can read it there."""

import json
from pathlib import Path

import pytest

from actors.secrets.redactor import Redactor
from tests.fakes.chat_script import call, say, status
from tests.fakes.fido import Home
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER

KEY = "sk-canary-4711"


@pytest.mark.report("SEC-01")
def test_key_is_never_drawn(at: Home, start: Start, server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    server.add(
        status(401, body=body),
        say(["I saw ", KEY[:5], KEY[5:], " there."], reasoning=f"hm, {KEY}"),
        call("read_file", {"path": ".env"}),
        call("patch", {"path": ".env", "old_text": "OPENAI", "new_text": "MY"}),
    )
    program = start(f"Is it {KEY}?")
    program.until(lambda: "refuses the key" in program.text, "the refusal")
    program.type(f"again{ENTER}")
    program.until(lambda: "there." in program.text, "the answer")
    program.type(f"and the file{ENTER}")
    program.until(lambda: "Change .env" in program.text, "the approval with its diff")
    assert "[redacted key]" in program.text
    leave(program, at)
    kept = b"".join(path.read_bytes() for path in (at.folder / "state").rglob("*") if path.is_file())
    sent = "".join(json.dumps(request.messages) for request in server.requests).encode()
    for form in Redactor([KEY]).forms:
        assert form.encode() not in bytes(program.written) + kept + sent
