"""`fido doctor`: what it finds, where it says a value came from, and that it never shows a key."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from actors.commands.doctor import commands
from actors.commands.findings import Finding
from actors.commands.reachable import servers
from actors.sandbox.level import Level
from actors.secrets.redactor import Redactor
from actors.settings.settings import load
from tests.fakes.fido import DEADLINE_S, GUARD, home

SECRET = "canary-0123456789"


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
def server(status: int, body: object, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """An HTTP server with one answer; yields its root and the requests it got."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers.get('Authorization')}")
            answer = json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

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


def found(folder: Path, config: str = "", **environ: str) -> dict[str, Finding]:
    """What the servers of these settings are found to be, by the finding's name."""
    file = folder / ".config" / "fido" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(config, encoding="utf-8")
    return {finding.name: finding for finding in servers(load({}, {"HOME": str(folder)} | environ, folder))}


def test_doctor_without_a_key_says_that_the_built_in_model_answers() -> None:
    status, text = doctor()
    assert status == 0
    assert "built-in offline model" in text
    assert "-> Set OPENAI_API_KEY" in text


@pytest.mark.report("CFG-04")
def test_doctor_tells_where_each_value_came_from() -> None:
    _, text = doctor("[timeouts]\nidle_s = 5\n", "--mode", "plan", FIDO_MODEL="m")
    for line in (
        "model = m  (environment FIDO_MODEL)",
        "mode = plan  (flag --mode)",
        "/config/fido/config.toml)",
        "timeouts.total_s = 900.0  (default)",
    ):
        assert line in text


@pytest.mark.report("CFG-02")
@pytest.mark.parametrize("path", ["", "/v1/", "/v1/chat/completions"])
def test_doctor_asks_the_server_and_never_shows_the_key(path: str) -> None:
    with server(200, {"data": [{"id": "gpt-5.5", "context_length": 65_536}]}) as (url, seen):
        status, text = doctor(OPENAI_API_KEY="sk-canary", OPENAI_BASE_URL=url + path)
    assert status == 0
    assert seen == ["/v1/models Bearer sk-canary"]
    assert f"{url}/v1/models answers; spoken to as generic, wire_api chat" in text
    assert "gpt-5.5, 65,536 tokens as the server says" in text
    assert "canary" not in text


def test_doctor_shows_no_secret_of_any_setting() -> None:
    config = (
        f'base_url = "http://127.0.0.1:9"\napi_key_command = "echo {SECRET}key"\n'
        f'[headers]\nX-Key = "{SECRET}"\n'
        f'[web]\nsearch_url = "http://me:{SECRET}@127.0.0.1:9/search?token={SECRET}"\n'
    )
    status, text = doctor(config, https_proxy=f"http://u:{SECRET}@h.test")
    assert status == 1
    assert "! websearch    http://127.0.0.1:9/search: " in text
    assert "headers.X-Key = " in text
    assert "api_key = **********" in text or "api_key = [redacted key]" in text
    assert SECRET not in text


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, {"error": {"message": "no key sk-canary-77"}}, "The server refuses the key (401 from "),
        (500, {}, "The server failed (500 from "),
        (302, {}, "/v1/models to another address"),
    ],
)
def test_doctor_says_what_is_wrong_with_the_server(
    tmp_path: Path, status: int, body: object, told: str
) -> None:
    with server(status, body, Location="http://127.0.0.1:1/elsewhere") as (url, _):
        finding = found(tmp_path, OPENAI_BASE_URL=url, OPENAI_API_KEY="sk-canary-77")["provider"]
    assert finding.state == "bad"
    assert finding.next_step
    assert told in finding.text
    assert "canary" not in "".join(finding.lines(Redactor(["sk-canary-77"]).report))


def test_doctor_takes_a_server_without_a_list_of_models_for_one(tmp_path: Path) -> None:
    with server(404, {}) as (url, _):
        finding = found(tmp_path, OPENAI_BASE_URL=url)["provider"]
    assert (finding.state, finding.text) == ("note", f"{url}/v1/models: no list of models there (404)")


def test_doctor_names_the_nearest_models_of_a_server_without_the_one_that_is_set(tmp_path: Path) -> None:
    with server(200, {"data": [{"id": "llama-4"}, {"id": "qwen3-coder:30b"}]}) as (url, _):
        finding = found(tmp_path, 'model = "qwen3-coder"', OPENAI_BASE_URL=url)["model"]
    assert (finding.state, finding.text) == ("bad", "the server has no model qwen3-coder")
    assert finding.next_step == "Set model to one of: qwen3-coder:30b"


@pytest.mark.parametrize(
    ("config", "state", "told"),
    [
        ("", "note", "does not say how many tokens it takes, 128,000 are assumed"),
        ("context_window = 8192", "ok", "8,192 tokens as context_window says"),
    ],
)
def test_doctor_tells_the_window_and_who_says_so(tmp_path: Path, config: str, state: str, told: str) -> None:
    with server(200, {"data": [{"id": "gpt-5.5"}]}) as (url, _):
        finding = found(tmp_path, config, OPENAI_BASE_URL=url)["model"]
    assert (finding.state, told in finding.text) == (state, True)


def test_doctor_tells_a_server_that_is_not_there(tmp_path: Path) -> None:
    finding = found(tmp_path, FIDO_BASE_URL="http://127.0.0.1:9")["provider"]
    assert finding.state == "bad"
    assert "http://127.0.0.1:9/v1" in finding.text


def test_doctor_tries_the_search_endpoint(tmp_path: Path) -> None:
    body = {"query": "fido", "results": [{"url": "http://a.test/", "title": "A", "content": "a"}]}
    with server(200, body) as (url, seen):
        finding = found(tmp_path, f'[web]\nsearch_url = "{url}/search"')["websearch"]
    assert (finding.state, finding.text) == ("ok", f"{url}/search answers, 1 results")
    assert seen[0].startswith("/search?")


def test_doctor_says_how_to_have_a_search(tmp_path: Path) -> None:
    finding = found(tmp_path)["websearch"]
    assert (finding.state, "web.search_url" in finding.next_step) == ("note", True)


def test_doctor_says_what_a_wall_around_commands_is_worth() -> None:
    whole, none = Level(landlock=7, seccomp=True), Level(landlock=0, seccomp=True)
    assert commands(True, whole).state == commands(False, whole).state == "ok"
    assert commands(False, none).state == "note"
    assert (commands(True, none).state, bool(commands(True, none).next_step)) == ("bad", True)


def test_doctor_names_what_keeps_the_settings_from_being_read() -> None:
    status, text = doctor("modell = 1")
    assert status == 1
    assert "'modell': unknown setting; did you mean model" in text


def test_nobody_is_sent_to_the_doctor_by_the_doctor() -> None:
    status, told = doctor(OPENAI_API_KEY=SECRET, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert status == 1
    assert "Check the base URL" in told
    assert "fido doctor" not in told


def test_a_state_folder_that_is_not_there_yet_is_named_itself() -> None:
    with home() as at:
        state = at.folder / "far" / "away"
        _, told = doctor(XDG_STATE_HOME=str(state))
    assert f"{state}/fido  (not there yet, which is fine)" in told


def test_wishes_for_keys_are_checked_by_the_screen_and_doctor_says_so() -> None:
    status, text = doctor('[screen.keys]\nfold = ["no such key"]\n')
    assert status == 0
    assert "the screen checks screen.keys" in text
    assert "checks screen.keys" not in doctor()[1]
