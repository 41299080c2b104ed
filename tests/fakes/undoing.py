"""A session whose file changes can be taken back, without a parent around it: its log is a list."""

import asyncio
import os
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from actors.files.workspace import Workspace
from actors.session.events import AnyEvent, FileChange, FilesChanged, PromptTaken
from actors.tools.mkdir import Mkdir
from actors.tools.patch import Patch
from actors.tools.rm import Rm
from actors.tools.rmdir import Rmdir
from actors.tools.tool import Tool, ToolOutput
from actors.undo.bounds import Bounds
from actors.undo.log import UndoLog
from actors.undo.undo import Restored, Undo, UndoRefused
from tests.fakes.calling import call
from tests.fakes.shells import bash_exec

Tree = dict[bytes, tuple[str, int, bytes]]


class Crash(BaseException):
    """The process is gone at this point."""


class Session:
    """One workspace, one log, and the lives of the process that share them."""

    def __init__(self, base: Path) -> None:
        self.root = base / "work"
        self.root.mkdir(exist_ok=True)
        self.folder = base / "state" / "fido" / "undo" / "s-1"
        self.events: list[AnyEvent] = []
        self.told: list[str] = []
        self.bounds = Bounds()
        self.dies_at: Callable[[AnyEvent], bool] = lambda event: False
        self.start()

    def start(self) -> None:
        """Begin another life: what is known comes from the log and the disk."""
        self._dead = False
        self.dies_at = lambda event: False
        self.log = UndoLog(self.events)
        self.undoer = Undo(self.root, self.folder, self.log, self._record, self.told.append, self.bounds)

    def bounded(self, **changes: float) -> None:
        """Go on with other bounds."""
        self.bounds = replace(self.bounds, **changes)  # type: ignore[arg-type]
        self.restart()

    def restart(self) -> None:
        """A crash, and the life behind it."""
        self.undoer.close()
        self.start()
        asyncio.run(self.undoer.recover())

    def turn(self) -> int:
        """Begin a turn; its number."""
        self._record(PromptTaken(turn=self.log.turn + 1, text="go", at=""))
        return self.log.turn

    def use(self, kind: Callable[..., Tool[Any]], **arguments: object) -> ToolOutput:
        return call(kind(Workspace(self.root), self.undoer.snapshots), **arguments)

    def patch(self, path: str, old: str, new: str) -> ToolOutput:
        return self.use(Patch, path=path, old_text=old, new_text=new)

    def mkdir(self, path: str) -> ToolOutput:
        return self.use(Mkdir, path=path)

    def rm(self, path: str) -> ToolOutput:
        return self.use(Rm, path=path)

    def rmdir(self, path: str) -> ToolOutput:
        return self.use(Rmdir, path=path, recursive=True)

    def bash(self, command: str) -> str:
        tool = bash_exec(self.root, self.undoer.snapshots)
        try:
            return call(tool, command=command).content
        finally:
            tool._shell.close()

    def shell(self, command: str) -> None:
        """The same without the tool and its host."""
        bash = ["bash", "-c", command]
        self.during_command(lambda: subprocess.run(bash, cwd=self.root, check=False, timeout=20))

    def during_command(self, change: Callable[[], object]) -> None:
        """What a command does, without a shell."""

        async def run() -> None:
            async with self.undoer.snapshots.around_command("call-1"):
                change()

        asyncio.run(run())

    def undo(self) -> Restored:
        return asyncio.run(self.undoer.undo())

    def redo(self) -> Restored:
        return asyncio.run(self.undoer.redo())

    def changes(self) -> list[FileChange]:
        """Everything that was recorded as changed."""
        return [each for event in self.events if isinstance(event, FilesChanged) for each in event.changes]

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """What a person does."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
        place.chmod(mode)

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def tree(self) -> Tree:
        """Every entry with its kind, mode and content, but Git's."""
        return tree_of(self.root)

    def _record(self, event: AnyEvent) -> None:
        if self._dead or self.dies_at(event):
            self._dead = True
            raise Crash
        self.events.append(event)
        self.log.apply(event)


def refusal_of(session: Session) -> UndoRefused | None:
    """What `undo` says when it refuses."""
    try:
        session.undo()
    except UndoRefused as refusal:
        return refusal
    return None


def tree_of(root: Path) -> Tree:
    found: Tree = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        folders[:] = [each for each in folders if each != b".git"]
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                state = "link", 0, os.readlink(path)
            elif stat.S_ISDIR(mode):
                state = "folder", stat.S_IMODE(mode), b""
            else:
                with open(path, "rb") as file:
                    state = "file", stat.S_IMODE(mode), file.read()
            found[os.path.relpath(path, os.fsencode(root))] = state
    return found
