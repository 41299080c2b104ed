"""`mkdir`: a folder, with its missing parents."""

import os
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from actors.files.workspace import Workspace, os_failures, shown
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput


class MkdirInput(ToolInput):
    """Which folder."""

    path: str = Field(description="Folder")


class Mkdir:
    """Makes a folder inside the workspace; one that is there already is fine."""

    name: ClassVar[str] = "mkdir"
    effect: ClassVar[Effect] = "write"
    input: ClassVar[type[MkdirInput]] = MkdirInput

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def summary(self, given: MkdirInput) -> str:
        return given.path

    async def run(self, given: MkdirInput, invocation: Invocation) -> ToolOutput:
        path = self._workspace.resolve_for_change(given.path)
        name = shown(self._workspace.relative(path))
        with os_failures(name):
            return ToolOutput(f"Made {name}." if _make(path, name) else f"{name} is there already.")


def _make(path: Path, name: str) -> bool:
    if path.is_dir():
        return False
    if os.path.lexists(path):
        raise ToolFailure("already_exists", f"{name} is there and no folder.", "Choose another name.")
    path.mkdir(parents=True)
    return True
