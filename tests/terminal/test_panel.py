"""The plan as a person reads it, beside the transcript or over it, and the head of the session."""

from pathlib import Path

import msgspec
import pytest

from ipc.messages import Plan, PlanChanged, PlanItem, Problem, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import PLAN, activity, finished, session, usage
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import ESC, F2, TerminalProgram
from tests.terminal.test_layout import DRAFT

WORKED = 20
LONG = "a text that is long enough to be wrapped in any panel of any width that people use " * 2


def steps(active: int, count: int = WORKED, text: str = "") -> Plan:
    """A plan in which one step is in progress."""
    return Plan(
        revision=active + 1,
        session="20250101-101112-7f3a",
        items=tuple(
            PlanItem(
                id=f"step-{at}",
                title=f"Step number {at} {text}".strip(),
                status="done" if at < active else "in_progress" if at == active else "pending",
            )
            for at in range(count)
        ),
    )


def words(terminal: TerminalProgram) -> str:
    """What stands in the panel, or in the page over the screen, without line ends."""
    sides = [line.replace("┃", "│").rstrip("│ ").rpartition("│")[2] for line in terminal.lines]
    return " ".join(" ".join(sides).split())


def everything(plan: Plan) -> list[str]:
    """All that a plan says."""
    texts = [
        text
        for item in plan.items
        for text in (
            item.id,
            item.title,
            item.status.replace("_", " "),
            item.details,
            *item.dependencies,
            item.next_action,
            *item.evidence,
            *item.verdicts,
        )
    ]
    return [text for text in texts if text]


@played
async def test_all_of_every_item_is_shown_at_every_width(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 60) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        await terminal.shows("Plan 1/4")
        for columns in (40, 60, 80, 120, 200):
            await terminal.redraws(columns, 70)
            if columns < 80:
                terminal.type(F2)
                await terminal.shows("Survey the", "Esc close")
            seen = words(terminal)
            assert [text for text in everything(PLAN) if text not in seen] == []
            assert "1 blocked" in seen
            if columns < 80:
                terminal.type(ESC)
                await terminal.becomes(lambda: "Esc close" not in terminal.text)


@played
async def test_long_texts_are_wrapped_and_never_cut_silently(tmp_path: Path) -> None:
    long = msgspec.structs.replace(
        PLAN.items[1], title=LONG.strip(), details=LONG.strip(), evidence=(LONG.strip(),)
    )
    async with scene(tmp_path, 100, 60) as (run, terminal):
        run.store.tell(PlanChanged(plan=Plan(items=(long,))))
        for columns in (80, 120, 200):
            await terminal.redraws(columns, 70)
            await terminal.shows("Plan 0/1")
            assert words(terminal).count(LONG.strip()) == 3


@pytest.mark.report("PANEL-03")
@played
async def test_a_plan_of_forty_long_steps_leaves_conversation_and_input_their_room(tmp_path: Path) -> None:
    async with scene(tmp_path, 80, 24) as (run, terminal):
        run.store.tell(PlanChanged(plan=steps(3, 40, "x" * 200 + " " + LONG)))
        run.parent.tell(TurnStarted(turn=1, prompt="What is risky?"), say("The loader is."))
        terminal.type(DRAFT)
        for columns, rows in ((81, 24), (60, 24), (40, 10), (120, 16)):
            await terminal.redraws(columns, rows)
            await terminal.shows("The loader is.", DRAFT, "3/40", "Step number 3")


@pytest.mark.parametrize(("columns", "key"), [(120, "\x1b[1;2A"), (60, "\x1b[A")])
@played
async def test_the_active_item_stays_in_view_unless_the_person_scrolled(
    tmp_path: Path, columns: int, key: str
) -> None:
    async with scene(tmp_path, columns, 24) as (run, terminal):
        run.store.tell(PlanChanged(plan=steps(12)))
        if columns < 80:
            terminal.type(F2)
        await terminal.shows("step-12")
        assert "step-0 " not in terminal.text + " "
        terminal.type(key * 60)
        await terminal.becomes(lambda: "step-12" not in terminal.text and "step-1\n" in _ends(terminal))
        run.store.tell(PlanChanged(plan=steps(13)))
        await terminal.shows("step-13")


def _ends(terminal: TerminalProgram) -> str:
    """The rows without a frame, a scrollbar or blanks at their ends."""
    return "\n".join(line.rstrip("│┃ ") for line in terminal.lines) + "\n"


