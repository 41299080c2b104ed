"""Every key and every local command the screen knows; the only place that names one. The help is made of it.

Names of keys are urwid's: `meta` is Alt. Keys that edit a line are urwid's own and stay as they are.
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Action = Literal[
    "send",
    "newline",
    "take_back",
    "cancel",
    "interrupt",
    "plan",
    "recall",
    "fold",
    "help",
    "page_up",
    "page_down",
    "line_up",
    "line_down",
    "oldest",
    "newest",
    "panel_up",
    "panel_down",
    "background",
    "redraw",
]


@dataclass(frozen=True, slots=True)
class Binding:
    """One action and the keys that mean it."""

    action: Action
    keys: tuple[str, ...]
    shown: str
    """The keys as a person names them."""
    help: str


BINDINGS: Final = (
    Binding("send", ("enter",), "Enter", "send; while Fido works, queue"),
    Binding("newline", ("meta enter", "ctrl j", "shift enter"), "Alt-Enter, Ctrl-J", "new line"),
    Binding("take_back", ("meta up",), "Alt-Up", "take the last queued message back, or what was typed over"),
    Binding("cancel", ("esc",), "Esc", "close what is open, else stop the turn"),
    Binding("interrupt", ("ctrl c",), "Ctrl-C", "the same; twice when idle: leave"),
    Binding("plan", ("f2", "ctrl t"), "F2, Ctrl-T", "the whole plan"),
    Binding("recall", ("ctrl r",), "Ctrl-R", "earlier sessions of this workspace"),
    Binding("fold", ("f3", "ctrl o"), "F3, Ctrl-O", "thoughts and diffs: all of them, or a line each"),
    Binding("help", ("f1",), "F1, or ? in an empty line", "this help"),
    Binding("page_up", ("page up",), "PgUp", "older"),
    Binding("page_down", ("page down",), "PgDn", "newer"),
    Binding("line_up", ("up",), "Up", "one line, when the cursor cannot move"),
    Binding("line_down", ("down",), "Down", "one line, when the cursor cannot move"),
    Binding("oldest", ("meta <", "ctrl home"), "Ctrl-Home", "the beginning"),
    Binding("newest", ("meta >", "ctrl end"), "Ctrl-End", "the end, and follow it"),
    Binding("panel_up", ("shift up", "meta page up"), "Shift-Up, Alt-PgUp", "plan panel up"),
    Binding("panel_down", ("shift down", "meta page down"), "Shift-Down, Alt-PgDn", "plan panel down"),
    Binding("background", ("ctrl z",), "Ctrl-Z", "to the background; `fg` comes back"),
    Binding("redraw", ("ctrl l",), "Ctrl-L", "draw the screen again"),
)
HELP_IN_EMPTY_LINE: Final = "?"
DIGITS: Final = "1-9"
PASTE_BEGIN: Final = "begin paste"
PASTE_END: Final = "end paste"

SCROLLING: Final[dict[Action, str]] = {
    "page_up": "page up",
    "page_down": "page down",
    "line_up": "up",
    "line_down": "down",
    "panel_up": "page up",
    "panel_down": "page down",
}
"""Actions that scroll, and the key that a scrolled widget knows for it."""

_ACTIONS: Final[dict[str, Action]] = {key: binding.action for binding in BINDINGS for key in binding.keys}

LocalCommand = Literal[
    "/plan",
    "/plan clear",
    "/usage",
    "/jobs",
    "/jobs stop",
    "/compact",
    "/undo",
    "/redo",
    "/recall",
    "/suspend",
    "/help",
    "/quit",
]
LOCAL_COMMANDS: Final[dict[LocalCommand, str]] = {
    "/plan": "show the whole plan",
    "/plan clear": "start over with an empty plan",
    "/usage": "tokens and cost, of this turn and in all",
    "/jobs": "what commands have left running",
    "/jobs stop": "end one of these, by its number: `/jobs stop 1`",
    "/compact": "shorten the conversation now; words behind it say what to keep",
    "/undo": "take back the file changes of the last turn",
    "/redo": "make the changes again that were taken back",
    "/recall": "go on with an earlier session of this workspace",
    "/suspend": "end Fido, and print the command that comes back to this session",
    "/help": "keys and commands",
    "/quit": "leave Fido",
}
_WITH_WORDS: Final[tuple[LocalCommand, ...]] = ("/compact", "/jobs stop")
"""Commands that take words of the person behind their name."""


class Entered(NamedTuple):
    """A line that looks like a local command."""

    line: str
    """As entered, with single spaces."""
    command: LocalCommand | None
    """None when there is no such command."""
    words: str = ""
    """What was entered behind the name of a command that takes words."""


def action_of(key: str) -> Action | None:
    """Return what a key means, or None when it is text or an editing key."""
    return _ACTIONS.get(key)


def shown(action: Action) -> str:
    """Return the first key of an action as a person names it."""
    return next(binding.shown for binding in BINDINGS if binding.action == action).split(",")[0]


def is_text(key: str) -> bool:
    """Tell whether a key is a character that can be typed."""
    return len(key) == 1


def local_command(text: str) -> Entered | None:
    """Return the local command that a text looks like; None when it is a prompt.

    A space before a word that is no command makes a prompt of it.
    """
    words = text.split()
    if not words or not words[0].startswith("/") or "/" in words[0][1:]:
        return None
    line = " ".join(words)
    for command in _WITH_WORDS:
        count = len(command.split())
        if " ".join(words[:count]).lower() == command:
            behind = text.split(maxsplit=count)[count:]
            return Entered(command, command, "".join(behind).rstrip())
    known = next((command for command in LOCAL_COMMANDS if command == line.lower()), None)
    if "\n" in text.strip() or (known is None and text[0].isspace()):
        return None
    return Entered(line, known)


def nearest(line: str) -> LocalCommand | None:
    """Return the command that was probably meant."""
    import difflib  # only for who mistypes

    found = difflib.get_close_matches(line.lower(), LOCAL_COMMANDS, n=1, cutoff=0.5)
    return next((command for command in LOCAL_COMMANDS if command in found), None)
