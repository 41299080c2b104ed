"""What happens in a session, told twice at one place: to the log as an event, to the bus as a fact."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, assert_never

import msgspec

from actors.calls import ToolResult
from actors.clock import timestamp
from actors.compaction.window import Gauge
from actors.session.events import (
    AnyEvent,
    ApprovalSettled,
    CallDecided,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    DelegationEnded,
    MessageAppended,
    Notice,
    PlanWritten,
    PromptTaken,
    TurnEnded,
    UsageRecorded,
)
from actors.session.history import COST_DIGITS, History
from actors.session.log import LogFailed, SessionLog
from actors.settings.tables import Prices
from actors.turn import TurnOutcome
from ipc.messages import (
    DIFFING,
    DISPLAY_LINES,
    AnyFact,
    DecidedBy,
    Level,
    MessageDelta,
    ModelAnswer,
    NoticeRaised,
    Plan,
    Problem,
    ReasoningDelta,
    RequestDelayed,
    RetryScheduled,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
)

DISPLAY_LIMIT: Final = 8_000
"""Characters of a tool's output that the person sees; the model gets what the tool returned."""
DISPLAY_END: Final = 3_000
"""How many of them are its end, where a command says how it went."""
END_LINES: Final = 100
"""Lines of the end at most."""
DIFF_LIMIT: Final = 32 * 1024
"""The same of a change: nobody can count the lines of a diff that was cut. 1 ms, and 85 KiB of the screen."""
LONG_TURN_S: Final = 10
"""Seconds from which on a person is told how long a turn took."""
WRITTEN_AGAIN: Final = "The session log is written again; nothing is missing from it."
INTERRUPTED: Final = Problem(
    code="interrupted",
    message="Fido was interrupted while this turn was running.",
    next_step="Send the prompt again, or say how to go on.",
)


