"""What a search looks through is what is drawn, and each occurrence that is counted is marked."""

from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ipc.messages import AnyFact, AskRaised, MessageDelta, ToolFinished, ToolPrinted, ToolStarted, TurnStarted
from tests.fakes.facts import approval, session
from tests.fakes.screen import Desktop
from ui.transcript.blocks import TextBlock
from ui.transcript.drawing import drawn
from ui.transcript.legible import legible
from ui.transcript.pages import plainly
from ui.transcript.pieces import Cutter

WORDS = [
    "word",
    "snake_case",
    "__init__",
    "3",
    "é漢",
    "`x`",
    "`**kwargs`",
    "``a`b``",
    "**bold**",
    "**`b`**:",
    "*em*",
    "~~s~~",
]
SIGNS = [
    "*",
    "**",
    "`",
    "_",
    "[",
    "](x)",
    "[a](https://b.example/c)",
    "https://d.example/e_f",
    "&amp;",
    "& ",
    "<b>",
    "\\_",
    "|",
    "#",
]
BEGINS = [
    "",
    "",
    "",
    "- ",
    "* ",
    "  - ",
    "1. ",
    "12) ",
    "# ",
    "### ",
    "> ",
    "    ",
    "  ",
    "- [ ] ",
    "```py",
    "~~~",
    "| a | b |",
    "|---|---|",
    "---",
    "===",
    "+ ",
]
GLUE = st.sampled_from([" ", " ", " ", "", "  ", ", "])
LINES = st.builds(
    lambda begin, words: begin + "".join(chain.from_iterable(words)),
    st.sampled_from(BEGINS),
    st.lists(
        st.tuples(st.sampled_from(WORDS) | st.sampled_from(WORDS) | st.sampled_from(SIGNS), GLUE), max_size=6
    ),
)
DESK = Desktop(100, 30).tell(session())


def pieces(text: str) -> list[TextBlock]:
    cutter = Cutter()
    return cutter.feed(text) + cutter.end()


def seen(block: TextBlock) -> str:
    canvas = drawn(block, DESK.view).render((1_000,))
    return plainly("\n".join(row.decode() for row in canvas.text))


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES | st.just(""), min_size=1, max_size=6).map("\n".join))
@example("a **b **c** d** e")
@example("```\ncode\n```")
@example("a** b **c")
@example("```")
@example("- **a**b `c`\n  d")
def test_what_is_looked_through_is_what_is_drawn(text: str) -> None:
    for block in pieces(text):
        assert plainly(legible(block, DESK.view)) == seen(block)


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "with `code` and **strong words**, too",
        "- **`file.py`**: what it is",
        "## A head",
        "```py\nx = 1\n```",
    ],
)
def test_most_answers_are_read_without_being_drawn(text: str) -> None:
    (block,) = pieces(text)
    view = replace(DESK.view, state=None)  # type: ignore[arg-type]
    assert plainly(legible(block, view)) == seen(block)


def called(
    *, name: str = "bash_exec", summary: str = "make", display: str = "", status: str = "ok"
) -> tuple[AnyFact, ...]:
    return (
        ToolStarted(call_id="1", name=name, summary=summary),
        ToolFinished(call_id="1", name=name, status=status, duration_ms=5, display=display),  # type: ignore[arg-type]
    )


DIFF = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-old\n+new\n"
CODE = "```python\ndef f(**kwargs):\n    kwargs.pop()\n    return 2**3 + 23\n```\n\n"
LINK = "The `__init__` of __bold__\n\n[doc](http://x.example/zebra) snake\\_case\n"


@pytest.mark.parametrize(
    ("query", "times"),
    [
        *(("**kwargs", 1), ("kwargs", 2), ("23", 1), ("`__init__`", 0), ("__init__", 1), ("bold", 1)),
        *(("__bold__", 0), ("snake_case", 1), ("zebra", 1), ("doc (http", 1), ("plan 2/7", 1), ("x.py", 1)),
        *(
            ("1 + new", 1),
            ("new", 1),
            ("@@", 0),
            ("failed", 1),
            ("no rule", 1),
            ("compiling", 2),
            ("waits for", 1),
        ),
    ],
)
def test_each_occurrence_that_is_counted_is_marked(query: str, times: int) -> None:
    desk = Desktop(100, 60).tell(
        session(),
        TurnStarted(turn=1, prompt="p"),
        MessageDelta(turn=1, kind="text", text=CODE + LINK),
        *called(name="update_plan", summary="Surveyed", display="2 of 7 done, now: Inspect"),
        *called(name="patch", summary="src/x.py", display=DIFF),
        *called(display="make: no rule", status="error"),
        ToolStarted(call_id="2", name="bash_exec", summary="cc"),
        ToolPrinted(call_id="2", tail="compiling a\ncompiling b"),
        ToolStarted(call_id="3", name="ask_user", summary="Which?"),
        AskRaised(ask_id="q", kind="question", tool="ask_user", title="", body="", call_id="3"),
    )
    desk.press("f3", "ctrl f").type(query)
    runs = [(getattr(role, "base", role), run) for row in desk.draw().content() for role, _, run in row]
    marks = sum(role in ("found", "found now") for role, _ in runs)
    assert desk.view.desk.reading.search.total == times
    assert (marks > 0) == (times > 0)
    assert marks >= times
    assert sum(role == "found now" for role, _ in runs) >= min(times, 1)


def test_a_match_in_an_output_is_the_one_that_is_shown_although_the_command_is_cut() -> None:
    command = f"pytest {'a ' * 60} needle"
    desk = Desktop(60, 30).tell(session(), *called(summary=command, display="one needle\ntwo\nthree needle"))
    desk.press("f3", "ctrl f").type("needle")
    assert "3/3" in desk.text
    assert "found now" in desk.roles_of("three needle")
    assert "found now" in desk.press("enter", "N").roles_of("one needle")
    desk.press("N")
    assert "1/3" in desk.text
    assert "found now" not in desk.roles_of("one needle")


def test_an_approval_is_found_by_what_was_decided() -> None:
    desk = Desktop(100, 30).tell(
        session(), ToolStarted(call_id="1", name="bash_exec", summary="make"), approval()
    )
    assert "1/1" in desk.press("ctrl f").type("waits for").text
