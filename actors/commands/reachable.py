"""What `fido doctor` finds where it asks others: the model server and the search endpoint."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Final

from actors.commands.findings import Finding
from actors.compaction.window import ASSUMED_WINDOW
from actors.provider.interface import ProviderError
from actors.provider.opening import open_provider
from actors.provider.servers.dialects import dialect_of
from actors.provider.servers.served import Served, names_of, nearest_names, window_of
from actors.settings.addresses import below
from actors.settings.settings import Settings
from actors.tools.tool import ToolFailure

_NO_LIST: Final = frozenset({404, 405, 501})
"""Statuses of a server that may well answer prompts."""
_HERE: Final = "; `fido doctor` tests"
"""Where a next step goes on with what is being done."""


def servers(settings: Settings) -> Iterator[Finding]:
    """Ask both at once; each has its deadlines."""
    return iter(asyncio.run(_both(settings)))


async def _both(settings: Settings) -> list[Finding]:
    provider, search = await asyncio.gather(_provider(settings), _search(settings))
    return [*provider, search]


async def _provider(settings: Settings) -> list[Finding]:
    """Ask the server for its models: reachable, key taken, model known, window told."""
    if settings.offline:
        return [
            Finding(
                "provider",
                "note",
                "no key and no base URL: the built-in offline model answers, which is no language model",
                "Set OPENAI_API_KEY, or base_url for a local server such as http://localhost:11434/v1.",
            )
        ]
    url = below(settings.endpoint, "/models")
    spoken = f"{dialect_of(settings.endpoint, settings.provider).name}, wire_api {settings.wire_api}"
    try:
        async with AsyncExitStack() as closing:
            models = await (await open_provider(settings, closing)).models()
    except ProviderError as error:
        if error.status in _NO_LIST:
            step = "If chatting works, never mind; else check the path of base_url."
            return [Finding("provider", "note", f"{url}: no list of models there ({error.status})", step)]
        return [Finding("provider", "bad", error.message, _step(error))]
    return [Finding("provider", "ok", f"{url} answers; spoken to as {spoken}"), *_model(settings, models)]


def _model(settings: Settings, models: Sequence[Served]) -> Iterator[Finding]:
    names, model = names_of(models), settings.model
    if names and model not in names:
        near = ", ".join(nearest_names(names, model))
        yield Finding("model", "bad", f"the server has no model {model}", f"Set model to one of: {near}")
        return
    told = window_of(models, model)
    if settings.context_window:
        yield Finding("model", "ok", f"{model}, {settings.context_window:,} tokens as context_window says")
    elif told:
        yield Finding("model", "ok", f"{model}, {told:,} tokens as the server says")
    else:
        text = f"{model}; the server does not say how many tokens it takes, {ASSUMED_WINDOW:,} are assumed"
        yield Finding("model", "note", text, "Set context_window if it takes less, or far more.")


async def _search(settings: Settings) -> Finding:
    from actors.web.search import Search

    if settings.web.search_url is None:
        step = "Set web.search_url to a SearXNG-compatible one to have it."
        return Finding("websearch", "note", "no search endpoint is set, so websearch cannot search", step)
    search = Search(settings.web.search_url)
    try:
        found = await search.ask("fido")
    except ToolFailure as failure:
        return Finding("websearch", "bad", f"{search.place}: {failure.message}", _for_person(failure))
    return Finding("websearch", "ok", f"{search.place} answers, {len(found.results)} results")


def _step(error: ProviderError) -> str:
    step, here, _ = error.next_step.partition(_HERE)
    return f"{step}." if here else step


def _for_person(failure: ToolFailure) -> str:
    """A failure's next step is for a model, which is to tell its user; here the user reads it."""
    _, tell, step = failure.next_step.partition("Tell the user: ")
    return step if tell else "Check web.search_url and the network."
