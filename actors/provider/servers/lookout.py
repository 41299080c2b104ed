"""Finds out in the background how many tokens the model takes; nothing waits for it."""

from collections.abc import Callable

from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.servers.served import window_of


async def look_out(
    provider: DirectProvider, model: str, told: Callable[[int], None], *, again: bool = False
) -> None:
    """Ask the server for its models and tell the window of `model`.

    `again`: once more behind the first answer, when it was not told: some know it of a loaded model alone.
    """
    if not await _ask(provider, model, told) and again:
        await provider.answered.wait()
        await _ask(provider, model, told)


async def _ask(provider: DirectProvider, model: str, told: Callable[[int], None]) -> bool:
    try:
        window = window_of(await provider.models(), model)
    except (TimeoutError, ProviderError):
        return False
    if window:
        told(window)
    return bool(window)
