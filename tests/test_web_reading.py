"""A page is read by a process of its own: what it makes of pages that mean harm, and what it may do."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.process_tree import children
from actors.tools.tool import ToolFailure
from actors.web.extract import MAX_LINE, Order, Page, read_page
from actors.web.reading import read
from tests.fakes.launch import DEADLINE_S

ROOT = Path(__file__).parent.parent
MIB = 1 << 20
HOSTILE = {
    "nested": "<div>" * (MIB // 5),
    "misnested": "<a><p><b><table>" * (MIB // 32),
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x",
    "brackets": "<" * (2 * MIB),
    "links": "<a href=/x>x</a>" * (MIB // 16),
    "entities": "&amp;" * (2 * MIB // 5),
    "no lines": "x" * (2 * MIB),
    "null": "\0" * MIB,
    "unclosed": "<script>" + "x" * MIB,
}


def order(**more: object) -> Order:
    return Order(is_html=True, charset="", url="http://site.example/a", fragment="", line=1, room=1000) | more  # type: ignore[return-value]


def text_of(html: str, **more: object) -> Page:
    return asyncio.run(read(order(**more), html.encode()))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_ends_in_time_as_a_text_or_one_failure(name: str) -> None:
    started = time.monotonic()
    code, text = "", ""
    try:
        text = asyncio.run(read(order(), HOSTILE[name].encode(), 1.0))["text"]
    except ToolFailure as failed:
        code = failed.code
    assert time.monotonic() - started < DEADLINE_S
    assert code in ("", "unreadable_page")
    assert len(text.encode()) <= 1000
    assert children(os.getpid()) == []


async def reader_of(reading: "asyncio.Task[Page]") -> int:
    """Wait until a page is being read; the process that does."""
    async with asyncio.timeout(DEADLINE_S):
        while not (found := children(os.getpid())):  # noqa: ASYNC110 - the kernel knows, and no event
            await asyncio.sleep(0)
    assert not reading.done()
    return found[0]


def test_a_reader_that_is_given_up_is_gone() -> None:
    async def given_up() -> None:
        reading = asyncio.ensure_future(read(order(), HOSTILE["attributes"].encode()))
        await reader_of(reading)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(given_up())
    assert children(os.getpid()) == []


def test_a_reader_that_dies_is_one_failure() -> None:
    async def killed() -> str:
        reading = asyncio.ensure_future(read(order(), HOSTILE["attributes"].encode()))
        os.kill(await reader_of(reading), signal.SIGKILL)
        with pytest.raises(ToolFailure) as failed:
            await reading
        return failed.value.code

    assert asyncio.run(killed()) == "unreadable_page"


ESCAPES = """
import os, socket
from actors.web import extract
extract._confine()
def tried(name, act):
    try:
        act()
    except OSError:
        return
    print(name)
tried("read", lambda: open("/etc/passwd").read())
tried("write", lambda: open("/tmp/fido-was-here", "w"))
tried("connect", lambda: socket.create_connection(("127.0.0.1", 1), 1))
tried("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
tried("run", lambda: os.execv("/bin/true", ["true"]))
tried("kill", lambda: os.kill(os.getppid(), 0))
print("secrets", [name for name in os.environ if name != "LC_CTYPE"], flush=True)
"""


def test_a_reader_that_was_taken_over_reaches_nothing_and_has_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    code = f"import sys; sys.path.append({str(ROOT)!r})\n{ESCAPES}"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code], env={}, capture_output=True, text=True, timeout=20
    )
    assert (ran.stdout, ran.stderr) == ("secrets []\n", "")


def test_invisible_characters_are_dropped_and_long_lines_folded() -> None:
    page = text_of("<p>a\u202eb\u200bc\U000e0041d\x1b[31me</p><p>" + "x" * 2500, room=10_000)
    assert page["text"].startswith("abcd[31me\n")
    assert max(map(len, page["text"].split("\n"))) == MAX_LINE
    assert page["text"].count("x") == 2500


def test_what_calls_itself_main_but_says_nothing_is_not_all() -> None:
    page = text_of(
        "<main><p>Loading…</p></main><div>" + "<p>The real words.</p>" * 20 + "</div>", room=10_000
    )
    assert "The real words." in page["text"]


def test_what_belongs_to_the_site_is_left_out_and_what_belongs_to_an_article_stays() -> None:
    site = "<div><header>Banner <nav>Menu</nav></header>{}<aside>Advert</aside><footer>Imprint</footer></div>"
    article = "<article><header><h1>Title</h1></header><p>Words.</p><aside>A note.</aside></article>"
    text = text_of(site.format(article))["text"]
    assert [line for line in text.split("\n") if line] == ["# Title", "Words.", "A note."]


def test_links_follow_the_base_of_the_page_and_lead_to_pages_only() -> None:
    html = (
        "<base href='https://other.example/deep/'><p><a href='x'>one</a> <a href='javascript:y()'>two</a> "
        "<a href='mailto:z@z'>three</a> <a href='http://[bad'>four</a> "
        "<a href='//s.example/'>s.example</a></p>"
    )
    assert text_of(html)["text"] == (
        "one (https://other.example/deep/x) two three four s.example (https://s.example/)"
    )


PIECES = (
    "<p>", "</p>", "<a href='x", "'>", "<pre>", "<h1>", "<main>", "</main>", "\u65e5", "&#0;",
    "<base href=//[", "<!--", "<table>", "<svg>", "<template>", "<body>", "</html>", "\udcff", "text",
    "<a href=http://[>", "<p id=f>",
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES)),
    st.sampled_from(["", "utf-8", "latin-1", "no such", "utf-16", "idna", "\x00", "base64", "punycode"]),
    st.integers(1, 9),
    st.integers(0, 50),
    st.booleans(),
)
def test_any_bytes_in_any_encoding_are_a_page_within_its_room(
    pieces: list[str], charset: str, line: int, room: int, is_html: bool
) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    page = read_page(order(is_html=is_html, charset=charset, fragment="f", line=line, room=room), data)
    assert len(page["text"].encode()) <= room
    assert page["last_line"] <= page["lines"]
    json.dumps(page)
