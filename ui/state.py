"""What the screen shows, and how each fact changes it: one fold, for a snapshot and for what happens live.

No urwid, no clock, no input or output here. `apply` changes the state it is given and nothing else. Every
text of a fact is cleaned on its way in, so whatever draws the state needs no care.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never

import msgspec

from ipc.messages import (
    ActorName,
    AnyFact,
    AskRaised,
    AskSettled,
    Beat,
    CompactionFinished,
    CompactionStarted,
    Job,
    JobsChanged,
    Level,
    MessageDelta,
    ModelStreamed,
    NoticeRaised,
    Plan,
    PlanChanged,
    ProcessExited,
    ProcessStarted,
    RequestDelayed,
    ScreenConfigured,
    SessionOpened,
    SubagentActivityChanged,
    ToolFinished,
    ToolPrinted,
    ToolStarted,
    ToolStatus,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from ui import cleaned, figures
from ui.diffs import diff_lines, shows_diff
from ui.heard import Heard
from ui.keys import DEFAULT, Keymap
from ui.transcript.blocks import Outcome
from ui.transcript.transcript import Transcript, steady

Source = Literal["parent", "plan_store", "supervisor"]

_PROMPTS_KNOWN: Final = 8
NESTED: Final = "nested delegation rejected"
"""The detail of a subagent that tried to delegate."""
DECIDED: Final = {
    "allow_once": "allowed once",
    "allow_session": "allowed this session",
    "allow_always": "always allowed",
}
"""What a person has decided about a call, in words."""
BETWEEN_DEEDS: Final = ("reasoning", "reviewing")
"""Phases of a subagent that last: what it did before they began took a moment, and says more."""


@dataclass(slots=True)
class Activity:
    """The subagent's last known activity."""

    fact: SubagentActivityChanged
    seen_at: float | None
    """Monotonic seconds when it was heard; None when it came with a snapshot."""
    longer: bool = False
    """Whether it came with a snapshot, so that the subagent works for longer than is known."""
    before: str = ""
    """What the subagent did last, while it does nothing but think."""

    @property
    def detail(self) -> str:
        """What stands behind the phase."""
        return self.fact.detail or self.before


@dataclass(slots=True)
class Conversation:
    """What the parent tells."""

    session: SessionOpened | None = None
    turn: int = 0
    prompts: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_PROMPTS_KNOWN))
    """The last turns and what each was asked, as it was told."""
    running: bool = False
    running_since: float | None = None
    """Monotonic seconds; None when no turn runs."""
    running_longer: bool = False
    """Whether the turn was not seen starting: it runs for longer than is known."""
    said: Heard = field(default_factory=Heard)
    """The turn's last message as it streamed."""
    next_message: bool = False
    """Whether the next piece begins another message: a tool has run."""
    transcript: Transcript = field(default_factory=Transcript)
    usage: UsageReported | None = None
    context_tokens: int = 0
    """Size of the conversation as last told."""
    compacting: CompactionStarted | None = None
    """The compaction that goes on, in a turn or beside it."""
    compacting_since: float | None = None
    """Monotonic seconds; None when it was not seen starting."""
    delayed: RequestDelayed | None = None
    """The last request that had to wait, unless what it belonged to is over; its own time says until when."""
    asks: dict[str, AskRaised] = field(default_factory=dict)
    """Open approvals and questions, oldest first."""
    activity: Activity | None = None
    jobs: dict[int, Job] = field(default_factory=dict)
    """What commands left running, by the number that a person calls it."""
    job_numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    """Numbers of this screen for jobs, by process and start: none ever comes to mean another job."""

    @property
    def context_window(self) -> int:
        """Tokens that the model takes, as last told; 0 when unknown."""
        told = 0 if self.usage is None else self.usage.context_window
        return told or (0 if self.session is None else self.session.context_window)

    @property
    def busy(self) -> bool:
        """Whether the parent works: no prompt is taken now, and there is something to stop."""
        return self.running or self.compacting is not None


@dataclass(slots=True)
class ViewState:
    """All that is drawn, in the slices of its three publishers."""

    conversation: Conversation = field(default_factory=Conversation)
    plan: Plan | None = None
    """None until the plan store has told."""
    processes: dict[ActorName, ProcessStarted | ProcessExited] = field(default_factory=dict)
    """The last news of each process."""
    notices: list[NoticeRaised] = field(default_factory=list)
    """What others than the parent had to say: a new snapshot of the parent must not lose it."""
    look: ScreenConfigured = field(default_factory=ScreenConfigured)
    """How the person wants the screen; what was told last stays while the parent is away."""
    keymap: Keymap = DEFAULT
    """What each key means, as the person wants it."""
    late: bool = True
    """Whether another screen was there before this one: what it finds began at an unknown time."""
    cut_off: bool = False
    """Whether the parent does not answer."""

    @property
    def parent_lost(self) -> ProcessExited | None:
        """The end of the parent, while it has no successor."""
        news = self.processes.get("parent")
        return news if isinstance(news, ProcessExited) else None


