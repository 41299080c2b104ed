"""The files of a workspace for a person who names one: all that the ignore rules let in, bounded."""

import asyncio
from typing import Final

from actors.files.rg import WALK, run_rg, search_place
from actors.files.workspace import Workspace
from actors.tools.tool import ToolFailure
from ipc.messages import PathsListed, Refused

MAX_PATHS: Final = 100_000
DEADLINE_S: Final = 3.0
"""Time to look for them: well below what a screen waits, or what was found by then would be lost."""


class _Enough(Exception):
    """There are more files than are listed."""


async def list_paths(
    workspace: Workspace, most: int = MAX_PATHS, deadline_s: float = DEADLINE_S
) -> PathsListed | Refused:
    """List at most so many files; what is private is left out, and what was not found in time."""
    found: list[bytes] = []
    rest = b""

    def take(chunk: bytes) -> None:
        nonlocal rest
        *paths, rest = (rest + chunk).split(b"\0")
        found.extend(paths)
        if len(found) > most:
            raise _Enough

    try:
        where, _ = search_place(workspace, "")
        end = await run_rg([*WALK, "--files", "--null", *where], workspace.root, take, deadline_s)
    except _Enough:
        return await asyncio.to_thread(_listed, found[:most], is_cut=True)
    except ToolFailure as failure:
        return Refused(code=failure.code, message=failure.message, next_step=failure.next_step)
    if end.complaint:
        return Refused(code="rg_failed", message=f"The files can not be listed: {end.complaint}")
    return await asyncio.to_thread(_listed, found, is_cut=end.status is None)


def _listed(found: list[bytes], *, is_cut: bool) -> PathsListed:
    names = b"\0".join(sorted(found)).decode("utf-8", "surrogateescape").split("\0") if found else []
    return PathsListed(paths=tuple(filter(_is_text, names)), is_cut=is_cut)


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\udc80" <= each <= "\udcff" for each in name)
