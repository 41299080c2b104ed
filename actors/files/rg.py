"""The rg program: where it is, and how it runs: no configuration, no stdin, read as it prints, a deadline."""

import asyncio
import contextlib
import functools
import os
import re
import shutil
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from actors.files.git_directory import git_directory
from actors.files.path_glob import PathGlob, compile_glob
from actors.files.workspace import Workspace, os_failures
from actors.tools.tool import ToolFailure

DEADLINE_S = 30.0
UNREADABLE = 2
"""Exit status of rg when it could not read all, also when the names of a glob left it nothing to read."""
MAX_GLOB = 1000
"""Characters."""
CHUNK = 1 << 18
COMPLAINT_BYTES = 4096

WALK = ("--no-mmap", "--hidden", "--glob=!.git", "--no-require-git", "--no-messages", "--color=never")
"""One set of rules for listing and searching: hidden files yes, ignored files and Git's own no."""

_SPECIAL, _ESCAPED = r"[^\w./-]", r"\\\g<0>"
"""Characters that could mean something in a glob, and how they stand for themselves."""

_PASSED_ON = ("HOME", "XDG_CONFIG_HOME")
"""What rg needs of the environment, for the person's own Git excludes: no key, no settings of its own."""


@dataclass(frozen=True, slots=True)
class RgEnd:
    """How a run ended."""

    status: int | None
    """Exit status, 1 when nothing was found; null when it was stopped at the deadline."""
    complaint: str
    """Start of what it said on stderr; unreadable files are not mentioned there."""


@functools.cache
def find_rg() -> str:
    """Path of the rg that was installed with Fido, else of the one on PATH."""
    found = shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")
    if found is None:
        raise ToolFailure(
            "rg_missing", "The program rg is not installed.", "Tell the user to install ripgrep, then go on."
        )
    return found


def read_glob(glob: str) -> PathGlob | None:
    """Compile a glob as a model gave it; empty is none."""
    try:
        if any(each == "\0" or "\ud800" <= each <= "\udfff" for each in glob):
            raise ValueError("it holds a NUL character or half of a character")
        if len(glob) > MAX_GLOB:
            raise ValueError(f"it has more than {MAX_GLOB} characters")
        return compile_glob(glob) if glob.strip() else None
    except ValueError as error:
        message = f"The glob {glob[:MAX_GLOB]!r} can not be read: {error}."
        raise ToolFailure("bad_glob", message, "Write it as *.py or src/**/*.{ts,tsx}.") from None


def narrowed(glob: PathGlob | None) -> list[str]:
    """Arguments that let rg leave out by name, within the ignore rules, most of what a glob leaves out."""
    if glob is None or not glob.names:
        return []
    return [*(f"--type-add=wanted:{name}" for name in glob.names), "--type=wanted"]


def search_place(workspace: Workspace, path: str) -> tuple[list[str], str]:
    """Of a path as a model gave it: arguments that name it for rg, and the folder with a slash behind it.

    They leave out what is private, too. The workspace itself has no folder, nor has a file: empty.
    """
    target = workspace.resolve_searchable(path)
    place = workspace.relative(target)
    closed = [f"--glob=!/{re.sub(_SPECIAL, _ESCAPED, each)}" for each in workspace.private]
    if place == ".":
        return closed, ""
    return [*closed, "--", place], f"{place}/" if target.is_dir() else ""


async def run_rg(
    arguments: Sequence[str], folder: Path, take: Callable[[bytes], None], deadline_s: float = DEADLINE_S
) -> RgEnd:
    """Run rg in a folder and hand every piece of its output to `take`, which may raise to have no more of it.

    It is killed when it takes too long.
    """
    # DEVNULL would open the device for writing, too, which a worker may not.
    with open(os.devnull, "rb") as nothing, os_failures("rg"):  # noqa: ASYNC230
        process = await asyncio.create_subprocess_exec(
            find_rg(),
            *_excludes(folder),
            *arguments,
            cwd=folder,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            stdin=nothing,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=CHUNK,
        )
    assert process.stdout is not None
    assert process.stderr is not None
    complaint = asyncio.ensure_future(_head(process.stderr))
    try:
        async with asyncio.timeout(deadline_s):
            await _feed(process.stdout, take)
            return RgEnd(await process.wait(), await complaint)
    except TimeoutError:
        return RgEnd(None, "")
    finally:
        complaint.cancel()
        await asyncio.wait({complaint})
        if process.returncode is None:
            await _end(process)


def _excludes(folder: Path) -> list[str]:
    """Let rg read `info/exclude` where `.git` is a file, too: with --no-require-git 14.1 does not."""
    place = git_directory(folder) if (folder / ".git").is_file() else None
    return [f"--ignore-file={place / 'info' / 'exclude'}"] if place else []


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill rg and wait for its end; a worker that may send no signals shuts its pipes, which ends it, too."""
    try:
        process.kill()
    except PermissionError:
        with contextlib.suppress(PermissionError):
            process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way
    else:
        await process.communicate()


async def _feed(stream: asyncio.StreamReader, take: Callable[[bytes], None]) -> None:
    while chunk := await stream.read(CHUNK):
        take(chunk)


async def _head(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(CHUNK):
        kept = (kept + chunk)[:COMPLAINT_BYTES]
    return kept.decode("utf-8", "replace").strip()
