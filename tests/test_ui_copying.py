"""What is copied is what was written, whatever it looks like on the screen."""

import pytest

from ipc.messages import ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from tests.test_ui_pieces import pieces
from ui.orders import Copy
from ui.transcript.blocks import Block
from ui.transcript.copying import last_answer, last_code, without_fence
from ui.transcript.pieces import code_of


def blocks(text: str) -> list[Block]:
    return [*pieces(text)]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("```md\nuse ```\nmore text\n```\n", "use ```\nmore text"),
        ("old:\n```\nold\n```\nnew:\n> ```sh\n> ls\n>\n>   -l\n> ```\n", "ls\n\n  -l"),
        ("````md\n```py\nx\n```\n````\n", "```py\nx\n```"),
        ("```\nx = '~~~'\n```\n", "x = '~~~'"),
        ("~~~~\n~~~\n~~~~~\n", "~~~"),
        ("1. Do\n   - this\n\n     ```sh\n     make\n     \tall\n     ```\n2. More", "make\n\tall"),
        ("```make\nall:\n\tcc\n```", "all:\n\tcc"),
        ("```\n" + "line\n" * 500 + "```\nthe end", "\n".join(["line"] * 500)),
        ("- a\n  ```\n" + "  line\n" * 500 + "  ```\n", "\n".join(["line"] * 500)),
        ("text\n\n    indented\n      code\n\nmore", "indented\n  code"),
        ("``` `no` fence", ""),
        ("no code at all", ""),
    ],
)
def test_the_last_code_is_what_is_drawn_as_code(answer: str, code: str) -> None:
    assert last_code(blocks(answer)) == code


def test_a_piece_is_code_only_when_all_of_it_is() -> None:
    assert without_fence("  ```py\n  x\n    y\n  ```") == "x\n  y"
    assert without_fence("```\nnever closed") == "never closed"
    assert without_fence("```\na\n```\n\ntext") == "```\na\n```\n\ntext"
    assert code_of("text") is None


def test_an_answer_whose_beginning_is_gone_is_copied_as_far_as_it_is_there() -> None:
    answer = blocks("first\n\nsecond\n\n```\nthird\n```")
    assert last_answer(answer[1:]) == "second\n\n```\nthird\n```"
    assert last_code(answer[1:]) == "third"
    assert last_answer([]) == last_code([]) == ""


def test_signs_that_no_two_terminals_draw_alike_are_copied_and_not_drawn() -> None:
    family = "family: \U0001f468\u200d\U0001f469\u200d\U0001f467 heart: \u2764\ufe0f"
    desk = Desktop().tell(session())
    desk.view.state.conversation.transcript.say(f"{family}\n\n```\na\tb\n```")
    assert last_answer(desk.view.state.conversation.transcript.blocks) == f"{family}\n\n```\na\tb\n```"
    assert "family: \U0001f468\U0001f469\U0001f467 heart: \u2764" in desk.text
    assert not {"\u200d", "\ufe0f", "\t"} & set(desk.text)


def test_prompts_and_outputs_are_copied_with_their_tabs_and_drawn_without() -> None:
    output = "a\tb\n\tc \U0001f468\u200d\U0001f469"
    change = "@@ -1 +1 @@\n-\tx\n+\ty\u2764\ufe0f"
    desk = Desktop(100, 40).tell(
        session(),
        TurnStarted(turn=1, prompt="all:\n\tmake"),
        ToolStarted(call_id="1", name="bash_exec", summary="cat x"),
        ToolFinished(call_id="1", name="bash_exec", status="ok", duration_ms=5, display=output),
        ToolStarted(call_id="2", name="patch", summary="x"),
        ToolFinished(
            call_id="2",
            name="patch",
            status="ok",
            duration_ms=5,
            display=change,
        ),
    )
    desk.press("f3", "shift tab", "home", "c", "down", "c", "down", "c")
    assert desk.orders == [
        Copy("all:\n\tmake"),
        Copy(f"cat x\n{output}"),
        Copy(f"x\n{change}"),
    ]
    for shown in (desk.text, desk.press("esc", "f5").text):
        assert not {"\u200d", "\ufe0f", "\t"} & set(shown)
        assert "\U0001f468\U0001f469" in shown
