"""browse_url: what of the web is reached, how much of it is taken, and what a model sees of it."""

import asyncio
import gzip
import itertools
import ssl
import subprocess
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.tools.browse_url import BrowseUrl
from actors.tools.tool import ToolFailure
from actors.web.browser import BODY_BYTES, ROOM, Browser
from actors.web.fetch import REDIRECTS, Fetcher, Request
from actors.web.outside import OUTSIDE
from actors.web.urls import read_url
from tests.fakes.calling import call, refusal
from tests.fakes.launch import DEADLINE_S
from tests.fakes.raw_server import RawServer
from tests.fakes.website import Answer, Website, page, redirect

HOME = """<!doctype html><html><head><title>Home &amp; hearth</title><style>p{}</style></head><body>
<nav><a href="/menu">Menu</a></nav>
<main><h1>Welcome</h1><p>Read the <a href="guide?q=1#top">guide</a> or <a href="#x">below</a>.</p>
<pre><code>if x:
    y()</code></pre><ul><li>one</li><li>two</li></ul>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<script>alert("script")</script><p hidden>hidden order</p><p style="display:none">unseen order</p>
<p>Soft\u00ad hyphen and \U000e0041\U000e0042tags.</p></main><footer>Imprint</footer></body></html>"""


def browser(*excepted: str, **more: object) -> BrowseUrl:
    made = Browser(Fetcher(excepted or ("localhost",), **more))  # type: ignore[arg-type]
    return BrowseUrl(lambda: made)


def resolver(*answers: Sequence[str]) -> tuple[list[str], object]:
    """Who was asked for, and a resolver that gives its answers in turn, the last one for good."""
    names: list[str] = []
    left = itertools.chain(answers, itertools.repeat(answers[-1]))

    async def resolve(host: str, port: int) -> Sequence[str]:
        names.append(host)
        return next(left)

    return names, resolve


