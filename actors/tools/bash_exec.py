"""`bash_exec`: one command in a shell, bounded in time and output, with nothing left behind unasked."""

import os
import stat
from typing import ClassVar, Final

from pydantic import Field

from actors.environment import without_keys
from actors.files.workspace import Workspace, shown
from actors.tools.shell import Shell, ShellLost
from actors.tools.shell_host import Request
from actors.tools.shell_text import told
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput

DEFAULT_TIMEOUT_MS: Final = 120_000
MAX_TIMEOUT_MS: Final = 600_000
HEAD_BYTES: Final = 10_000
TAIL_BYTES: Final = 20_000
LONGEST_COMMAND: Final = 131_071
"""Bytes that Linux takes as one argument of a program (MAX_ARG_STRLEN, less the closing NUL)."""
LONGEST_SUMMARY: Final = 200

HINTS: Final = {
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "SSH_ASKPASS_REQUIRE": "never",
    "TERM": "dumb",
}
"""Tells programs that nobody can answer, and that nothing draws."""


class BashExecInput(ToolInput):
    """A command, and its bounds."""

    command: str
    timeout_ms: int = Field(DEFAULT_TIMEOUT_MS, description="At most 600000", ge=1, le=MAX_TIMEOUT_MS)
    cwd: str = Field("", description="Folder; default: the workspace")


class BashExec:
    """Runs commands in the workspace, or in a folder inside it."""

    name: ClassVar[str] = "bash_exec"
    effect: ClassVar[Effect] = "execute"
    input: ClassVar[type[BashExecInput]] = BashExecInput

    def __init__(
        self, workspace: Workspace, snapshots: Snapshots, head: int = HEAD_BYTES, tail: int = TAIL_BYTES
    ) -> None:
        """`head` and `tail` are the bytes kept of the output's two ends."""
        self._workspace = workspace
        self._snapshots = snapshots
        self._head = head
        self._tail = tail
        self._shell = Shell(without_keys(os.environ) | HINTS)

    def summary(self, given: BashExecInput) -> str:
        line = " ".join(given.command.split())
        return line if len(line) <= LONGEST_SUMMARY else line[: LONGEST_SUMMARY - 1] + "…"

    async def run(self, given: BashExecInput, invocation: Invocation) -> ToolOutput:
        _refuse_impossible(given.command)
        request = Request(
            shell=self._shell.program,
            command=given.command,
            folder=self._folder(given.cwd),
            timeout_s=given.timeout_ms / 1000,
            head=self._head,
            tail=self._tail,
        )
        try:
            async with self._snapshots.around_command(invocation.call_id):
                reply, output = await self._shell.run(request)
        except ShellLost:
            raise ToolFailure(
                "runner_lost",
                "The process that watches the command was killed, most likely by the command itself; "
                "what the command had started was ended, its output is lost.",
                "Do not signal the shell's parent ($PPID) or all processes.",
            ) from None
        succeeded = reply["end"] == "exited" and reply["status"] == 0
        return ToolOutput(told(reply, output, given.timeout_ms), ok=succeeded)

    def _folder(self, cwd: str) -> str:
        folder = self._workspace.resolve_inside(cwd)
        if not stat.S_ISDIR(self._workspace.entry_status(folder).st_mode):
            name = shown(self._workspace.relative(folder))
            raise ToolFailure(
                "not_a_folder", f"cwd: {name} is no folder.", "Name a folder, or leave cwd out."
            )
        return str(folder)


def _refuse_impossible(command: str) -> None:
    """Refuse what no program can be started with, before anything is."""
    if not command.strip():
        raise ToolFailure("empty_command", "The command is empty.", "Send the command to run.")
    try:
        size = len(os.fsencode(command))
    except UnicodeEncodeError:
        raise ToolFailure("bad_command", "The command is not valid Unicode.", "Correct it.") from None
    if "\0" in command:
        raise ToolFailure("bad_command", "A command can not hold a NUL character.", "Write it as \\0.")
    if size > LONGEST_COMMAND:
        raise ToolFailure(
            "command_too_long",
            f"The command has {size:,} bytes; the system takes {LONGEST_COMMAND:,} at most.",
            "Write the script to a file with patch, then run the file.",
        )
