"""Which keys are named in the last row, in the order in which they matter now."""

from typing import Literal, NamedTuple, assert_never

from ui import key_names
from ui.asking import NUMBERED
from ui.view import View

Answering = Literal["not", "choosing", "writing"]
"""Whether keys answer an ask just now, and how."""
Hint = tuple[str, str]
"""A key and what it does."""


class Around(NamedTuple):
    """What else is on the screen."""

    answering: Answering = "not"
    choices: int = 0
    """Answers that can be chosen by their number."""
    cut: bool = False
    """Whether there is more to read before one answers than can be seen at once."""
    offered: Literal["nothing", "choices", "prompts"] = "nothing"
    """What is offered above the composer."""
    session_head: bool = False
    """Whether the panel shows what was used."""
    unsaid: bool = False
    """Whether there is a line for the person that found no place above the composer."""
    names: bool = False
    """Whether a row above names model and session."""


def hints(view: View, around: Around) -> list[Hint]:
    """Return keys, as a person names them, and what they do."""
    shown = view.keymap.shown
    if view.desk.overlay == "recall":
        return [(shown("take"), "open"), (shown("cancel"), "close"), (shown("choose_down"), "choose")]
    if view.desk.overlay is not None:
        follow = [(key_names.shown("end"), "active step")] if view.desk.overlay == "plan" else []
        return [(shown("cancel"), "close"), (shown("line_down"), "scroll"), *follow]
    if view.desk.reading.active:
        return _reading_hints(view)
    if view.waiting_ask is not None:
        return _answer_hints(view, around)
    if around.offered != "nothing":
        older = [(shown("history"), "older")] if around.offered == "prompts" else []
        choose = f"{shown('choose_up')}, {shown('choose_down')}"
        return [(shown("take"), "take"), (shown("cancel"), "close"), *older, (choose, "choose")]
    if view.desk.outbox.edited is not None:
        return [
            (shown("send"), "put back"),
            (shown("drop_queued"), "remove"),
            (shown("cancel"), "leave as it was"),
        ]
    named = [(shown("help"), "help"), (shown("plan"), "plan")]
    if view.state.conversation.transcript.foldable:
        named.append((shown("fold"), "fold" if view.desk.unfolded else "details"))
    named.append((shown("newline"), "new line"))
    if view.desk.outbox.waiting:
        named[:0] = [(shown("take_back"), "edit queued"), (shown("drop_queued"), "remove it")]
    if view.state.conversation.busy:
        return [(shown("cancel"), "stop"), (shown("send"), "queue"), *named]
    return [(shown("send"), "send"), *named]


def _reading_hints(view: View) -> list[Hint]:
    shown, back = view.keymap.shown, view.keymap.shown("cancel")
    if view.desk.reading.finding:
        return [
            (back, "close"),
            (shown("take"), "done"),
            (f"{shown('choose_up')}, {shown('choose_down')}", "match"),
        ]
    fold = view.desk.reading.fold
    named = [(back, "back"), *([(shown("toggle"), fold)] if fold else [])]
    if not view.desk.reading.clicked:
        named += [(shown("copy"), "copy"), (shown("find"), "search")]
    if view.desk.reading.query:
        named.insert(1, (f"{shown('next_match')}, {shown('previous_match')}", "match"))
    return [*named, (f"{shown('block_up')}, {shown('block_down')}", "choose")]


def _answer_hints(view: View, around: Around) -> list[Hint]:
    shown = view.keymap.shown
    match around.answering:
        case "not":
            return [(shown("cancel"), "stop")]
        case "choosing":
            named = [(f"1-{min(NUMBERED, around.choices)}", "answer"), (shown("cancel"), "stop")]
            if around.choices > NUMBERED:
                named.insert(1, (f"{shown('line_up')}, {shown('line_down')}", "more answers"))
            return [*named, (shown("page_down"), "read on")] if around.cut else named
        case "writing":
            return [(shown("send"), "answer"), (shown("cancel"), "back")]
        case _:
            assert_never(around.answering)
