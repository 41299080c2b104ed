"""The three output formats of `fido run`: facts in, bytes out."""

from collections.abc import Callable
from typing import Any, Final, Literal, Protocol

import msgspec

from ipc.messages import (
    AnyFact,
    CompactionFinished,
    Level,
    MessageDelta,
    NoticeRaised,
    Plan,
    PlanChanged,
    Problem,
    RequestDelayed,
    ScreenConfigured,
    SessionOpened,
    SubagentActivityChanged,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
)
from ipc.terminal_text import clean, clean_line

Format = Literal["text", "json", "stream-json"]
Write = Callable[[bytes], None]
_GLYPH: Final = {"ok": "+", "error": "!", "denied": "x", "cancelled": "-"}


class FactFilter:
    """Passes each fact on once, also when a snapshot repeats what was shown; pure."""

    def __init__(self, show: Callable[[AnyFact], None]) -> None:
        self._show = show
        self._shown: set[object] = set()
        self._characters: dict[tuple[int, str], int] = {}
        self._latest: dict[str, AnyFact] = {}

    def fact(self, fact: AnyFact) -> None:
        if isinstance(fact, MessageDelta):
            key = (fact.turn, fact.kind)
            self._characters[key] = self._characters.get(key, 0) + len(fact.text)
            self._show(fact)
        elif self._is_new(fact):
            self._show(fact)

    def reset(self, facts: tuple[AnyFact, ...]) -> None:
        """Take a whole state; show what was missed."""
        skip = dict(self._characters)
        for fact in facts:
            if not isinstance(fact, MessageDelta):
                self.fact(fact)
                continue
            key = (fact.turn, fact.kind)
            known = min(skip.get(key, 0), len(fact.text))
            skip[key] = skip.get(key, 0) - known
            if known < len(fact.text):
                self.fact(MessageDelta(turn=fact.turn, kind=fact.kind, text=fact.text[known:]))

    def _is_new(self, fact: AnyFact) -> bool:
        key: object = fact
        if isinstance(fact, ScreenConfigured):
            return False  # nobody has a screen here
        if isinstance(fact, ToolStarted | ToolFinished):
            key = (type(fact), fact.call_id)
        elif isinstance(fact, PlanChanged):
            if not fact.plan.updated_at:
                return False  # there never was a plan
            last, self._latest["plan"] = self._latest.get("plan"), fact
            return fact != last
        if key in self._shown:
            return False
        self._shown.add(key)
        return True


class Printer(Protocol):
    """Prints each new fact; `finish` gets the last one, as it is to be reported."""

    def show(self, fact: AnyFact) -> None: ...

    def finish(self, fact: TurnFinished) -> None: ...


class TextPrinter:
    """The answer alone on stdout; notices, and progress where it is wanted, on stderr."""

    def __init__(self, out: Write, err: Write, *, progress: bool) -> None:
        self._out = out
        self._err = err
        self._progress = progress
        self._summaries: dict[str, str] = {}
        self._told: set[str] = set()
        """Messages of notices, which an end only repeats."""

    def show(self, fact: AnyFact) -> None:
        if isinstance(fact, NoticeRaised) and (fact.level != "info" or self._progress):
            self._told.add(fact.message)
            self._say(f"fido: {clean(fact.message)}")
        elif isinstance(fact, ToolStarted):
            self._summaries[fact.call_id] = fact.summary
        elif self._progress:
            about = self._summaries.pop(fact.call_id, "") if isinstance(fact, ToolFinished) else ""
            line = progress_line(fact, about)
            if line:
                self._say(line)

    def finish(self, fact: TurnFinished) -> None:
        if fact.final_text:
            self._out((clean(fact.final_text).rstrip("\n") + "\n").encode(errors="replace"))
        problem = fact.problem
        if problem is not None and problem.message not in self._told:
            self._say(f"fido: {clean(problem.message)} {clean(problem.next_step)}".rstrip())

    def _say(self, line: str) -> None:
        self._err((line + "\n").encode(errors="replace"))


class StreamPrinter:
    """One JSON object a line as things happen."""

    def __init__(self, out: Write) -> None:
        self._out = out

    def show(self, fact: AnyFact) -> None:
        line = json_object(fact)
        if line is not None:
            self._out(json_line(line))

    def finish(self, fact: TurnFinished) -> None:
        self._out(json_line(_turn_finished(fact)))


class SummaryPrinter:
    """One JSON object at the end."""

    def __init__(self, out: Write, err: Write) -> None:
        self._out = out
        self._text = TextPrinter(lambda _: None, err, progress=False)
        self._session_id = ""
        self._usage: dict[str, Any] | None = None
        self._plan: Plan | None = None

    def show(self, fact: AnyFact) -> None:
        match fact:
            case SessionOpened(session_id=session_id):
                self._session_id = session_id
            case UsageReported():
                self._usage = _usage(fact)
            case PlanChanged(plan=plan):
                self._plan = plan
            case _:
                self._text.show(fact)

    def finish(self, fact: TurnFinished) -> None:
        summary = {"session_id": self._session_id, "usage": self._usage, "plan": self._plan}
        self._out(json_line(_turn_finished(fact) | summary))


