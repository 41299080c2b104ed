"""Hostile text on every way to the screen: it can be seen, and does nothing."""

import json
import os
import shlex
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.session.events import ApprovalSettled
from ipc.messages import (
    AnyFact,
    AskRaised,
    AskSettled,
    MessageDelta,
    NoticeRaised,
    PlanChanged,
    PlanItem,
    ToolFinished,
    ToolPrinted,
    ToolStarted,
    TurnStarted,
)
from ipc.terminal_text import clean
from tests.fakes.chat_script import Step, call, calls, chunks, parent, say, status, subagent
from tests.fakes.facts import activity, approval, finished, jobs, session
from tests.fakes.fault_table import LONG
from tests.fakes.hostile_texts import HOSTILE, decoded, foreign
from tests.fakes.scene import played, scene, whole
from tests.fakes.scene import say as tell
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.session_events import check_log
from tests.fakes.terminal import ENTER, ESC, F3, PAGE_DOWN, TerminalProgram

TAGGED = {f"q{number}z": text for number, text in enumerate(HOSTILE.values())}
"""Each text behind a tag of its own: what stands right behind a tag on the terminal was let through."""
TEXTS = [tag + text for tag, text in TAGGED.items()]
AT_ONCE = 5
CUTS = 10_000 if LONG else 8
BULK = 10_000_000 if LONG else 300_000
CHARACTERS_PER_S = 5_000_000
"""Read and written: what is made visible is up to nine times as long."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(strict=False) as made:
        yield made


def assert_harmless(terminal: TerminalProgram) -> None:
    """Nothing but signs and the screen's own work was written, and no hostile text as it is."""
    written = decoded(bytes(terminal.written))
    assert foreign(bytes(terminal.written)) == ""
    acts = {tag: text for tag, text in TAGGED.items() if clean(text) != text and len(text) > 2}
    let_through = [tag for tag, text in acts.items() if tag + text in written]
    assert let_through == []


def doings(texts: list[str]) -> list[Step]:
    """Calls with a text wherever a model can put one; each goes wrong, so that the screen tells about it."""
    step = {"status": "blocked"}
    items = [
        {**step, "id": f"s{number}", "title": text, "details": text, "next_action": text, "evidence": [text]}
        for number, text in enumerate(texts)
    ]
    printed = "\n".join(f"printf '%s\\n' {shlex.quote(text)}" for text in texts)
    return [
        call("bash_exec", {"command": f"{printed}\nexit 3"}),
        call("update_plan", {"reason": "".join(texts), "items": items}),
        *(call(text, {"x": text}) for text in texts),
        *(call("read_file", {"path": text}) for text in texts),
        *(call("read_file", text) for text in texts),
    ]


def turn() -> Iterator[Step]:
    """A turn of parent and subagent that is full of it, and fails in the end."""
    batches = [TEXTS[at : at + AT_ONCE] for at in range(0, len(TEXTS), AT_ONCE)]
    for texts in batches:
        yield say(
            list("".join(texts)), reasoning="".join(texts), calls=calls(doings(texts)).calls, when=parent
        )
        task = {
            "task": "".join(texts),
            "context": "".join(texts),
            "scope": {"paths": texts, "symbols": texts},
        }
        yield call("delegate", task, when=parent)
        yield say(texts, reasoning="".join(texts), calls=calls(doings(texts)).calls, when=subagent)
        findings = [{"file": text, "line": 1, "claim": text, "confidence": "high"} for text in texts]
        result = {
            "status": "completed",
            "summary": "".join(texts),
            "findings": findings,
            "uncertainties": texts,
        }
        yield say(json.dumps(result), when=subagent)
    surrogates = {"choices": [{"index": 0, "delta": {"content": "\udce9\ud83d"}, "finish_reason": "length"}]}
    yield chunks(json.dumps(surrogates), when=parent)


def refusal() -> Step:
    """An error of the server that quotes it."""
    return status(400, body={"error": {"message": "".join(TEXTS), "type": TEXTS[0], "code": TEXTS[1]}})


@pytest.mark.fault(67, says="hostile text on every way to the screen")
def test_no_hostile_text_of_model_tool_file_server_or_paste_reaches_the_terminal(
    server: ScriptedServer, tmp_path: Path
) -> None:
    workspace = tmp_path / "\x1b[2Jq0z\u202e"
    workspace.mkdir()
    for number, text in enumerate(TEXTS):
        (workspace / f"{number}").write_text(text, encoding="utf-8")
    for name in ("-rf", "a\nb", "\x1b]0;x\x07", "\u202egnp.txt", "$(touch pwned)"):
        (workspace / name).write_text("x", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(workspace) + b"/\xff\x9b2J")).write_text("x", encoding="utf-8")
    server.add(*turn(), refusal(), say("after all"))
    with whole(server, workspace, "--mode", "yolo", TEXTS[0], columns=200, rows=50) as run:
        run.shows("??", "ready")
        run.terminal.type("more" + ENTER)
        run.shows("✗ The ", "q1z", "ready")
        for text in TEXTS:
            if "\x1b[201~" not in text:  # by which a terminal would tell that the paste is over
                run.terminal.paste(text)
        run.shows("<U+202E>gnp.exe")
        run.terminal.type(ENTER)
        run.shows("after all", "ready")
        run.terminal.type("/recall" + ENTER)
        run.shows("Earlier sessions", "␛]52;c;aGk=␇")
        assert_harmless(run.terminal)
        assert not list(workspace.glob("pwned"))