class Recorder:
    """Observer of turns, watcher of calls; the counting of turns and tokens is the history's."""

    def __init__(
        self,
        log: SessionLog,
        publish: Callable[[AnyFact], None],
        prices: Prices | None,
        folds: Sequence[Callable[[AnyEvent], None]] = (),
        history: History | None = None,
        clean: Callable[[AnyEvent], AnyEvent] = lambda event: event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`history` and `folds` take every event as it is recorded; they were given those of the log.

        `clean` takes secrets out of an event; messages came in without any.
        """
        self._clean = clean
        self._clock = clock
        self._began: float | None = None
        """When the turn began, monotonic; None between turns."""
        self._folds = folds
        self._history = history or History()
        self._log = log
        self._publish = publish
        self._prices = prices
        self._log_fault = ""
        self._decided: dict[str, str] = {}
        """What the person has answered about calls that have not ended, by call id."""
        self.gauge: Gauge | None = None
        """What nothing that is recorded tells of tokens."""

    @property
    def turn(self) -> int:
        """Number of the running turn, or of the last one."""
        return self._history.turns

    @property
    def agent_ids(self) -> set[str]:
        """Of all subagents of the session, as far as its log knows."""
        return self._history.agent_ids

    def resume(self) -> None:
        """Go on where an earlier life of this session stopped: what it left open is closed."""
        self._close_interrupted()
        if self._history.usage != Usage():
            self._report_usage()

    def _close_interrupted(self) -> None:
        """End the turn that broke off, every call with the honest result that there is none."""
        prompt = self._history.running
        if prompt is None:
            return
        for call in tuple(self._history.running_calls.values()):
            lost = ToolResult("", "cancelled", "interrupted")
            self.call_finished(ToolCall(id=call.call_id, name=call.name, arguments=call.arguments), lost)
        for message in self._history.stand_ins:
            self.on_appended(message)
        self.turn_ended(TurnOutcome(status="failed", problem=INTERRUPTED))

    def prompt_taken(self, text: str, run_id: str = "", asides: tuple[str, ...] = ()) -> None:
        taken = PromptTaken(turn=self.turn + 1, text=text, at=timestamp(), run_id=run_id, asides=asides)
        self.record(taken)
        self._began = self._clock()
        self._publish(TurnStarted(turn=self.turn, prompt=text))

    def on_stream(self, event: StreamEvent) -> None:
        match event:
            case TextDelta(text=text):
                self._publish(MessageDelta(turn=self.turn, kind="text", text=text))
            case ReasoningDelta(text=text):
                self._publish(MessageDelta(turn=self.turn, kind="reasoning", text=text))
            case RetryScheduled():
                self.delayed(event)
            case ModelAnswer(usage=usage) if usage is not None:
                self.used(usage)
            case ModelAnswer():
                self._report_usage(self.gauge.estimate() if self.gauge else 0)
            case _:
                assert_never(event)

    def delayed(self, retry: RetryScheduled, agent_id: str = "") -> None:
        """Tell that a request waits, as it begins to; what a server says to a subagent is not told."""
        self._publish(
            RequestDelayed(
                attempt=retry.attempt,
                attempts=retry.attempts,
                delay_s=retry.delay_s,
                until=self._clock() + retry.delay_s,
                reason="" if agent_id else retry.reason,
                agent_id=agent_id,
            )
        )

    def on_appended(self, message: bytes) -> None:
        self.record(MessageAppended(turn=self.turn, message=msgspec.Raw(message)))

    def call_started(self, call: ToolCall, summary: str) -> None:
        self.record(
            CallStarted(
                turn=self.turn, call_id=call.id, name=call.name, arguments=call.arguments, summary=summary
            )
        )
        self._publish(ToolStarted(call_id=call.id, name=call.name, summary=summary))

    def call_finished(self, call: ToolCall, result: ToolResult) -> None:
        diffs = call.name in DIFFING
        display = _begun(result.display, DIFF_LIMIT) if diffs else _both_ends(result.display)
        ended = CallEnded(
            turn=self.turn,
            call_id=call.id,
            name=call.name,
            status=result.status,
            duration_ms=result.duration_ms,
            display=display,
        )
        self.record(ended)
        self._publish(
            ToolFinished(
                call_id=call.id,
                name=call.name,
                status=result.status,
                duration_ms=result.duration_ms,
                display=display,
                decided=self._decided.pop(call.id, ""),
            )
        )

    def used(self, usage: Usage, *, subagent: bool = False, summary: bool = False) -> None:
        """Count one request."""
        priced = self.priced(usage)
        self.record(UsageRecorded(turn=self.turn, usage=priced, subagent=subagent, summary=summary))
        self._report_usage()

    def plan_written(self, plan: Plan) -> None:
        """The plan store tells the bus itself; here it joins the log."""
        self.record(PlanWritten(turn=self.turn, plan=plan))

    def delegation_ended(self, ended: DelegationEnded) -> None:
        self.record(ended)

    def call_decided(self, call: ToolCall, answer: Literal["allow", "deny"], by: DecidedBy, why: str) -> None:
        """Whether a call may run, and what decided that; `why` of a person is their answer."""
        if by == "person":
            self._decided[call.id] = why
        self.record(
            CallDecided(turn=self.turn, call_id=call.id, tool=call.name, answer=answer, by=by, because=why)
        )

    def approval_settled(self, ask_id: str, tool: str, subject: str, outcome: str, text: str) -> None:
        self.record(
            ApprovalSettled(
                turn=self.turn, ask_id=ask_id, tool=tool, subject=subject, outcome=outcome, text=text
            )
        )

    def notice(self, level: Level, message: str) -> None:
        """Tell something that stays true for the whole session."""
        self.record(Notice(level=level, message=message))
        self._publish(NoticeRaised(level=level, message=message))

    def turn_ended(self, outcome: TurnOutcome) -> None:
        """Close the turn and make its events durable."""
        worked = 0 if self._began is None else int(self._clock() - self._began)
        self._began = None
        self._decided.clear()
        ended = TurnEnded(
            turn=self.turn,
            status=outcome.status,
            final_text=outcome.final_text,
            problem=outcome.problem,
            worked_s=worked if worked >= LONG_TURN_S else 0,
        )
        self.record(ended)
        self.sync()
        self._publish(
            TurnFinished(
                turn=self.turn,
                status=outcome.status,
                final_text=outcome.final_text,
                problem=outcome.problem,
                worked_s=ended.worked_s,
            )
        )

    def sync(self) -> None:
        """Make what was recorded survive a power cut."""
        self._write(self._log.sync)

    def record(self, event: AnyEvent) -> None:
        """Write one event and hand it to the folds; the session goes on when it can not be written."""
        if not isinstance(event, MessageAppended):
            event = self._clean(event)
        self._write(lambda: self._log.append(event))
        self._history.apply(event)
        for fold in self._folds:
            fold(event)
        if isinstance(event, ConversationCompacted):
            self._report_usage()

    def _write(self, write: Callable[[], None]) -> None:
        """The session goes on without its log; the person is told once per fault, and when it is over."""
        try:
            write()
        except LogFailed as fault:
            if fault.code != self._log_fault:
                self._log_fault = fault.code
                self._publish(NoticeRaised(level="error", message=f"{fault.message} {fault.next_step}"))
            return
        if self._log_fault:
            self._log_fault = ""
            self._publish(NoticeRaised(level="info", message=WRITTEN_AGAIN))

    def _report_usage(self, estimate: int = 0) -> None:
        """Tell the tokens; `estimate` is the size of a request that no server counted."""
        self._publish(
            UsageReported(
                turn=self._history.turn_usage,
                total=self._history.usage,
                subagent=self._history.subagent_usage,
                context_tokens=estimate or self._history.context_tokens,
                context_window=self.gauge.window.known if self.gauge else 0,
            )
        )

    def priced(self, usage: Usage) -> Usage:
        """The usage with its cost, where prices are known."""
        if self._prices is None:
            return usage
        fresh = usage.prompt_tokens - usage.cached_tokens
        dollars = (
            fresh * self._prices.prompt
            + usage.cached_tokens * self._prices.cached
            + usage.completion_tokens * self._prices.completion
        )
        return msgspec.structs.replace(usage, cost_usd=round(dollars / 1_000_000, COST_DIGITS))


def _both_ends(display: str) -> str:
    """Return the beginning and the end of an output: in whole lines, unless a line is too long for that."""
    lines = display.count("\n") + 1
    if len(display) <= DISPLAY_LIMIT and lines <= DISPLAY_LINES:
        return display
    head = _head(display, DISPLAY_LIMIT - DISPLAY_END, DISPLAY_LINES - 1 - END_LINES)
    tail = _head(display[::-1], DISPLAY_END, END_LINES)[::-1]
    between = display[len(head) : len(display) - len(tail)]
    if between == "\n":
        return display
    if between.startswith("\n") and between.endswith("\n"):
        left = _counted(between.count("\n") - 1, "line")
    else:
        left = _counted(len(between), "character")
    return f"{head}\n… {left} left out\n{tail}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _head(text: str, characters: int, most: int) -> str:
    """Return the lines at the beginning that fit; if they fill less than half, some of the next one, too."""
    ends = itertools.accumulate(len(line) + 1 for line in text[: characters + 1].split("\n")[:most])
    lines = [end - 1 for end in ends if end - 1 <= characters]
    if len(lines) < most and (not lines or lines[-1] < characters // 2):
        return text[:characters]
    return text[: lines[-1]]


def _begun(display: str, limit: int) -> str:
    more = len(display) - limit
    return display if more <= 0 else f"{display[:limit]}\n… {more:,} characters more"