@pytest.fixture
def site() -> Iterator[Website]:
    long = "".join(f"<p>paragraph {n} {'x' * 60}</p>" for n in range(1, 2001))
    pages = {
        "/": page(HOME),
        "/long": page(f"<h1>Long</h1>{long}<h2 id='end'>The end</h2><p>Amen.</p>"),
        "/moved": redirect("/", 301),
        "/round": redirect("/round"),
        "/file": redirect("file:///etc/passwd"),
        "/json": page('{"a": [1, 2]}', "application/json"),
        "/pdf": Answer(b"%PDF-1.7\n" + bytes(range(256)), "application/pdf"),
        "/png": Answer(b"\x89PNG\r\n\x1a\n" + bytes(100), "text/plain"),
        "/binary": Answer(bytes(range(256)), "text/plain"),
        "/untyped": page("<!DOCTYPE html><h1>Plain</h1>", ""),
        "/latin": Answer("caf\u00e9".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        "/meta": Answer("<meta charset=shift_jis><p>\u65e5\u672c".encode("shift_jis"), "text/html"),
        "/wide": Answer("\u65e5\u672c".encode("utf-16"), "text/plain"),
        "/lies": Answer("\u65e5\u672c".encode(), "text/plain; charset=no-such"),
        "/limit": Answer(b"slow down", "text/plain", 429, {"Retry-After": "7"}),
        "/login": Answer(b"<h1>Who are you?</h1>", status=401),
        "/empty": page("<html><body><script>app()</script></body></html>"),
    }
    with Website(pages) as started:
        yield started


# --- what a model sees --------------------------------------------------------------------------------------


def test_a_page_is_its_title_its_main_text_and_its_links(site: Website) -> None:
    output = call(browser(), url=site.url())
    lines = output.content.splitlines()
    assert lines[:4] == [OUTSIDE, f"URL: {site.url()}", "Title: Home & hearth", ""]
    text = "\n".join(lines[4:])
    assert f"Read the guide ({site.url('/guide?q=1#top')}) or below." in text
    assert "# Welcome" in text
    assert "```\nif x:\n    y()\n```" in text
    assert all(seen in text for seen in ("one", "two", "A", "2", "Soft hyphen and tags."))
    for unseen in ("Menu", "Imprint", "script", "hidden order", "unseen order", "p{}"):
        assert unseen not in text
    assert output.display.startswith("Home & hearth\n# Welcome")


def test_a_long_page_is_read_on_to_its_end_without_a_gap(site: Website) -> None:
    url, seen = site.url("/long"), ""
    for _ in range(10):
        content = call(browser(), url=url).content
        assert len(content.encode()) < ROOM + 1000
        text, cut, note = content.partition("\n[lines ")
        seen += text.partition("\n\n")[2] + "\n"
        if not cut:
            break
        url = note.partition("to read on: ")[2].rstrip("]")
    numbers = [int(line.split()[1]) for line in seen.splitlines() if line.startswith("paragraph")]
    assert numbers == list(range(1, 2001))
    assert seen.rstrip().endswith("Amen.")
    past = call(browser(), url=site.url("/#line=9999")).content
    assert "none from 9999 on" in past


def test_a_fragment_is_where_reading_begins(site: Website) -> None:
    content = call(browser(), url=site.url("/long#end")).content
    assert content.partition("\n\n")[2] == "## The end\n\nAmen."


def test_texts_are_shown_as_they_are_in_the_encoding_that_is_theirs(site: Website) -> None:
    shown = {path: call(browser(), url=site.url(path)).content.splitlines()[-1] for path in (
        "/json", "/latin", "/meta", "/wide", "/lies", "/untyped")}  # fmt: skip
    assert shown == {
        "/json": '{"a": [1, 2]}', "/latin": "café", "/meta": "日本", "/wide": "日本", "/lies": "日本",
        "/untyped": "# Plain",
    }  # fmt: skip


def test_what_is_no_text_is_named_with_its_size_and_not_dumped(site: Website) -> None:
    for path, name in (("/pdf", "PDF"), ("/png", "PNG image"), ("/binary", "text/plain")):
        content = call(browser(), url=site.url(path)).content
        assert name in content
        assert "bytes" in content
        assert len(content) < 300


def test_a_page_without_text_says_so(site: Website) -> None:
    assert call(browser(), url=site.url("/empty")).content.endswith("[no readable text]")


def test_an_error_of_the_server_is_a_failure_with_its_words(site: Website) -> None:
    missing = refusal(browser(), url=site.url("/no"))
    assert (missing.code, "404" in missing.message, "Nothing here" in missing.message) == (
        "http_error",
        True,
        True,
    )
    assert "no instruction: # Nothing here" in missing.message
    assert "7 s" in refusal(browser(), url=site.url("/limit")).next_step
    assert "login" in refusal(browser(), url=site.url("/login")).next_step


# --- what is reached ----------------------------------------------------------------------------------------


def test_nothing_private_is_asked_unless_it_is_excepted(site: Website) -> None:
    for host in ("127.0.0.1", "localhost", "[::1]", "0x7f.1"):
        assert refusal(browser("other"), url=site.url("/", host)).code == "private_address"
    refused = refusal(browser("other"), url=f"http://localhost:{site.port}/")
    assert "loopback" in refused.message
    assert "web.private_hosts" in refused.next_step
    assert site.asked == []
    call(browser(f"127.0.0.1:{site.port}"), url=site.url("/", "127.0.0.1"))
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::ffff:127.0.0.1", "fd00::1"]
)
def test_a_public_name_with_a_private_address_is_not_asked_whatever_else_it_has(
    site: Website, address: str
) -> None:
    names, resolve = resolver(["93.184.216.34", address])
    refused = refusal(browser("other", resolve=resolve), url=site.url("/", "site.example"))
    assert refused.code == "private_address"
    assert address in refused.message
    assert names == ["site.example"]
    assert site.asked == []


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(site: Website) -> None:
    names, resolve = resolver(["127.0.0.1"], ["127.0.0.2"])
    with Website({"/": page("another")}, address="127.0.0.2", port=site.port) as other:
        call(browser("site.example", resolve=resolve), url=site.url("/", "site.example"))
        assert other.asked == []
    assert names == ["site.example"]
    assert site.asked[0].headers["host"] == f"site.example:{site.port}"


def test_another_address_of_the_host_is_tried_where_one_does_not_answer(site: Website) -> None:
    _, resolve = resolver(["127.0.0.3", "127.0.0.1"])
    assert (
        "Welcome" in call(browser("site.example", resolve=resolve), url=site.url("/", "site.example")).content
    )


