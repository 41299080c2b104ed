"""The shell of one session, put together from what was set."""

import os
from collections.abc import Collection
from pathlib import Path

from actors.environment import without_keys
from actors.sandbox.level import probe
from actors.settings.tables import Shell as ShellSettings
from actors.shell.outputs import Outputs
from actors.shell.shell import Shell
from actors.shell.wall import CommandWall


def open_shell(
    settings: ShellSettings,
    workspace: Path,
    outputs: Outputs,
    private: Collection[Path],
    secrets: Collection[str],
) -> Shell:
    """`private` are places that stay closed to a walled command, `secrets` values that none may have."""
    wall = None
    if settings.sandbox != "off":
        wall = CommandWall(workspace, private, probe())
    return Shell(without_keys(os.environ, secrets), outputs, wall)