def rebuild(state: ViewState, source: Source, facts: tuple[AnyFact, ...], now: float | None = None) -> None:
    """Forget what `source` has told and apply its snapshot instead. `now`: monotonic seconds."""
    known, before = Counter(state.notices), state.conversation
    match source:
        case "parent":
            state.conversation = Conversation(job_numbers=before.job_numbers)
            state.conversation.transcript.past = True
            state.cut_off = False
        case "plan_store":
            state.plan = None
        case "supervisor":
            state.processes = {}
        case _:
            assert_never(source)
    for fact in facts:
        if source != "parent" and isinstance(fact, NoticeRaised) and known[fact] > 0:
            known[fact] -= 1
        else:
            apply(state, fact, None, source)
    if source == "parent":
        _keep_clocks(state.conversation, before, now, late=state.late)
        transcript = state.conversation.transcript
        transcript.past = False
        transcript.bound()
        transcript.take_over(before.transcript)
        for notice in state.notices:
            state.conversation.transcript.note(notice.level, steady(notice.message))


def _keep_clocks(talk: Conversation, before: Conversation, now: float | None, *, late: bool) -> None:
    """Let clocks go on over a snapshot, which knows no times but how long the subagent had worked.

    What was not known before has gone on at least since `now`, and since what it waits for has.
    """
    worked_since = _keep_activity(talk, before, now)
    known_turn = before.running and talk.turn == before.turn
    if talk.running and known_turn:
        talk.running_since, talk.running_longer = before.running_since, before.running_longer
    elif talk.running:
        talk.running_since, talk.running_longer = worked_since, late
    running = talk.transcript.running
    waiting = [block for block in running.values() if block.name == "delegate"]
    for call_id, block in running.items():
        seen = before.transcript.running.get(call_id) if known_turn else None
        if seen is not None:
            block.started_at, block.longer = seen.started_at, seen.longer
        else:
            block.started_at, block.longer = worked_since if waiting == [block] else now, late


def _keep_activity(talk: Conversation, before: Conversation, now: float | None) -> float | None:
    """Let the subagent's clock go on; return since when it works at least, `now` when it does not."""
    activity, known = talk.activity, before.activity
    if activity is None:
        return now
    if known is not None and activity.fact == known.fact:
        activity = talk.activity = known
    else:
        activity.seen_at, activity.longer = now, True
    if activity.seen_at is None or not activity.fact.active:
        return now
    return activity.seen_at - activity.fact.elapsed_ms / 1000


def apply(state: ViewState, fact: AnyFact, now: float | None, source: Source = "parent") -> None:
    """Fold one fact into the state. `now`: monotonic seconds, None for the past of a snapshot."""
    talk = state.conversation
    match fact:
        case MessageDelta(kind="reasoning", text=text):
            talk.transcript.think(text, now)
        case MessageDelta(text=text):
            _say(talk, text)
        case ScreenConfigured():
            state.look, state.keymap = cleaned.fact(fact), Keymap.of(fact.keys)
            for fault in state.keymap.faults:
                talk.transcript.note("warning", steady(fault))
        case SessionOpened():
            talk.session = cleaned.fact(fact)
            talk.transcript.session = talk.session.session_id
        case TurnStarted():
            _start_turn(talk, fact, now)
        case ToolStarted(call_id=call_id, name=name, summary=summary):
            talk.next_message = True
            talk.transcript.start_tool(call_id, cleaned.line(name, 40), cleaned.line(summary), now)
        case ToolFinished(call_id=call_id, name=name, status=status, duration_ms=duration_ms):
            outcome, said = _outcome(name, status, fact.display)
            output, detail = cleaned.output(said), _detail(name, outcome, said)
            diff = diff_lines(output) if outcome == "ok" and shows_diff(name) else ()
            name = cleaned.line(name, 40)
            decided = DECIDED.get(fact.decided, "")
            talk.transcript.finish_tool(call_id, name, outcome, duration_ms, output, detail, diff, decided)
        case AskRaised():
            ask = talk.asks[fact.ask_id] = cleaned.fact(fact)
            talk.transcript.ask_about(fact.ask_id, fact.call_id, ask.tool)
        case AskSettled(ask_id=ask_id, outcome=decision):
            if (settled := talk.asks.pop(ask_id, None)) is not None:
                decided = DECIDED.get(decision, "") if settled.kind == "approval" else ""
                talk.transcript.decide(ask_id, decided, now)
        case UsageReported():
            talk.usage, talk.context_tokens = fact, fact.context_tokens
        case RequestDelayed():
            _delay(talk, cleaned.fact(fact))
        case SubagentActivityChanged():
            talk.delayed = None  # a subagent that waits says so before its request is told
            talk.activity = _activity(talk.activity, cleaned.fact(fact), now)
        case NoticeRaised(level=level, message=message):
            talk.transcript.note(level, steady(message))
            if source != "parent":
                state.notices.append(fact)
        case TurnFinished():
            _finish_turn(talk, fact)
        case PlanChanged(plan=plan):
            state.plan = cleaned.plan(plan)
        case ProcessStarted() | ProcessExited():
            state.processes[fact.actor] = fact
        case CompactionStarted():
            talk.compacting, talk.compacting_since = fact, now
        case CompactionFinished():
            _finish_compaction(talk, fact)
        case ToolPrinted(call_id=call_id, tail=tail):
            talk.transcript.print_tool(call_id, cleaned.last_lines(tail))
        case JobsChanged(jobs=jobs):
            talk.jobs = _numbered(talk.job_numbers, jobs)
        case Beat() | ModelStreamed():
            pass
        case _:
            assert_never(fact)