def test_a_redirect_is_followed_on_its_host_and_judged_anew(site: Website) -> None:
    assert "Welcome" in call(browser(), url=site.url("/moved")).content
    with Website({"/": page("inner")}) as inner:
        site_pages = {"/": redirect(inner.url("/"))}
        with Website(site_pages) as outer:
            refused = refusal(browser(f"localhost:{outer.port}"), url=outer.url())
            assert refused.code == "private_address"
        assert inner.asked == []


def test_a_redirect_to_another_host_is_told_and_not_followed() -> None:
    with (
        Website({"/": page("inner")}) as inner,
        Website({"/": redirect(inner.url("/", "127.0.0.1"))}) as outer,
    ):
        refused = refusal(browser("localhost", "127.0.0.1"), url=outer.url())
        assert refused.code == "redirected"
        assert inner.url("/", "127.0.0.1") in refused.message
        assert inner.asked == []


def test_redirects_are_bounded_and_lead_nowhere_else(site: Website) -> None:
    assert refusal(browser(), url=site.url("/round")).code == "too_many_redirects"
    assert len(site.asked) == REDIRECTS + 1
    assert refusal(browser(), url=site.url("/file")).code == "bad_redirect"


def test_no_cookie_and_no_credential_is_ever_sent(
    site: Website, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine localhost login me password canary", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    call(browser(), url=site.url("/moved"))
    assert len(site.asked) == 2
    for asked in site.asked:
        assert not asked.headers.keys() & {"cookie", "authorization", "referer"}
        assert "canary" not in str(asked.headers)


@pytest.mark.parametrize(
    "url", ["ftp://localhost/", "file:///etc/passwd", "localhost", "http://me:canary@localhost/"]
)
def test_only_plain_web_urls_are_browsed(url: str) -> None:
    refused = refusal(browser(), url=url)
    assert refused.code == "bad_url"
    assert "canary" not in refused.message
    assert "canary" not in browser().summary(BrowseUrl.input(url=url))


@given(st.text() | st.builds("http://{}{}".format, st.sampled_from(["a@", "[", "1.", "ü", ""]), st.text()))
def test_no_text_of_a_model_is_more_than_a_bad_url(url: str) -> None:
    given_url = BrowseUrl.input(url=url)
    assert isinstance(browser().summary(given_url), str)
    shown = ""
    try:
        shown = browser().preview(given_url)
    except ToolFailure as failed:
        shown = failed.code
    assert shown in ("bad_url", "private_address") or shown.startswith("GET http://")


def test_a_preview_shows_the_host_as_it_is_asked() -> None:
    assert browser().preview(BrowseUrl.input(url="https://ex\u0430mple.org/?q=ü")) == (
        "GET https://xn--exmple-4nf.org/?q=%C3%BC"
    )


# --- how much and how long ----------------------------------------------------------------------------------


def test_of_a_body_without_an_end_only_the_first_part_is_taken() -> None:
    endless = Answer(itertools.repeat(b"word " * 20_000), "text/plain")
    with Website({"/": endless}) as site:
        content = call(browser(), url=site.url()).content
    assert f"[only the first {BODY_BYTES >> 20} MiB were read]" in content


def test_a_body_that_inflates_is_taken_to_the_same_bound() -> None:
    bomb = gzip.compress(b"a" * (4 * BODY_BYTES))
    raw = zlib.compress(b"small", wbits=-15)
    answers = {
        "/": Answer(bomb, "text/plain", headers={"Content-Encoding": "gzip"}),
        "/deflate": Answer(raw, "text/plain", headers={"Content-Encoding": "deflate"}),
        "/broken": Answer(b"no gzip", "text/plain", headers={"Content-Encoding": "gzip"}),
    }
    with Website(answers) as site:
        assert "MiB were read]" in call(browser(), url=site.url()).content
        assert call(browser(), url=site.url("/deflate")).content.endswith("small")
        assert refusal(browser(), url=site.url("/broken")).code == "broken_answer"


def test_a_server_that_dawdles_is_given_up() -> None:
    silent = [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegin", b""]
    with RawServer(lambda number: silent) as server:
        refused = refusal(browser(total_s=0.3), url=f"http://localhost:{server.port}/")
    assert (refused.code, "0.3 s" in refused.message) == ("timeout", True)


def test_a_server_that_speaks_something_else_is_an_answer_that_broke_off() -> None:
    for bytes_ in (
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
        b"\0" * 100,
    ):
        with RawServer(lambda number, sent=bytes_: [sent]) as server:  # type: ignore[misc]
            assert refusal(browser(), url=f"http://localhost:{server.port}/").code == "broken_answer"


def test_a_host_that_is_not_there_is_told() -> None:
    refused = refusal(browser(), url="http://localhost:1/")
    assert (refused.code, "localhost:1 " in refused.message) == ("unreachable", True)

    async def nobody(host: str, port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    assert "not known" in refusal(browser(resolve=nobody), url="http://nobody.example/").message


# --- TLS and proxies ----------------------------------------------------------------------------------------


def test_a_certificate_is_checked_for_the_name_although_an_address_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, made = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=site.example", "-addext", "subjectAltName=DNS:site.example"]
    line = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        [*line, "-keyout", key, "-out", made, *subject], check=True, capture_output=True, timeout=20
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)
    _, resolve = resolver(["127.0.0.1"])
    tool = browser("site.example", "other.example", resolve=resolve)
    with Website({"/": page("safe")}, tls=tls) as site:
        untrusted = refusal(tool, url=site.url("/", "site.example"))
        assert (untrusted.code, "certificate" in untrusted.message) == ("unreachable", True)
        monkeypatch.setenv("SSL_CERT_FILE", str(made))
        assert "safe" in call(tool, url=site.url("/", "site.example")).content
        assert "certificate" in refusal(tool, url=site.url("/", "other.example")).message
        assert [asked.headers["host"] for asked in site.asked] == [f"site.example:{site.port}"]


def test_certificates_that_are_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such.pem")
    refused = refusal(browser(), url="https://localhost:1/")
    assert (refused.code, "SSL_CERT_FILE" in refused.next_step) == ("no_certificates", True)


def test_through_a_proxy_a_host_is_judged_by_its_name_and_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Website(lambda path: page(f"proxied {path}", "text/plain")) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:canary@127.0.0.1:{proxy.port}")
        content = call(browser("other"), url="http://site.example/x").content
        assert "proxied http://site.example" in content
        assert "through a proxy" in content
        assert "canary" not in content
        count = len(proxy.asked)
        for url in ("http://10.0.0.1/", "http://intranet/", "http://db.internal/", "http://169.254.169.254/"):
            assert refusal(browser("other"), url=url).code == "private_address"
        assert len(proxy.asked) == count
        with Website({"/": page("here", "text/plain")}) as site:
            assert "here" in call(browser(), url=site.url()).content
        monkeypatch.setenv("no_proxy", "site.example")
        names, resolve = resolver(["10.0.0.1"])
        refused = refusal(browser("other", resolve=resolve), url="http://site.example/x")
        assert (refused.code, names) == ("private_address", ["site.example"])


def test_an_unusable_proxy_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("socks5://me:canary@127.0.0.1:9", "gopher://me:canary@127.0.0.1:9", "me:canary@["):
        monkeypatch.setenv("http_proxy", proxy)
        refused = refusal(browser("other"), url="http://site.example/")
        assert (refused.code, "canary" in refused.message) == ("unusable_proxy", False)
    monkeypatch.setenv("http_proxy", "http://me:canary@127.0.0.1:9")
    refused = refusal(browser("other"), url="http://site.example/")
    assert (refused.code, "proxy" in refused.message) == ("unreachable", True)
    assert "canary" not in refused.message


def test_a_fetch_that_is_cancelled_leaves_nothing_behind() -> None:
    arrived = threading.Event()

    def respond(number: int) -> Iterator[bytes]:
        arrived.set()
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        yield b""

    async def cancelled() -> None:
        with RawServer(respond) as server:
            target = read_url(f"http://localhost:{server.port}/")
            fetching = asyncio.ensure_future(Fetcher(["localhost"]).get(target, Request("*/*", 10)))
            assert await asyncio.to_thread(arrived.wait, DEADLINE_S)
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancelled())
