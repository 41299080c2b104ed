"""Asks a SearXNG-compatible endpoint, the one that a person has set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import msgspec

from actors.tools.tool import ToolFailure
from actors.web.fetch import Fetched, Fetcher, Request
from actors.web.outside import one_line
from actors.web.urls import read_url, without_password

MAX_RESULTS: Final = 10
MAX_SNIPPET: Final = 400
MAX_ENGINE: Final = 60
_BODY_BYTES: Final = 2 << 20
_FORBIDDEN: Final = 403
_NEXT: Final = "Go on without a search, or browse a URL that is known; tell the user."


@dataclass(frozen=True, slots=True)
class Result:
    """One find; everything in it was written by somebody else."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Results:
    """What a search brought."""

    answers: tuple[str, ...]
    """Short direct answers, where an engine has one."""
    results: tuple[Result, ...]
    silent: tuple[str, ...]
    """Engines that did not answer."""


class Search:
    """Knows the endpoint; what stands in its URL before an @ is sent as its password and shown to nobody."""

    def __init__(self, search_url: str) -> None:
        """Raises `ValueError` when that is no URL."""
        parts = urlsplit(search_url.strip())
        user, at, place = parts.netloc.rpartition("@")
        self._headers = {"Authorization": _basic(user)} if at else {}
        self._endpoint = read_url(urlunsplit((parts.scheme, place, parts.path, parts.query, "")))
        # The person named it: it may be on this machine, as a SearXNG of one's own usually is.
        self._fetcher = Fetcher((self._endpoint.authority, self._endpoint.host))

    @property
    def place(self) -> str:
        """The endpoint, for a person: without a password, and without a query, which may hold a key."""
        return self._endpoint.url.partition("?")[0]

    async def ask(self, query: str) -> Results:
        """Search. Raises `ToolFailure`."""
        path, _, given = self._endpoint.path.partition("?")
        asked = urlencode({"q": query, "format": "json"}, quote_via=quote)
        target = read_url(
            f"{self._endpoint.scheme}://{self._endpoint.authority}{path}?"
            + "&".join(filter(None, (given, asked)))
        )
        fetched = await self._fetcher.get(target, Request("application/json", _BODY_BYTES, self._headers))
        return read_results(fetched, self._endpoint.authority)


def _basic(user: str) -> str:
    from base64 import b64encode
    from urllib.parse import unquote

    return f"Basic {b64encode(unquote(user).encode()).decode()}"


def read_results(fetched: Fetched, place: str) -> Results:
    """Understand the answer of an endpoint, called `place` for a person. Raises `ToolFailure`."""
    if fetched.status == _FORBIDDEN:
        raise ToolFailure(
            "search_refused",
            f"{place} answered 403: most likely its JSON format is off.",
            "Tell the user: search.formats in the settings.yml of that SearXNG has to hold json.",
        )
    if location := fetched.headers.get("location"):
        message = f"{place} redirects to {without_password(location)}."
        raise ToolFailure("search_failed", message, "Tell the user to set web.search_url to where it leads.")
    if fetched.status != 200:
        raise ToolFailure(
            "search_failed",
            f"{place} answered {fetched.status} {one_line(fetched.reason, MAX_ENGINE)}.",
            _NEXT,
        )
    try:
        found = msgspec.json.decode(fetched.body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise ToolFailure(
            "search_failed",
            f"{place} did not answer in the JSON of SearXNG.",
            "Tell the user to check web.search_url; it has to be the search page itself, as in https://HOST/search.",
        ) from None
    return Results(
        answers=tuple(
            filter(None, (one_line(_text_of(each), MAX_SNIPPET) for each in _list(found, "answers")))
        ),
        results=tuple(_results(_list(found, "results")))[:MAX_RESULTS],
        silent=tuple(one_line(_text_of(each), MAX_ENGINE) for each in _list(found, "unresponsive_engines")),
    )


def _results(entries: list[Any]) -> "list[Result]":
    """Those that lead to a web page, each page once."""
    found: dict[str, Result] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("url"), str):
            continue
        try:
            url = read_url(entry["url"])
        except ValueError:
            continue
        title, snippet = (one_line(str(entry.get(key) or ""), MAX_SNIPPET) for key in ("title", "content"))
        found.setdefault(url.whole, Result(title or url.host, url.whole, snippet))
    return list(found.values())


def _list(found: Mapping[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _text_of(entry: object) -> str:
    """Versions of SearXNG differ: a text, a table with one, or a pair of an engine and why."""
    if isinstance(entry, Mapping):
        entry = entry.get("answer") or entry.get("content") or ""
    if isinstance(entry, list):
        return ": ".join(map(str, entry))
    return entry if isinstance(entry, str) else ""
