"""Where the provider sends, what it sends there, and what it never shows: keys, URLs, proxies, TLS."""

import gc
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.provider.interface import ProviderError
from actors.provider.retry import RetryPolicy
from actors.settings.addresses import normalize_base_url
from ipc.messages import ModelAnswer
from tests.fakes.asking import KEY, fail, make, run
from tests.fakes.scripted_server import (
    ScriptedServer,
    call,
    say,
    status,
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(api_key=KEY) as started:
        yield started


# --- keys and addresses -------------------------------------------------------------------------------------


def test_a_wrong_key_is_told_without_showing_it(server: ScriptedServer) -> None:
    error = fail(server.base_url, key="sk-wrong-canary")
    assert error.code == "unauthorized"
    assert error.next_step
    assert "Incorrect API key" in error.message
    assert "sk-wrong-canary" not in repr(error.__dict__)
    assert error.__cause__ is None


@pytest.mark.parametrize("key", ["sk-new\nline", "sk-ключ", "sk with space"])
def test_a_key_that_no_header_can_carry_is_not_sent(server: ScriptedServer, key: str) -> None:
    error = fail(server.base_url, key=key)
    assert error.code == "unauthorized"
    assert key not in error.message
    assert not server.requests


@pytest.mark.report("SEC-03")
def test_a_provider_shows_no_key() -> None:
    provider = make("http://localhost:1/v1")
    assert KEY not in repr(provider) + repr(vars(provider))


def test_a_keyless_server_gets_no_key_and_nothing_meant_for_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "canary")
    with ScriptedServer([say("x")]) as server:
        run(server.base_url, key=None)
        assert "canary" not in str(server.requests[0].headers)
        assert "authorization" not in server.requests[0].headers


def test_requests_say_nothing_about_this_machine(server: ScriptedServer) -> None:
    server.add(say("x"))
    run(server.base_url)
    assert not [name for name in server.requests[0].headers if name.startswith("x-stainless-os")]


@pytest.mark.report("CFG-01", "CFG-02")
@pytest.mark.parametrize(
    "suffix", ["", "/", "//", " ", "/chat/completions", "/chat/completions/", "/responses", "/models/"]
)
def test_base_urls_are_taken_as_people_write_them(server: ScriptedServer, suffix: str) -> None:
    server.add(say("x"))
    run(normalize_base_url(f" {server.base_url}{suffix}"))
    server.assert_done()
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.report("CFG-02")
@pytest.mark.parametrize("suffix", ["", "/", "/chat/completions"])
def test_another_prefix_is_left_alone(suffix: str) -> None:
    with ScriptedServer([say("x")], prefix="/api/paas/v4") as server:
        run(normalize_base_url(server.base_url + suffix))
        server.assert_done()


@pytest.mark.report("CFG-02")
def test_a_bare_host_is_taken_for_its_usual_prefix(server: ScriptedServer) -> None:
    server.add(say("x"))
    run(normalize_base_url(server.base_url.removesuffix("/v1")))
    server.assert_done()


@pytest.mark.report("CFG-01")
def test_a_wrong_path_shows_the_final_url(server: ScriptedServer) -> None:
    error = fail(server.base_url + "/v1")
    assert error.code == "not_found"
    assert server.base_url + "/v1/chat/completions" in error.message


def test_a_redirect_is_told_and_the_key_goes_nowhere(server: ScriptedServer) -> None:
    with ScriptedServer([say("never")]) as other:
        server.add(status(307, {"Location": other.base_url + "/chat/completions"}))
        error = fail(server.base_url)
        assert other.base_url in error.message
        assert not other.requests


def test_a_proxy_is_not_asked_for_this_machine(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    server.add(say("x"))
    run(server.base_url)
    server.assert_done()


def test_a_proxy_carries_requests_to_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([say("x")]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(ProviderError):
            run("http://llm.invalid/v1", retry=RetryPolicy(attempts=1))
        assert proxy.violations == ["no such path: http://llm.invalid/v1/chat/completions"]


# --- TLS ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody trusts, with its key in the same file."""
    path = tmp_path_factory.mktemp("tls") / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(path), "-out", "-"]
    made = subprocess.run([*command, *subject, *files], capture_output=True, check=True, timeout=30)
    path.write_bytes(path.read_bytes() + made.stdout)
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ScriptedServer(tls=context) as started:
        yield started


def test_a_trusted_server_is_spoken_to_over_one_secure_connection(
    secure: ScriptedServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.add(say("a"), call("f", {}), say("b"))
    answers = [e for e in run(secure.base_url, turns=3) if isinstance(e, ModelAnswer)]
    assert [a.text for a in answers] == ["a", "", "b"]
    assert {r.connection for r in secure.requests} == {1}


@pytest.mark.fault(16, says="a certificate that is not trusted")
def test_a_certificate_that_is_not_trusted_is_refused_at_once(secure: ScriptedServer) -> None:
    error = fail(secure.base_url)
    assert error.code == "unreachable"
    assert "certificate" in error.message
    assert secure.connections == 1


# --- loading ------------------------------------------------------------------------------------------------


def test_constructing_imports_nothing_and_preparing_leaves_the_loop_alive() -> None:
    code = """
import asyncio, sys, time
from actors.provider.direct import DirectProvider
from actors.provider.servers.server import Server
from actors.settings.tables import Timeouts

async def main():
    provider = DirectProvider(Server("http://127.0.0.1:1/v1"), Timeouts())
    assert "openai" not in sys.modules and "httpx2" not in sys.modules
    provider.prepare()
    loop, beats = asyncio.get_running_loop(), []

    def beat():
        beats.append(loop.time())
        loop.call_later(0.005, beat)

    beat()
    await provider._sender()
    print(len(beats))

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
    )
    assert int(done.stdout) >= 3


def test_nothing_is_left_open_after_closing(server: ScriptedServer) -> None:
    server.add(say("x"))
    before = len(os.listdir("/proc/self/fd"))
    run(server.base_url)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
