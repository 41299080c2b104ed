"""websearch: a query to the endpoint that a person has set, and what to do where there is none."""

import base64
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.tools.tool import ToolFailure
from actors.tools.websearch import MAX_QUERY, Websearch
from actors.web.fetch import Fetched
from actors.web.outside import OUTSIDE
from actors.web.search import MAX_RESULTS, MAX_SNIPPET, Search, read_results
from actors.web.urls import read_url
from tests.fakes.calling import call, refusal
from tests.fakes.website import Answer, Website, page, redirect

FOUND = {
    "query": "zmq",
    "answers": ["42", {"answer": "forty-two"}],
    "results": [
        {
            "url": "https://zeromq.org/",
            "title": "Zero\u200bMQ\n",
            "content": "An   open-source library " + "x" * 900,
        },
        {"url": "https://zeromq.org/", "title": "the same page"},
        {"url": "javascript:alert(1)", "title": "no page"},
        {"url": "https://user:pw@evil.example/", "title": "with a password"},
        {"title": "without a URL"},
        {"url": "https://example.org/a b", "title": "no URL"},
        "no result",
        *({"url": f"https://example.org/{n}", "title": None, "content": None} for n in range(20)),
    ],
}
JSON = "application/json"


def search(site: Website, path: str = "/search") -> Websearch:
    return Websearch(lambda: Search(site.url(path)))


def test_results_are_titles_urls_and_short_snippets_marked_as_outside_text() -> None:
    with Website({"/search": page(json.dumps(FOUND), JSON)}) as site:
        content = call(search(site), query=" what is\nzmq? ").content
    lines = content.splitlines()
    assert lines[:4] == [OUTSIDE, "Answer: 42", "Answer: forty-two", "1. ZeroMQ"]
    assert lines[4] == "   https://zeromq.org/"
    assert lines[5].startswith("   An open-source library x")
    assert len(lines[5]) == 3 + MAX_SNIPPET
    assert "2. example.org" in lines
    assert sum(line.startswith("   https://") for line in lines) == MAX_RESULTS
    assert not any(word in content for word in ("javascript", "pw@", "the same page", "no URL"))
    assert parse_qs(urlsplit(site.asked[0].path).query) == {"q": ["what is zmq?"], "format": ["json"]}


def test_without_an_endpoint_the_result_says_how_to_set_one_before_anybody_is_asked() -> None:
    refused = refusal(Websearch(None), query="zmq")
    assert refused.code == "search_not_set"
    assert "search_url" in refused.next_step
    assert "[web]" in refused.next_step
    with pytest.raises(ToolFailure, match="No search endpoint"):
        Websearch(None).preview(Websearch.input(query="zmq"))


def test_a_password_of_the_endpoint_is_sent_to_it_and_shown_to_nobody() -> None:
    with Website({"/search": page('{"results": []}', JSON)}) as site:
        url = site.url("/search?token=canary").replace("://", "://me:can%C3%A4ry@")
        tool = Websearch(lambda: Search(url))
        shown = call(tool, query="x").content + tool.preview(Websearch.input(query="x"))
    (asked,) = site.asked
    assert asked.headers["authorization"] == f"Basic {base64.b64encode('me:canäry'.encode()).decode()}"
    assert parse_qs(urlsplit(asked.path).query) == {"token": ["canary"], "q": ["x"], "format": ["json"]}
    assert f"sent to {site.url('/search')}" in shown
    assert "can" not in shown.replace(OUTSIDE, "")


def test_what_goes_wrong_says_what_to_do() -> None:
    answers = {
        "/off": Answer(b"Forbidden", status=403),
        "/down": Answer(b"oops", status=502),
        "/html": page("<h1>results</h1>"),
        "/list": page("[]", JSON),
        "/deep": page("[" * 100_000, JSON),
        "/elsewhere": redirect("https://other.example/"),
        "/moved": redirect("/search"),
    }
    codes = {}
    with Website(answers) as site:
        for path in answers:
            refused = refusal(search(site, path), query="x")
            codes[path] = refused.code
            assert "localhost" in refused.message
        assert "json" in refusal(search(site, "/off"), query="x").next_step
    assert codes == {path: "search_refused" if path == "/off" else "search_failed" for path in answers}
    assert refusal(search(site), query="x").code == "unreachable"


def test_a_query_has_words_and_a_bound() -> None:
    with Website({}) as site:
        for query in ("", " \n", "x" * (MAX_QUERY + 1)):
            assert refusal(search(site), query=query).code == "bad_query"
        assert site.asked == []


def test_nothing_found_names_the_engines_that_were_silent() -> None:
    found = {"results": [], "unresponsive_engines": [["google", "CAPTCHA"], "bing"]}
    with Website({"/search": page(json.dumps(found), JSON)}) as site:
        content = call(search(site), query="x").content
    assert "[nothing found]" in content
    assert "google: CAPTCHA, bing" in content


@pytest.mark.parametrize("url", ["", "search.example.org", "ftp://x/", "https://a b/"])
def test_an_endpoint_that_is_no_url_is_refused_when_it_is_set(url: str) -> None:
    with pytest.raises(ValueError, match=r"has to|holds"):
        Search(url)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just("https://a.example/"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["url", "title", "content", "answer"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["results", "answers", "unresponsive_engines", "infoboxes"]), ANY))
def test_whatever_json_an_endpoint_sends_becomes_results(sent: dict[str, object]) -> None:
    body = json.dumps(sent).encode()
    found = read_results(
        Fetched(read_url("https://s.example/"), 200, "OK", {}, body, False, False), "s.example"
    )
    assert all(result.url.startswith("https://") and result.title for result in found.results)