@played
async def test_progress_age_origin_and_an_empty_plan_are_told(tmp_path: Path) -> None:
    carried = msgspec.structs.replace(PLAN, session="20241231-000000-beef")
    async with scene(tmp_path, 120, 40) as (run, terminal):
        await terminal.shows("No plan yet")
        run.store.tell(PlanChanged(plan=PLAN))
        await terminal.shows("Plan 1/4", "1 Jan 2025", "last change: Surveyed the tree")
        run.store.tell(PlanChanged(plan=carried))
        await terminal.shows("carried over from")
        run.store.tell(PlanChanged(plan=Plan(revision=9)))
        await terminal.shows("No plan yet")


@played
async def test_the_head_tells_model_session_root_context_and_what_was_used(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 40) as (run, terminal):
        run.parent.tell(session(workspace="/srv/parcel", model="big-model"), usage(96_000, 1.25))
        await terminal.shows("75%", "96k of 128k tokens", "46.2k tokens", "$1.25")
        for text in ("big-model", "20250101-101112-7f3a", "/srv/parcel"):
            assert text in words(terminal)
        filled = terminal.line_with("75%")
        assert 2 <= filled.count("━") / filled.count("╌") <= 4
        await terminal.redraws(120, 16)  # the plan matters more
        run.store.tell(PlanChanged(plan=steps(5)))
        await terminal.shows("step-5")


@pytest.mark.report("PANEL-05")
@pytest.mark.parametrize(
    ("phase", "status", "display", "sign"),
    [
        ("completed", "ok", "completed", "✓"),
        ("failed", "error", "failed: The server is gone.", "✗"),
        ("timed out", "error", "failed: It took too long.", "✗"),
        ("cancelled", "cancelled", "failed: The delegation was cancelled.", "◌"),
        ("partial", "ok", "partial: The worker was killed.", "!"),
    ],
)
@played
async def test_the_bar_and_the_transcript_tell_the_end_of_a_delegation_within_a_second(
    tmp_path: Path, phase: str, status: str, display: str, sign: str
) -> None:
    async with scene(tmp_path, 100, 24) as (run, terminal):
        run.parent.tell(
            TurnStarted(turn=1, prompt="x"),
            ToolStarted(call_id="1", name="delegate", summary="Inspect"),
            activity("read_file", "a.py"),
        )
        await terminal.shows("read_file")
        run.parent.tell(
            activity(phase, active=False),
            ToolFinished(call_id="1", name="delegate", status=status, duration_ms=9, display=display),  # type: ignore[arg-type]
        )
        await terminal.shows(f"SUBAGENT 7f3a  {phase}", f"{sign} delegate Inspect", deadline_s=1.0)
        if ": " in display and status != "cancelled":
            assert display.partition(": ")[2] in terminal.text
        bar = terminal.line_with("SUBAGENT")
        run.parent.tell(say("Then this."))
        await terminal.shows("Then this.")
        assert terminal.line_with("SUBAGENT") == bar
        run.parent.tell(finished(), TurnStarted(turn=2, prompt="y"))
        await terminal.becomes(lambda: "SUBAGENT" not in terminal.text)


@pytest.mark.report("PANEL-04")
@played
async def test_brackets_and_markup_are_text_in_every_part_of_the_screen(tmp_path: Path) -> None:
    text = "[/x] [b [red] {0} %s"
    item = msgspec.structs.replace(
        PLAN.items[1], title=text, details=text, next_action=text, evidence=(text,)
    )
    async with scene(tmp_path, 120, 50) as (run, terminal):
        run.store.tell(PlanChanged(plan=Plan(items=(item,), reason=text)))
        run.parent.tell(
            session(workspace=f"/srv/{text.replace('/', '')}"),
            TurnStarted(turn=1, prompt=text),
            say(f"{text}\n\n```\n{text}\n```\n"),
            ToolStarted(call_id="1", name="bash_exec", summary=text),
            ToolFinished(call_id="1", name="bash_exec", status="error", duration_ms=1, display=text),
            activity("read_file", text),
            finished(status="failed", problem=Problem(code="x", message=text, next_step=text)),
        )
        terminal.type(text)
        await terminal.shows(f"› {text}", f"✗ {text}", f"last change: {text}")
        assert terminal.text.count(text) >= 12
