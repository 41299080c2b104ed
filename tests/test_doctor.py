"""`fido doctor`: what it finds, where it says a value came from, and that it never shows a key."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from actors.commands.doctor import provider
from actors.settings.settings import load
from tests.fakes.fido import DEADLINE_S, GUARD, home


def doctor(config: str = "", *words: str, **environ: str) -> tuple[int, str]:
    """Exit status and output of `fido doctor`, with a settings file of this content if there is any."""
    with home() as at:
        if config:
            file = at.folder / "config" / "fido" / "config.toml"
            file.parent.mkdir()
            file.write_text(config, encoding="utf-8")
        run = subprocess.run(
            [*GUARD, "doctor", *words],
            cwd=at.folder,
            env=at.environment(**environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert run.stderr == b""
        return run.returncode, run.stdout.decode()


@contextmanager
def server(status: int, body: object) -> Iterator[tuple[str, list[str]]]:
    """An HTTP server that lists models; yields its base URL and the requests it got."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers.get('Authorization')}")
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}", seen
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def test_doctor_without_a_key_says_that_the_built_in_model_answers() -> None:
    status, text = doctor()
    assert status == 0
    assert "built-in offline model" in text
    assert "-> Set OPENAI_API_KEY" in text


def test_doctor_tells_where_each_value_came_from() -> None:
    _, text = doctor("[timeouts]\nidle_s = 5\n", "--mode", "plan", FIDO_MODEL="m")
    for line in (
        "model = m  (environment FIDO_MODEL)",
        "mode = plan  (flag --mode)",
        "/config/fido/config.toml)",
        "timeouts.total_s = 900.0  (default)",
    ):
        assert line in text


def test_doctor_asks_the_server_and_never_shows_the_key() -> None:
    with server(200, {"data": [{"id": "gpt-5.5"}]}) as (url, seen):
        status, text = doctor(OPENAI_API_KEY="sk-canary", OPENAI_BASE_URL=url)
    assert status == 0
    assert seen == ["/v1/models Bearer sk-canary"]
    assert f"{url}/v1/models answers, model gpt-5.5" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, {}, "the key was refused (401)"),
        (200, {"data": [{"id": "other"}]}, "has no model gpt-5.5"),
        (500, {}, "HTTP status 500"),
        (302, {}, "HTTP status 302"),
    ],
)
def test_doctor_says_what_is_wrong_with_the_server(
    tmp_path: Path, status: int, body: object, told: str
) -> None:
    with server(status, body) as (url, _):
        environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-canary", "HOME": str(tmp_path)}
        finding = provider(load({}, environ, tmp_path))
    assert finding.state == "bad"
    assert finding.next_step
    assert told in finding.text
    assert "canary" not in finding.text + finding.next_step


def test_doctor_tells_a_server_that_is_not_there(tmp_path: Path) -> None:
    finding = provider(load({"base_url": "http://127.0.0.1:9"}, {"HOME": str(tmp_path)}, tmp_path))
    assert (finding.state, "Connection refused" in finding.text) == ("bad", True)


def test_doctor_names_what_keeps_the_settings_from_being_read() -> None:
    status, text = doctor("modell = 1")
    assert status == 1
    assert "'modell': unknown setting; did you mean model" in text