def printer_for(form: Format, out: Write, err: Write, *, progress: bool) -> Printer:
    """The printer of an output format."""
    match form:
        case "text":
            return TextPrinter(out, err, progress=progress)
        case "json":
            return SummaryPrinter(out, err)
        case "stream-json":
            return StreamPrinter(out)


def json_line(value: object) -> bytes:
    """One line of JSON that no terminal acts on: everything beyond ASCII is escaped."""
    text = msgspec.json.encode(value).decode()
    if text.isascii() and "\x7f" not in text:
        return text.encode() + b"\n"
    return "".join(_escaped(c) for c in text).encode() + b"\n"


_TOLD: Final[dict[type[AnyFact], tuple[str, tuple[str, ...]]]] = {
    SessionOpened: ("session", ("session_id", "workspace", "model", "system_sha256", "tools_sha256")),
    TurnStarted: ("turn_started", ("turn",)),
    ToolStarted: ("tool_started", ("call_id", "name", "summary")),
    ToolFinished: ("tool_finished", ("call_id", "name", "status", "duration_ms")),
    PlanChanged: ("plan", ("plan",)),
    SubagentActivityChanged: ("subagent", ("agent_id", "phase", "detail", "elapsed_ms")),
    NoticeRaised: ("notice", ("level", "message")),
}
"""Facts that are told as some of their own fields."""


def json_object(fact: AnyFact) -> dict[str, Any] | None:
    """A fact as the contract's `stream-json` object, or None for what is not told there."""
    if type(fact) in _TOLD:
        kind, fields = _TOLD[type(fact)]
        return {"type": kind} | {name: getattr(fact, name) for name in fields}
    match fact:
        case MessageDelta(kind="text", text=text):
            return {"type": "text", "delta": text}
        case UsageReported():
            return {"type": "usage", **_usage(fact)}
        case _:
            return None


def told_as_notice(fact: CompactionFinished | RequestDelayed) -> NoticeRaised:
    """A compaction, or a wait for a model server, in one sentence or two."""
    if isinstance(fact, RequestDelayed):
        why = fact.reason or "A subagent's request to the model failed."
        message = f"{why} Attempt {fact.attempt}{_of(fact.attempts)} in {fact.delay_s:.1f} s."
        return NoticeRaised(level="warning", message=message)
    if fact.method == "none":
        return NoticeRaised(
            level="warning", message=f"The conversation was not compacted. {fact.detail}".strip()
        )
    what: tuple[Level, str] = ("info", "compacted") if fact.method == "summary" else ("warning", "cut")
    sizes = f"{fact.before_tokens:,} to about {fact.after_tokens:,} tokens"
    return NoticeRaised(
        level=what[0], message=f"The conversation was {what[1]}: {sizes}. {fact.detail}".strip()
    )


def _of(attempts: int) -> str:
    return f" of {attempts}" if attempts else ""


def progress_line(fact: AnyFact, about: str = "") -> str | None:
    """A fact as one line for a person who watches a headless run; `about` sums up a tool's call."""
    match fact:
        case ToolFinished(name="update_plan", status="ok"):
            return None
        case ToolFinished():
            fault = "" if fact.status == "ok" else f"  {fact.display.strip()}"
            line = f"{_GLYPH[fact.status]} {fact.name:<12} {fact.duration_ms:>6} ms  {about}{fault}"
            return clean_line(line, 110)
        case PlanChanged(plan=plan) if plan.items:
            done = sum(item.status == "done" for item in plan.items)
            now = next((item.title for item in plan.items if item.status == "in_progress"), plan.reason)
            return clean_line(f"# plan {done}/{len(plan.items)}: {now}", 110)
        case SubagentActivityChanged():
            line = f"| SUBAGENT {fact.agent_id} {fact.phase} {fact.elapsed_ms / 1000:.1f} s  {fact.detail}"
            return clean_line(line.rstrip(), 110)
        case _:
            return None


def _turn_finished(fact: TurnFinished) -> dict[str, Any]:
    return {
        "type": "turn_finished",
        "status": fact.status,
        "final_text": fact.final_text,
        "error": _problem(fact.problem),
    }


def _problem(problem: Problem | None) -> dict[str, str] | None:
    if problem is None:
        return None
    return {"code": problem.code, "message": problem.message, "next_step": problem.next_step}


def _usage(fact: UsageReported) -> dict[str, Any]:
    return _tokens(fact.total) | {"subagent": _tokens(fact.subagent)}


def _tokens(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
    }


def _escaped(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