def _outcome(name: str, status: ToolStatus, display: str) -> tuple[Outcome, str]:
    """Return how a call ended and what to say of it; a delegation's display begins with its status."""
    word, _, said = display.partition(": ")
    if name != "delegate" or word not in ("partial", "failed"):
        return status, display
    if status == "cancelled":  # which says it all
        return status, ""
    return ("partial" if status == "ok" and word == "partial" else status), said


def _detail(name: str, outcome: Outcome, said: str) -> str:
    """Return the lines that stay below a call: why it went wrong, how far it was, what was answered."""
    if outcome == "ok":
        return cleaned.first_lines(said) if name == "ask_user" else ""
    if outcome == "cancelled":
        return "\n".join(cleaned.last_lines(said))
    return "\n".join(cleaned.last_lines(said)[-3:]) if name == "bash_exec" else cleaned.first_lines(said)


def _activity(before: Activity | None, fact: SubagentActivityChanged, now: float | None) -> Activity:
    if before is None or before.fact.agent_id != fact.agent_id or fact.phase not in BETWEEN_DEEDS:
        return Activity(fact, now)
    did = before.fact
    if did.phase in (*BETWEEN_DEEDS, "starting"):
        return Activity(fact, now, before=before.before)
    after = NESTED if NESTED in did.detail else f"after {did.phase}: {did.detail}".removesuffix(": ")
    return Activity(fact, now, before=after)


def _say(talk: Conversation, text: str) -> None:
    if talk.next_message and not text.isspace():
        talk.next_message = False
        talk.said = Heard()
    talk.said.add(text)
    talk.transcript.stream(text)


def _start_turn(talk: Conversation, fact: TurnStarted, now: float | None) -> None:
    talk.transcript.abandon_tools()
    talk.turn, talk.running, talk.running_since, talk.running_longer = fact.turn, True, now, False
    talk.prompts.append((fact.turn, fact.prompt))
    talk.said = Heard()
    talk.activity = talk.delayed = None
    talk.transcript.ask(fact.prompt)


def _delay(talk: Conversation, fact: RequestDelayed) -> None:
    talk.delayed = fact
    if not fact.agent_id:
        of = f" of {fact.attempts}" if fact.attempts else ""
        said = f"Attempt {fact.attempt - 1}{of} failed: {fact.reason}"
        talk.transcript.note_attempt(said, again=fact.attempt > 2)


def _finish_turn(talk: Conversation, fact: TurnFinished) -> None:
    transcript = talk.transcript
    transcript.close()
    transcript.abandon_tools()
    if fact.final_text.strip() and not talk.said.was(fact.final_text):
        transcript.say(fact.final_text)
    problem = fact.problem
    if fact.status == "cancelled":
        transcript.note("info", "Cancelled.")
    elif problem is not None:
        level: Level = "warning" if fact.status == "limit" else "error"
        transcript.note(level, steady(problem.message), steady(problem.next_step))
    elif fact.status != "completed":
        transcript.note("error", "The turn failed.")
    elif fact.worked_s:
        transcript.note("info", f"Worked for {figures.clock(fact.worked_s)}.")
    talk.running, talk.running_since, talk.compacting, talk.delayed = False, None, None, None
    talk.asks.clear()
    if talk.activity is not None and talk.activity.fact.active:
        talk.activity = None
    elif talk.activity is not None:  # behind it nothing waits any more
        talk.activity.fact = msgspec.structs.replace(talk.activity.fact, queued=0)


def _finish_compaction(talk: Conversation, fact: CompactionFinished) -> None:
    talk.compacting = talk.delayed = None
    sizes = f"{figures.count(fact.before_tokens)} → {figures.count(fact.after_tokens)} tokens."
    level: Level = "info"
    match fact.method:
        case "summary":
            said = f"Compacted: {sizes}"
        case "trim":
            said = f"Cut to fit the window: {sizes}"
        case "none":
            level, said = "warning", "Not compacted: the conversation stays as it is."
        case other:
            assert_never(other)
    if fact.method != "none":
        talk.context_tokens = fact.after_tokens
    talk.transcript.note(level, said, steady(fact.detail))


def _numbered(numbers: dict[tuple[int, str], int], jobs: tuple[Job, ...]) -> dict[int, Job]:
    """Return the jobs by their numbers; a new one gets the next."""
    return {
        numbers.setdefault((job.pid, job.started_at), len(numbers) + 1): cleaned.fact(job) for job in jobs
    }
