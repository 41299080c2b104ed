"""`rmdir`: a folder, empty or with all that is in it; no link in it is followed."""

import asyncio
import os
import stat
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from actors.files.workspace import Workspace, os_failures, shown
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput


class RmdirInput(ToolInput):
    """Which folder, and whether it may be full."""

    path: str
    recursive: bool = Field(False, description="With its content")


class Rmdir:
    """Removes a folder; never the workspace, nor a repository's own data."""

    name: ClassVar[str] = "rmdir"
    effect: ClassVar[Effect] = "write"
    input: ClassVar[type[RmdirInput]] = RmdirInput

    def __init__(self, workspace: Workspace, snapshots: Snapshots) -> None:
        self._workspace = workspace
        self._snapshots = snapshots

    def summary(self, given: RmdirInput) -> str:
        return f"{given.path} and all in it" if given.recursive else given.path

    async def run(self, given: RmdirInput, invocation: Invocation) -> ToolOutput:
        path = self._workspace.resolve_entry(given.path)
        name = shown(self._workspace.relative(path))
        if not stat.S_ISDIR(self._workspace.entry_status(path).st_mode):
            raise ToolFailure("not_a_folder", f"{name} is not a folder.", "Use rm.")
        with os_failures(name):
            await asyncio.to_thread(_refuse_repository if given.recursive else _refuse_full, path, name)
            async with self._snapshots.around(invocation.call_id, path):
                removed = await _remove_content(path) if given.recursive else 0
                path.rmdir()
        return ToolOutput(
            f"Removed the folder {name}" + (f" and {_entries(removed)} in it." if removed else ".")
        )


def _refuse_full(path: Path, name: str) -> None:
    entries = sorted(entry.name for entry in path.iterdir())
    if entries:
        inside = ", ".join(map(shown, entries[:5]))
        message = f"{name} is not empty: {_entries(len(entries))}, as {inside}."
        raise ToolFailure("not_empty", message, "Set recursive to remove all of it.")


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _refuse_repository(path: Path, name: str) -> None:
    for folder, folders, files in os.walk(path):
        if ".git" in folders or ".git" in files:
            where = shown(os.path.relpath(folder, path))
            message = f"{name} holds a Git repository of its own, in {where}; nothing was removed."
            raise ToolFailure("protected_path", message, "Ask the user to remove it.")


async def _remove_content(path: Path) -> int:
    """Remove what is in a folder, through descriptors; when cancelled it stops between two folders."""
    removed = 0
    for _, folders, files, descriptor in os.fwalk(path, topdown=False, onerror=_raise):
        for each in files:
            os.unlink(each, dir_fd=descriptor)
        for each in folders:
            if stat.S_ISDIR(os.lstat(each, dir_fd=descriptor).st_mode):
                os.rmdir(each, dir_fd=descriptor)
            else:
                os.unlink(each, dir_fd=descriptor)
        removed += len(files) + len(folders)
        await asyncio.sleep(0)
    return removed


def _raise(error: OSError) -> None:
    raise error
