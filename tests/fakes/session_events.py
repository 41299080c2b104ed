"""Events of a session for tests: made, written and read back."""

import json
import resource
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from actors.conversation import (
    encode_assistant,
    encode_system,
    encode_tool_result,
    encode_user,
    without_echo,
)
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    MessageAppended,
    Notice,
    PlanWritten,
    PromptTaken,
    SessionStarted,
    TurnEnded,
    UsageRecorded,
)
from actors.session.history import History
from actors.session.invariants import Invariants
from actors.session.log import LogFailed, Recovery, SessionLog, read_log
from actors.session.replay import SHOWN, Replay
from ipc.messages import AnyFact, ToolCall, Usage
from tests.fakes import chat_rules
from tests.fakes.plans import plan, step

AT = "2026-01-02T03:04:05.678Z"
HEADER = SessionStarted(
    session_id="s-1",
    workspace="/w",
    model="m",
    mode="agent",
    at=AT,
    system_sha256="0" * 64,
    tools_sha256="1" * 64,
)
CODE = 'def area(r: float) -> float:\n\treturn 3.14159 * r ** 2  # "é"\n'


def said(text: str) -> Notice:
    return Notice(level="info", message=text)


def appended(message: bytes, turn: int = 1) -> MessageAppended:
    return MessageAppended(turn=turn, message=msgspec.Raw(message))


SYSTEM = appended(encode_system("s"), turn=0)


def prompted(turn: int = 1, text: str = "hello") -> list[AnyEvent]:
    return [PromptTaken(turn=turn, text=text, at=AT), appended(encode_user(text), turn)]


def asks(*call_ids: str, text: str = "", turn: int = 1) -> MessageAppended:
    """An answer that calls `bash_exec`."""
    calls = [ToolCall(id=call_id, name="bash_exec", arguments="{}") for call_id in call_ids]
    return appended(encode_assistant(text, calls), turn)


def begun(call_id: str, turn: int = 1) -> CallStarted:
    return CallStarted(turn=turn, call_id=call_id, name="bash_exec", arguments="{}")


def done(call_id: str, turn: int = 1, display: str = "") -> CallEnded:
    return CallEnded(
        turn=turn, call_id=call_id, name="bash_exec", status="ok", duration_ms=1, display=display
    )


def result(call_id: str, text: str = "fine", turn: int = 1) -> MessageAppended:
    return appended(encode_tool_result(call_id, text), turn)


def answered(turn: int = 1, text: str = "done") -> list[AnyEvent]:
    return [
        appended(encode_assistant(text), turn),
        TurnEnded(turn=turn, status="completed", final_text=text),
    ]


def whole_turn(turn: int, calls: int = 1, output: str = CODE) -> Iterator[AnyEvent]:
    """A turn with rounds of one call each, and a plan update."""
    yield from prompted(turn, f"prompt {turn}")
    for number in range(calls):
        call_id = f"call-{turn}-{number}"
        yield UsageRecorded(
            turn=turn, usage=Usage(prompt_tokens=900, cached_tokens=800, completion_tokens=20)
        )
        yield asks(call_id, turn=turn)
        yield begun(call_id, turn)
        yield done(call_id, turn, output)
        yield result(call_id, output, turn)
    yield PlanWritten(turn=turn, plan=plan(step("a"), revision=turn))
    yield from answered(turn, f"done {turn}")


def long_session(events: int, calls: int = 18, output: str = CODE * 10) -> Iterator[AnyEvent]:
    """What stands behind the header of a session of so many events, or a few more; the last turn is whole."""
    yield SYSTEM
    count, turn = 2, 0
    while count < events:
        turn += 1
        for event in whole_turn(turn, calls, output):
            yield event
            count += 1


def written(folder: Path, *events: AnyEvent, header: SessionStarted = HEADER) -> Path:
    log = SessionLog.create(folder, header.session_id, header)
    for event in events:
        log.append(event)
    log.close()
    return log.path


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file grows past so many bytes; only around few calls: the runner's own output is a file, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def opened(path: Path) -> Recovery:
    log, recovery = SessionLog.open(path)
    log.close()
    return recovery


def messages(recovery: Recovery) -> list[str]:
    return [event.message for event in recovery.events if isinstance(event, Notice)]


def conversation(events: Sequence[AnyEvent]) -> tuple[bytes, ...]:
    """The messages as they were appended."""
    return tuple(bytes(event.message) for event in events if isinstance(event, MessageAppended))


def facts_of(events: Iterable[AnyEvent], limit: int = SHOWN) -> list[AnyFact]:
    """What a session shows again."""
    replay = Replay(limit)
    for event in events:
        replay.apply(event)
    return list(replay.facts())


def check_log(path: Path) -> tuple[AnyEvent, ...]:
    """Fail unless a log is whole, keeps all rules and folds to what a strict server takes; its events."""
    recovery = read_log(path)
    assert all(skipped.reason == "unfinished" for skipped in recovery.skipped), recovery.notice()
    invariants = Invariants()
    for event in recovery.events:
        invariants.apply(event)
    decoded = [json.loads(without_echo(message)[0]) for message in fold(recovery.events).messages]
    if decoded:
        chat_rules.check({"model": "m", "stream": True, "messages": decoded})
    return recovery.events


def refusal_to_open(code: str, path: Path) -> LogFailed:
    """Open what must not open; the refusal says what to do next."""
    try:
        log, _ = SessionLog.open(path)
    except LogFailed as failed:
        refused = failed
    else:
        log.close()
        raise AssertionError(f"{path} was opened")
    assert refused.code == code
    assert refused.next_step
    return refused


def fold(events: Iterable[AnyEvent]) -> History:
    """Add up the events of one session."""
    history = History()
    for event in events:
        history.apply(event)
    return history
