"""What a walled command may change: the workspace and a folder for its temporary files; it has no network."""

from collections.abc import Collection
from pathlib import Path

from actors.sandbox import reach
from actors.sandbox.level import Level
from actors.shell.outputs import Outputs
from actors.shell.wire import Wall
from actors.tools.tool import ToolFailure

NEXT_STEP = (
    "Tell the user: `fido doctor` says what is missing, and shell.sandbox in config.toml turns it off."
)


class CommandWall:
    """The wall of `shell.sandbox = "workspace-write"`, or the reason why there is none."""

    def __init__(self, workspace: Path, private: Collection[Path], level: Level) -> None:
        """`private` are files and folders, links followed, that stay out of reach in the workspace, too."""
        self._workspace = workspace.resolve()
        self._private = private
        self._level = level

    def around(self, outputs: Outputs) -> tuple[Wall, dict[str, str]]:
        """What the kernel is to let through, and the variables that lead there. Raises `ToolFailure`."""
        if not self._level.walls_commands:
            raise unwalled(f"This kernel can not wall a command in: {self._level.commands_sentence}.")
        try:
            temporary = outputs.temporary()
        except OSError as error:
            raise unwalled(f"{outputs.folder} can not be had for its files: {error.strerror}.") from error
        allowed = reach.writable(self._workspace, self._private, temporary)
        wall = Wall(
            landlock=self._level.landlock,
            allowed=[(str(each.path), (each.rights, each.kind, each.follow)) for each in allowed],
            closed=str(outputs.folder),
        )
        folder = str(temporary)
        names = {"TMPDIR": folder, "TMP": folder, "TEMP": folder, "XDG_CACHE_HOME": f"{folder}/cache"}
        return wall, names


def unwalled(reason: str) -> ToolFailure:
    """Why a command was not run, which never happens without the wall that was set."""
    return ToolFailure("sandbox_unavailable", reason, NEXT_STEP)