@pytest.mark.timeout(1200 if LONG else 60)
@pytest.mark.fault(68, says="hostile text cut at every place")
@played
async def test_a_text_that_is_cut_anywhere_is_shown_as_if_whole(tmp_path: Path) -> None:
    async with scene(tmp_path, columns=200, rows=60) as (run, terminal):
        for number, (tag, text) in enumerate(TAGGED.items()):
            shown = unicodedata.normalize("NFC", " ".join(clean(text)[:40].strip().split("\n")[0].split()))
            for at in range(1, min(len(text), CUTS)):
                run.parent.tell(TurnStarted(turn=number, prompt="x"))
                begun = tell(f"{tag}\n```\n", number)  # as code, so that marks of Markdown stay
                run.parent.tell(begun, tell(text[:at], number), tell(text[at:], number))
                run.parent.tell(finished(number))
            run.parent.tell(NoticeRaised(level="info", message=f"all of {number} told"))
            await terminal.shows(f"all of {number} told")
            assert shown[:30] in " ".join(terminal.text.split()), ascii(text)
        assert_harmless(terminal)


@pytest.mark.report("ESC-02")
@pytest.mark.fault(67, says="hostile text in what the other processes tell")
@played
async def test_no_hostile_text_of_another_process_reaches_the_terminal(tmp_path: Path) -> None:
    async with scene(tmp_path, columns=120) as (run, terminal):
        for number, text in enumerate(TEXTS):
            run.parent.tell(session(session_id=text, workspace=text, model=text))
            run.parent.tell(TurnStarted(turn=number, prompt=text), activity(text, text))
            run.parent.tell(NoticeRaised(level="warning", message=text))
            item = PlanItem(id=text, title=text, status="blocked", evidence=(text,), verdicts=("claimed",))
            run.store.tell(
                PlanChanged(plan=run.store.plan.__class__(reason=text, session=text, items=(item,)))
            )
            run.parent.tell(
                AskRaised(
                    ask_id=f"{number}", kind="question", tool=text, title=text, body=text, options=(text,)
                )
            )
            await terminal.shows(f"q{number}z")
            run.parent.tell(finished(number, text))
            for fact in _running(number, text):
                run.parent.tell(fact)
            await terminal.shows(f"t{number}t")
            run.parent.tell(ToolFinished(call_id="1", name="patch", status="ok", duration_ms=1, display=text))
            run.parent.tell(approval(f"@@ -0,0 +1 @@\n+{text}", tool="patch", title=text, grant=text))
            await terminal.shows("patch asks", f"q{number}z")
            run.parent.tell(AskSettled(ask_id="ask-1", outcome="deny"))
        terminal.type(F3)
        run.parent.tell(jobs(*TEXTS[-1:-7:-1]))
        terminal.type("/jobs" + ENTER)
        await terminal.shows("Running in the background", f"1  q{len(TEXTS) - 1}z")
        terminal.type(ESC)
        run.parent.tell(NoticeRaised(level="info", message="all told"))
        await terminal.shows("all told")
        assert_harmless(terminal)


def _running(number: int, text: str) -> Iterator[AnyFact]:
    """A thought, and what a command prints while it runs."""
    yield MessageDelta(turn=number, kind="reasoning", text=text)
    yield ToolStarted(call_id="1", name="patch", summary=text)
    yield ToolPrinted(call_id="1", tail=f"{text}\nt{number}t")


@pytest.mark.timeout(1200 if LONG else 60)
@pytest.mark.fault(69, says="hostile text in bulk")
@pytest.mark.parametrize(
    "unit",
    ["\x1b]", "\x1b[0;", "\u0301", "\u200d", "😀\u200d", "❤\ufe0f", "\u202e", "\U000e0041", "e\u0e47", "a漢"],
    ids=ascii,
)
def test_cleaning_takes_time_in_proportion_to_the_text(unit: str) -> None:
    text = unit * (BULK // len(unit))

    def seconds(sample: str) -> float:
        return min(_timed(sample) for _ in range(3))

    taken = seconds(text)
    assert taken < 40 * seconds(text[: len(text) // 8]) + 0.01
    assert (len(text) + len(clean(text))) / taken > CHARACTERS_PER_S


def _timed(text: str) -> float:
    """Seconds of this process alone: others use the processor, too."""
    start = time.process_time()
    clean(text)
    return time.process_time() - start


COMMAND = f"echo a{' ' * 10_000}; rm -rf x\rls\x1b[8m\u202e #\n" + "\n".join(
    f"line {number} {'x' * (number % 7)}" for number in range(60)
)


@pytest.mark.fault(70, says="a command to approve that hides what it does")
@pytest.mark.parametrize("columns", [60, 120])
def test_the_whole_of_a_command_can_be_read_before_it_is_approved(
    server: ScriptedServer, tmp_path: Path, columns: int
) -> None:
    server.add(call("bash_exec", {"command": COMMAND}), say("Not then."))
    with whole(server, tmp_path, "go", columns=columns, rows=24) as run:
        run.shows("bash_exec asks", "1-4 answer")
        seen = run.terminal.text
        for _ in range(30):
            before = run.terminal.text
            run.terminal.type(PAGE_DOWN)
            if "line 59" in before:
                break
            run.terminal.until(lambda at=before: run.terminal.text != at, "the next page")
            seen += run.terminal.text
        for part in ("⟨10000 spaces⟩", "; rm -rf x␍ls␛[8m<U+202E> #", *(f"line {n}" for n in range(60))):
            assert part in seen, part
        assert "1 Allow once" in run.terminal.text, "the choices are not pushed out of sight"
        run.terminal.type("2" + ENTER)
        run.shows("Not then.", "ready")
        assert_harmless(run.terminal)
        (log,) = (run.at.folder / "state" / "fido" / "sessions").glob("*.jsonl")
        (settled,) = [event for event in check_log(log) if isinstance(event, ApprovalSettled)]
        assert (settled.subject, settled.outcome) == (COMMAND, "deny")
        assert not (tmp_path / "x").exists()
