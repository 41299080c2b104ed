"""`mkdir`: a folder, with its missing parents."""

import os
from pathlib import Path
from typing import ClassVar

from actors.files.workspace import Workspace, os_failures, shown
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput


class MkdirInput(ToolInput):
    """Which folder."""

    path: str


class Mkdir:
    """Makes a folder inside the workspace; one that is there already is fine."""

    name: ClassVar[str] = "mkdir"
    effect: ClassVar[Effect] = "write"
    input: ClassVar[type[MkdirInput]] = MkdirInput

    def __init__(self, workspace: Workspace, snapshots: Snapshots) -> None:
        self._workspace = workspace
        self._snapshots = snapshots

    def summary(self, given: MkdirInput) -> str:
        return given.path

    async def run(self, given: MkdirInput, invocation: Invocation) -> ToolOutput:
        path = self._workspace.resolve_for_change(given.path)
        name = shown(self._workspace.relative(path))
        with os_failures(name):
            if _is_there(path, name):
                return ToolOutput(f"{name} is there already.")
            async with self._snapshots.around(invocation.call_id, path):
                path.mkdir(parents=True)
        return ToolOutput(f"Made {name}.")


def _is_there(path: Path, name: str) -> bool:
    if os.path.lexists(path) and not path.is_dir():
        raise ToolFailure("already_exists", f"{name} is there and no folder.", "Choose another name.")
    return path.is_dir()
