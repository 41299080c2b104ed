"""What `fido plan`, `fido sessions` and `fido tools` print; none of it asks a model."""

import asyncio
import os
import re
import sys
from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from actors.clock import timestamp
from actors.directories import state_directory
from actors.headless_output import json_line
from actors.last_words import say
from actors.plan.age import age
from actors.plan.file import ChangedOutside, PlanFile, StoreFailed, StoreUncertain, peek
from actors.resume import running_sessions
from actors.session.summaries import summaries
from ipc.channel import Channel
from ipc.endpoints import RunPlace, live_runs, run_root
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import AnyReply, ClearPlan, GetPlan, Plan, PlanItem, PlanStored, SessionSummary
from ipc.terminal_text import clean_line

DEADLINE_S: Final = 3.0
"""How long a running plan store may take to answer."""
MARKS: Final = {"done": "x", "in_progress": ">", "blocked": "!", "pending": " "}


class ReportFailed(Exception):
    """What was asked for cannot be told or done; one line for a person."""


class ToolSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as `fido tools` shows it."""

    name: str
    state: str
    """Lifecycle state; `active` is advertised to the model."""
    effect: str
    """What a call can do: `read`, `write`, `execute`, ..."""
    does: str
    """First sentence of its description."""


def report(command: str, workspace: Path, options: Namespace) -> int:
    """Print what one of the three commands tells; return the exit status."""
    try:
        _report(command, workspace, options)
    except ReportFailed as failure:
        say(str(failure))
        return 1
    sys.stdout.flush()
    return 0


def _report(command: str, workspace: Path, options: Namespace) -> None:
    match command:
        case "plan" if options.action == "clear":
            plan = asyncio.run(clear_plan(workspace))
            _print(plan, ["The plan is cleared."], as_json=options.json)
        case "plan":
            plan = asyncio.run(show_plan(workspace))
            lines = plan_lines(plan, running_sessions(run_root(os.environ), workspace), datetime.now(UTC))
            _print(plan, lines, as_json=options.json)
        case "sessions":
            sessions = _sessions(workspace)
            _print(sessions, session_lines(sessions), as_json=options.json)
        case _:
            _report_tools(options)


def _print(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    text = json_line(value) if as_json else "\n".join(lines).encode("utf-8", "replace") + b"\n"
    sys.stdout.buffer.write(text)


# --- plan --------------------------------------------------------------------------------------------


async def show_plan(workspace: Path) -> Plan:
    """The plan, from the plan store that runs here, else from the file, which stays as it is."""
    reply = await _ask_store(workspace, GetPlan())
    if isinstance(reply, PlanStored):
        return reply.plan
    loaded = peek(workspace)
    if loaded.warning:
        raise ReportFailed(loaded.warning)
    return loaded.plan


async def clear_plan(workspace: Path) -> Plan:
    """Start the plan over, through the plan store that runs here, else in the file. Raises `ReportFailed`."""
    reply = await _ask_store(workspace, ClearPlan())
    if isinstance(reply, PlanStored):
        return reply.plan
    if reply is not None:
        raise ReportFailed(f"the plan store refused: {getattr(reply, 'message', type(reply).__name__)}")
    file = PlanFile(workspace)
    before = file.load().plan
    if not before.items:
        return before
    plan = Plan(revision=before.revision + 1, updated_at=timestamp(), reason="Cleared")
    try:
        file.store(plan)
    except (ChangedOutside, StoreFailed, StoreUncertain) as failure:
        raise ReportFailed(str(failure)) from None
    return plan


async def _ask_store(workspace: Path, command: GetPlan | ClearPlan) -> AnyReply | None:
    """Ask the store of a run in this workspace; nothing when none runs or answers."""
    root = run_root(dict(os.environ))
    runs = live_runs(root, str(workspace))
    if not runs:
        return None
    place = RunPlace.open(root / f"r-{runs[-1].id}")
    channel = Channel(frame_limit=place.run.frame_limit)
    try:
        return await Link(channel, "client", place.mailbox("plan_store")).ask(command, DEADLINE_S)
    except IpcError as error:
        if isinstance(command, ClearPlan):
            raise ReportFailed(f"the plan store of the running session does not answer: {error}") from None
        return None
    finally:
        channel.close()


def plan_lines(plan: Plan, running: Collection[str], now: datetime) -> Iterator[str]:
    """Whose plan it is, and every field of every item, cleaned, as a person reads it; `running` sessions."""
    if not plan.items:
        yield "There is no plan."
        return
    done = sum(item.status == "done" for item in plan.items)
    yield f"{clean_line(plan.reason)} ({done}/{len(plan.items)} done, revision {plan.revision})"
    yield f"{_origin(plan, running)}, {age(plan.updated_at, now)}."
    for item in plan.items:
        yield from _item_lines(item)


def _origin(plan: Plan, running: Collection[str]) -> str:
    if not plan.session:
        return "Changed by hand"
    carried_over = "Of the running" if plan.session in running else "Carried over from"
    return f"{carried_over} session {clean_line(plan.session)}"


def _item_lines(item: PlanItem) -> Iterator[str]:
    yield f"[{MARKS[item.status]}] {clean_line(item.id)}: {clean_line(item.title)} ({item.status})"
    for label, text in (
        ("details", item.details),
        ("after", ", ".join(item.dependencies)),
        ("next", item.next_action),
        *zip(item.verdicts, item.evidence, strict=True),
    ):
        if text:
            yield f"      {label}: {clean_line(text, 2_000)}"


# --- sessions ----------------------------------------------------------------------------------------


def _sessions(workspace: Path) -> list[SessionSummary]:
    running = running_sessions(run_root(os.environ), workspace)
    return summaries(state_directory(os.environ) / "sessions", str(workspace), running)


def session_lines(sessions: Sequence[SessionSummary]) -> Iterator[str]:
    """One line a session: id, last change (UTC), turns, the first prompt."""
    if not sessions:
        yield "There are no sessions in this workspace."
    for one in sessions:
        state = "running" if one.running else "1 turn" if one.turns == 1 else f"{one.turns} turns"
        changed = one.changed_at[:16].replace("T", " ")
        yield f"{one.session_id:<22} {changed:<17} {state:<9} {clean_line(one.first_prompt, 60)}"


# --- tools -------------------------------------------------------------------------------------------


def _report_tools(options: Namespace) -> None:
    from actors.catalog.builtin import TOOLS
    from actors.catalog.surface import advertised
    from actors.tools.tool import description

    if options.advertised:
        sys.stdout.buffer.write(advertised(TOOLS))
        return
    rows = [
        ToolSummary(
            name=tool.name,
            state="active",
            effect=tool.effect,
            does=_first_sentence(description(tool.name)),
        )
        for tool in sorted(TOOLS, key=lambda tool: tool.name)
    ]
    _print(
        rows,
        (f"{row.name:<12} {row.state:<8} {row.effect:<9} {row.does}" for row in rows),
        as_json=options.json,
    )


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
