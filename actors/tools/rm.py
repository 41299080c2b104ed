"""`rm`: one file; of a symbolic link the link, never what it leads to."""

import stat
from typing import ClassVar

from actors.files.workspace import Workspace, os_failures, shown
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput


class RmInput(ToolInput):
    """Which file."""

    path: str


class Rm:
    """Removes one entry that is no folder."""

    name: ClassVar[str] = "rm"
    effect: ClassVar[Effect] = "write"
    input: ClassVar[type[RmInput]] = RmInput

    def __init__(self, workspace: Workspace, snapshots: Snapshots) -> None:
        self._workspace = workspace
        self._snapshots = snapshots

    def summary(self, given: RmInput) -> str:
        return given.path

    async def run(self, given: RmInput, invocation: Invocation) -> ToolOutput:
        path = self._workspace.resolve_entry(given.path)
        name = shown(self._workspace.relative(path))
        mode = self._workspace.entry_status(path).st_mode
        if stat.S_ISDIR(mode):
            raise ToolFailure("is_a_folder", f"{name} is a folder.", "Use rmdir.")
        with os_failures(name):
            async with self._snapshots.around(invocation.call_id, path):
                path.unlink()
        return ToolOutput(f"Removed {'the link ' if stat.S_ISLNK(mode) else ''}{name}.")
