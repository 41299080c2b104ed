"""What sessions there are in a workspace, told from their logs without decoding these."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from actors.clock import timestamp
from actors.session.events import PromptTaken, SessionStarted
from actors.session.log_failed import LogFailed
from actors.session.records import event_in, open_to_read
from ipc.messages import SessionSummary

FIRST_PROMPT: Final = 500
"""Characters of a first prompt that are told; a list of many sessions has to fit one message."""
_CHUNK: Final = 1024 * 1024
_LONGEST_LINE: Final = 16 * _CHUNK
"""Of those that are read as lines; a longer one is passed over in pieces."""
_PROMPT: Final = b'"event":{"type":"PromptTaken",'
"""Stands in the line of a prompt alone: inside of a text each quotation mark has a backslash before it."""


def summaries(directory: Path, workspace: str, running: Collection[str]) -> list[SessionSummary]:
    """The sessions of a workspace (absolute path) that run or were asked something, the last changed first.

    `running` are the ids of those that a process has open. Logs that can not be read are passed over.
    """
    found = []
    for path in directory.glob("*.jsonl"):
        with suppress(LogFailed, OSError), open_to_read(path) as file:
            summary = _summary(file, workspace, running)
            if summary is not None:
                found.append(summary)
    return sorted(found, key=lambda one: (one.changed_at, one.started_at, one.session_id), reverse=True)


def _summary(file: BinaryIO, workspace: str, running: Collection[str]) -> SessionSummary | None:
    started = event_in(file.readline(_LONGEST_LINE))
    if not isinstance(started, SessionStarted) or started.workspace != workspace:
        return None
    first, running_now = _first_prompt(file), started.session_id in running
    if first is None and not running_now:
        return None
    return SessionSummary(
        session_id=started.session_id,
        started_at=started.at,
        model=started.model,
        turns=1 + _prompts(file) if first else 0,
        running=running_now,
        first_prompt=first.text[:FIRST_PROMPT] if first else "",
        changed_at=timestamp(os.fstat(file.fileno()).st_mtime),
    )


def _first_prompt(file: BinaryIO) -> PromptTaken | None:
    """Read up to the first prompt that can be read."""
    while line := file.readline(_LONGEST_LINE):
        if _PROMPT in line:
            event = event_in(line)
            if isinstance(event, PromptTaken):
                return event
    return None


def _prompts(file: BinaryIO) -> int:
    """Count the prompts from here to the end."""
    count, kept = 0, b""
    while chunk := file.read(_CHUNK):
        seen = kept + chunk
        count += seen.count(_PROMPT)
        kept = seen[1 - len(_PROMPT) :]
    return count
