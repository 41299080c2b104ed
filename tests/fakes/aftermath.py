"""What has to be true of a home and a workspace, whatever has happened there."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.plan.file import NAME
from actors.session.events import AnyEvent, CallStarted, PlanWritten, PromptTaken, TurnEnded
from ipc.messages import Plan
from tests.fakes.fido import Home
from tests.fakes.session_events import check_log, fold

Message = dict[str, Any]


class Aftermath(NamedTuple):
    """What is left of a session."""

    last_turn: str = ""
    """How the last turn has ended; empty when it has no end."""
    lost_plans: int = 0
    """Updates of which the model was told that they are stored, and that are not there."""


def check_session(at: Home, session_id: str, workspace: Path) -> Aftermath:
    """Fail unless a session's log is sound and true.

    The log can be read and folds to what a strict server takes, so that every call has its one result.
    A command that leaves its call's number in the file `ran` has run once, and not before that is recorded.
    """
    log = session_log(at, session_id)
    if not log.exists() or not log.stat().st_size:
        return Aftermath()
    events = check_log(log)
    messages = [json.loads(message) for message in fold(events).messages]
    assert unanswered(messages) == []
    _check_runs(events, workspace / "ran")
    last = next((event for event in reversed(events) if isinstance(event, PromptTaken | TurnEnded)), None)
    return Aftermath(
        last.status if isinstance(last, TurnEnded) else "",
        len(_lost_plans(events, messages, workspace / NAME)),
    )


def session_log(at: Home, session_id: str) -> Path:
    """Return where a session's log is, or would be."""
    return at.folder / "state" / "fido" / "sessions" / f"{session_id}.jsonl"


def unanswered(messages: Sequence[Message]) -> list[str]:
    """Ids of the calls that have not exactly one result."""
    called = [one["id"] for message in messages for one in message.get("tool_calls", ())]
    results = Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    return [call_id for call_id in called if results[call_id] != called.count(call_id)]


def _check_runs(events: Sequence[AnyEvent], ran: Path) -> None:
    started = Counter(event.call_id for event in events if isinstance(event, CallStarted))
    runs = Counter(ran.read_text(encoding="utf-8").split() if ran.exists() else ())
    assert set(runs.values()) <= {1}, runs
    assert {f"run-{number}" for number in runs} <= set(started)


def _lost_plans(events: Sequence[AnyEvent], messages: Sequence[Message], file: Path) -> list[int]:
    """Revisions of which the model was told that they are stored, and that are not there."""
    written = {event.plan.revision for event in events if isinstance(event, PlanWritten)}
    told = list(_told(messages))
    on_disk = msgspec.json.decode(file.read_bytes(), type=Plan).revision if told else 0
    return [revision for revision in told if revision not in written or revision > on_disk]


def _told(messages: Sequence[Message]) -> Iterator[int]:
    updates = {
        one["id"]
        for message in messages
        for one in message.get("tool_calls", ())
        if one["function"]["name"] == "update_plan" and "reason" in one["function"]["arguments"]
    }
    for message in messages:
        if message.get("tool_call_id") in updates and re.match(r"\{", message["content"]):
            result = json.loads(message["content"])
            if "revision" in result:
                yield result["revision"]
