"""`patch`: exact replacement in one file, or its creation; the file is replaced in one step.

A symbolic link stays one: its target is written. Other hard links of the file keep the old content, since the
new one is another file; the result says so.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from actors.files.seen import MAX_BYTES
from actors.files.text_edit import MAX_LINES_TOLD, edit
from actors.files.text_encoding import HEAD_BYTES, UTF_8, Encoding, binary_kind, marked_encoding
from actors.files.unified_diff import diff
from actors.files.workspace import Workspace, changed_since_read, counted, os_failures, shown
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput


class PatchInput(ToolInput):
    """What is to be replaced by what."""

    path: str
    old_text: str = Field(description="Exact text; empty to create the file")
    new_text: str
    replace_all: bool = False


class Patch:
    """Changes one file, or nothing at all."""

    name: ClassVar[str] = "patch"
    effect: ClassVar[Effect] = "write"
    input: ClassVar[type[PatchInput]] = PatchInput

    def __init__(self, workspace: Workspace, snapshots: Snapshots) -> None:
        self._workspace = workspace
        self._snapshots = snapshots

    def summary(self, given: PatchInput) -> str:
        return given.path

    def preview(self, given: PatchInput) -> str:
        """The diff that `run` would make, for a person to judge. Raises `ToolFailure`, writes nothing.

        What they judged is what is changed: where the file is another by then, `run` refuses.
        """
        plan = self._plan(given)
        if plan.before is not None:
            self._workspace.seen.note(plan.path, plan.before)
        return plan.display

    async def run(self, given: PatchInput, invocation: Invocation) -> ToolOutput:
        plan = self._plan(given)
        async with self._snapshots.around(invocation.call_id, plan.path):
            self._workspace.replace(plan.path, plan.data, plan.like)
        return ToolOutput(plan.told, plan.display)

    def _plan(self, given: PatchInput) -> "_Plan":
        path = self._workspace.resolve_for_change(given.path)
        if not given.old_text and not os.path.lexists(path):
            return self._creation(path, given.new_text)
        self._workspace.resolve_existing(given.path)
        name = self._workspace.relative(path)
        data, like = self._content(path, name)
        if not given.old_text:
            return _filled(path, name, data, like, given.new_text)
        made = edit(data, given.old_text, given.new_text, replace_all=given.replace_all)
        told = f"Changed {shown(name)} at line{'s' * (len(made.lines) > 1)} {_numbers(made.lines)}."
        if like.st_nlink > 1:
            others = "the other keeps" if like.st_nlink == 2 else "the others keep"
            told += f" It had {like.st_nlink} hard links; {others} the old content."
        return _Plan(path, data, made.data, like, told, diff(name, made.before, made.after, made.spans))

    def _creation(self, path: Path, text: str) -> "_Plan":
        name = self._workspace.relative(path)
        if not path.parent.is_dir():
            folder = shown(self._workspace.relative(path.parent))
            raise ToolFailure("no_folder", f"There is no folder {folder}.", "Make it with mkdir first.")
        return _Plan(path, None, _encoded(text), None, f"Created {shown(name)}.", diff(name, "", text))

    def _content(self, path: Path, name: str) -> tuple[bytes, os.stat_result]:
        with self._workspace.open_file(path) as file, os_failures(name):
            status = os.fstat(file.fileno())
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            message = f"{shown(name)} has {status.st_size} bytes; patch takes {MAX_BYTES} at most."
            raise ToolFailure("too_large", message, "Change it with a program through bash_exec.")
        if kind := binary_kind(data[:HEAD_BYTES]):
            message = f"{shown(name)} is {kind}; patch changes text only."
            raise ToolFailure("binary_file", message, "Change it with a program for it through bash_exec.")
        if not os.access(path, os.W_OK, effective_ids=True):
            message = f"{shown(name)} is read-only."
            raise ToolFailure("read_only", message, "Leave it, or ask the user to make it writable.")
        if self._workspace.seen.differs(path, data):
            raise changed_since_read(name)
        return data, status


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be written, before it is."""

    path: Path
    before: bytes | None
    """What is there; null for a new file."""
    data: bytes
    like: os.stat_result | None
    told: str
    """For the model."""
    display: str
    """The diff."""


def _filled(path: Path, name: str, data: bytes, like: os.stat_result, text: str) -> _Plan:
    """The first text of a file that is there and empty, but for a byte order mark."""
    mark = marked_encoding(data) or UTF_8
    if data != mark.bom:
        raise ToolFailure(
            "already_exists",
            f"{shown(name)} exists and has {counted(len(data), 'byte')}, so it was not created.",
            "Send the text that is to be replaced as old_text; read_file shows it.",
        )
    return _Plan(path, data, _encoded(text, mark), like, f"Wrote {shown(name)}.", diff(name, "", text))


def _encoded(text: str, encoding: Encoding = UTF_8) -> bytes:
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        raise ToolFailure(
            "bad_text", f"new_text holds no valid text: {error}.", "Correct new_text."
        ) from None


def _numbers(lines: tuple[int, ...]) -> str:
    more = f" and {len(lines) - MAX_LINES_TOLD} more" if len(lines) > MAX_LINES_TOLD else ""
    return ", ".join(map(str, lines[:MAX_LINES_TOLD])) + more
