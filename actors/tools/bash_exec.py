"""`bash_exec`: one command in a shell, bounded in time and output, with nothing left behind unasked."""

import os
import stat
from collections.abc import Callable
from typing import ClassVar, Final

from pydantic import Field

from actors.clock import timestamp
from actors.files.workspace import Workspace, shown
from actors.shell.call import Ended
from actors.shell.jobs import Jobs
from actors.shell.shell import Shell, ShellLost
from actors.shell.text import last_lines, told
from actors.shell.wall import unwalled
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput
from ipc.messages import AnyFact, Job, ToolPrinted
from ipc.terminal_text import on_one_line

DEFAULT_TIMEOUT_MS: Final = 120_000
MAX_TIMEOUT_MS: Final = 600_000
LONGEST_COMMAND: Final = 131_071
"""Bytes that Linux takes as one argument of a program (MAX_ARG_STRLEN, less the closing NUL)."""
LONGEST_SUMMARY: Final = 200


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
        self,
        workspace: Workspace,
        snapshots: Snapshots,
        shell: Shell,
        jobs: Jobs,
        publish: Callable[[AnyFact], None],
    ) -> None:
        """`jobs` takes what a command leaves running; `publish` gets what one prints while it runs."""
        self._workspace = workspace
        self._snapshots = snapshots
        self._shell = shell
        self._jobs = jobs
        self._publish = publish

    def summary(self, given: BashExecInput) -> str:
        return on_one_line(given.command, LONGEST_SUMMARY)

    async def run(self, given: BashExecInput, invocation: Invocation) -> ToolOutput:
        _refuse_impossible(given.command)
        if self._jobs.full:
            raise ToolFailure(
                "too_many_jobs",
                "Too many commands have left something running in the background.",
                "Stop some of it with kill, then run the command again.",
            )
        started_at, folder = timestamp(), self._folder(given.cwd)

        def tell(lines: bytes) -> None:
            self._publish(ToolPrinted(call_id=invocation.call_id, tail=last_lines(lines)))

        try:
            async with self._snapshots.around_command(invocation.call_id):
                ended = await self._shell.run(given.command, folder, given.timeout_ms / 1000, tell)
                self._leave_running(ended, self.summary(given), started_at)
        except ShellLost:
            raise ToolFailure(
                "runner_lost",
                "The process that watches the command was killed, most likely by the command itself; "
                "what the command had started was ended, its output is lost.",
                "Do not signal the shell's parent ($PPID) or all processes.",
            ) from None
        return self._result(ended, given.timeout_ms)

    def _leave_running(self, ended: Ended, command: str, started_at: str) -> None:
        if ended.reply["background"]:
            pid, _ = ended.reply["background"][0]
            self._jobs.add(
                Job(pid=pid, command=command, started_at=started_at), ended.call, ended.reply["file"]
            )
        else:
            ended.call.close()

    def _result(self, ended: Ended, timeout_ms: int) -> ToolOutput:
        reply = ended.reply
        if reply["end"] == "unwalled":
            reason = ended.output.decode("utf-8", "replace").strip().rstrip(".")
            raise unwalled(f"The kernel refused the wall around the command, so it was not run: {reason}.")
        succeeded = reply["end"] == "exited" and reply["status"] == 0
        text = told(reply, ended.output, timeout_ms, walled=self._shell.walled)
        # Whoever stopped it knows that; what they want to see is how far it was.
        display = last_lines(ended.output) if reply["end"] == "cancelled" else ""
        return ToolOutput(text, display, ok=succeeded)

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
