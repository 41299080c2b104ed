"""`websearch`: one query to the search endpoint that a person has set."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput
from actors.web.outside import OUTSIDE

if TYPE_CHECKING:
    from actors.web.search import Results, Search

MAX_QUERY: Final = 1000
"""Characters."""

_HOW: Final = (
    'Tell the user to put search_url = "https://HOST/search" under [web] in their own config.toml, '
    "HOST being a SearXNG whose JSON format is on; until then browse a URL that is known."
)


class WebsearchInput(ToolInput):
    """What to look for."""

    query: str


class Websearch:
    """Searches the web; without an endpoint it says how to set one."""

    name: ClassVar[str] = "websearch"
    effect: ClassVar[Effect] = "web"
    input: ClassVar[type[WebsearchInput]] = WebsearchInput

    def __init__(self, search: "Callable[[], Search] | None") -> None:
        """`search` is called when something is sought; null: no endpoint is set."""
        self._search = search

    def summary(self, given: WebsearchInput) -> str:
        return " ".join(given.query.split())

    def preview(self, given: WebsearchInput) -> str:
        """The words that leave this machine, and for where. Raises `ToolFailure` when none can."""
        return f"{self.summary(given)}\n\nsent to {self._ready(given).place}"

    async def run(self, given: WebsearchInput, invocation: Invocation) -> ToolOutput:
        return _told(await self._ready(given).ask(self.summary(given)))

    def _ready(self, given: WebsearchInput) -> "Search":
        if self._search is None:
            raise ToolFailure("search_not_set", "No search endpoint is set, so there is no web search.", _HOW)
        if not 0 < (length := len(self.summary(given))) <= MAX_QUERY:
            message = f"A query has 1 to {MAX_QUERY:,} characters; this one has {length:,}."
            raise ToolFailure("bad_query", message, "Search for a few words.")
        return self._search()


def _told(found: "Results") -> ToolOutput:
    lines = [f"Answer: {answer}" for answer in found.answers]
    for number, result in enumerate(found.results, 1):
        lines += [
            f"{number}. {result.title}",
            f"   {result.url}",
            *([f"   {result.snippet}"] if result.snippet else []),
        ]
    if not lines:
        lines.append("[nothing found]")
    if found.silent and not found.results:
        lines.append(f"[engines that did not answer: {', '.join(found.silent)}]")
    return ToolOutput("\n".join([OUTSIDE, *lines]), "\n".join(lines))
