"""An approval or a question, answered where one writes."""

import sys
from pathlib import Path

import pytest

from ipc.messages import AskRaised, AskSettled, SettleAsk, TurnStarted
from tests.fakes import an_editor
from tests.fakes.facts import approval
from tests.fakes.scene import played, scene
from tests.fakes.terminal import CTRL_G, DOWN, ENTER, ESC, PAGE_DOWN

WIDTHS = [40, 60, 80, 120, 200]
ARMED = "1-4 answer"
DIFF = "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+three\n four\n"


@played
async def test_what_is_asked_its_choices_and_the_draft_are_in_sight_at_every_size(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        terminal.type("a draft")
        await terminal.shows("working", "a draft")
        run.parent.tell(approval("find . -name '*.pyc' -not -path './.git/*' -delete && make test " * 3))
        await terminal.shows(ARMED)
        for columns, rows in [*((columns, 24) for columns in WIDTHS), (40, 10)]:
            await terminal.redraws(columns, rows)
            await terminal.shows("bash_exec asks", "find . -name", "Allow once", "Deny")
            assert "1" in terminal.line_with("Allow once")
            for choice in ("2", "3", "4"):
                assert choice in terminal.text
            if rows > 10:
                assert "a draft" in terminal.text
        await terminal.redraws(80, 24)
        terminal.type("1")
        assert await run.parent.hears(SettleAsk) == [SettleAsk(ask_id="ask-1", decision="allow_once")]
        run.parent.tell(AskSettled(ask_id="ask-1", outcome="allow"))
        await terminal.becomes(lambda: "asks" not in terminal.text and "a draft" in terminal.text)


@played
async def test_a_diff_is_shown_before_it_is_allowed(tmp_path: Path) -> None:
    async with scene(tmp_path, 80, 30) as (run, terminal):
        run.parent.tell(
            TurnStarted(turn=1, prompt="x"), approval(DIFF, tool="patch", title="patch a.py", grant="")
        )
        await terminal.shows("patch", "- two", "+ three")
        assert terminal.cells("- two")[0].fg != terminal.cells("+ three")[0].fg
        assert "2" in terminal.line_with("- two")


@played
async def test_a_command_that_needs_more_room_is_read_to_its_end(tmp_path: Path) -> None:
    async with scene(tmp_path, 60, 16) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        run.parent.tell(approval("\n".join(f"echo step {number}" for number in range(40))))
        await terminal.shows(ARMED, "echo step 0", "more rows below")
        terminal.type(PAGE_DOWN * 60)
        await terminal.shows("echo step 39", "Allow once")


@played
async def test_a_refusal_says_why_in_a_free_sentence(tmp_path: Path) -> None:
    async with scene(tmp_path, 80) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), approval())
        await terminal.shows(ARMED)
        terminal.type("use tox instead")
        await terminal.shows("use tox instead")
        terminal.type(ENTER)
        expected = SettleAsk(ask_id="ask-1", decision="deny", text="use tox instead")
        assert await run.parent.hears(SettleAsk) == [expected]


@played
async def test_a_question_is_answered_by_a_choice_or_in_own_words(tmp_path: Path) -> None:
    def question(ask_id: str) -> AskRaised:
        options = ("Keep both", "Take the new one")
        return AskRaised(
            ask_id=ask_id, kind="question", tool="ask_user", title="Which one?", body="", options=options
        )

    async with scene(tmp_path, 80) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), question("ask-1"))
        await terminal.shows("Which one?", "1 Keep both", "2 Take the new one", "answer  Esc")
        terminal.type(f"{DOWN}{ENTER}")
        first = await run.parent.hears(SettleAsk)
        assert (first[0].ask_id, first[0].text) == ("ask-1", "Take the new one")
        run.parent.tell(AskSettled(ask_id="ask-1", outcome="Take the new one"), question("ask-2"))
        await terminal.shows("answer  Esc")
        terminal.type("none")
        await terminal.shows("none")
        terminal.type(ENTER)
        second = (await run.parent.hears(SettleAsk, 2))[1]
        assert (second.ask_id, second.text) == ("ask-2", "none")


@played
async def test_enter_behind_an_editor_is_no_yes_to_what_was_asked_meanwhile(tmp_path: Path) -> None:
    async with scene(tmp_path, 80, EDITOR=f"{sys.executable} -I {an_editor.__file__}") as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        terminal.type(CTRL_G)
        await terminal.shows("editing <")
        run.parent.tell(approval("rm -rf build", grant=""))
        terminal.type("put fix the docs too\r")
        await terminal.shows("saved <")
        terminal.type("end 0\r")
        await terminal.shows("› fix the docs too", "rm -rf build", "Allow once")
        terminal.type(ENTER)
        # The message is queued; whoever waits longer is asked for a reason. Nobody says yes.
        await terminal.becomes(lambda: "queued  fix" in terminal.text or "and say why:" in terminal.text)
        assert not [order for order in run.parent.heard if isinstance(order, SettleAsk)]


@played
async def test_several_asks_are_answered_one_after_the_other(tmp_path: Path) -> None:
    async with scene(tmp_path, 80) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        run.parent.tell(*(approval(f"make {name}", ask_id=f"ask-{name}") for name in ("one", "two", "three")))
        for number, name in enumerate(("one", "two", "three"), 1):
            await terminal.shows(f"  make {name}", ARMED)
            terminal.type("1")
            settled = await run.parent.hears(SettleAsk, number)
            assert settled[-1] == SettleAsk(ask_id=f"ask-{name}", decision="allow_once")
            run.parent.tell(AskSettled(ask_id=f"ask-{name}", outcome="allow"))
        await terminal.becomes(lambda: "asks" not in terminal.text)


@pytest.mark.report("PANEL-04")
@played
async def test_brackets_in_what_is_asked_are_text(tmp_path: Path) -> None:
    text = "echo [/x] [b [red] {0} %s"
    async with scene(tmp_path, 80) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), approval(text, title=text, grant=text))
        await terminal.shows(ARMED)
        assert terminal.text.count("[/x] [b [red] {0} %s") >= 2
        terminal.type(ESC)
