"""Every key and every local command the screen knows; the only place that names one. The help is made of it.

Names of keys are urwid's: `meta` is Alt. A key means one thing in one place; what it means anywhere, it means
in every place that has no other use for it. Keys that edit a line are urwid's own and are listed only.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from ui import key_names

Action = Literal[
    "send",
    "newline",
    "take_back",
    "drop_queued",
    "history",
    "complete",
    "edit",
    "expand",
    "browse",
    "line_up",
    "line_down",
    "leave",
    "cancel",
    "interrupt",
    "plan",
    "recall",
    "fold",
    "search",
    "select",
    "help",
    "page_up",
    "page_down",
    "prompt_up",
    "prompt_down",
    "oldest",
    "newest",
    "panel_up",
    "panel_down",
    "background",
    "redraw",
    "block_up",
    "block_down",
    "toggle",
    "copy",
    "find",
    "next_match",
    "previous_match",
    "first",
    "last",
    "choose_up",
    "choose_down",
    "take",
]
Place = Literal["anywhere", "composer", "transcript", "list"]
"""Where a key means something: where one writes, in the transcript while it is browsed, in a list."""
PLACES: Final[dict[Place, str]] = {
    "composer": "Writing",
    "anywhere": "Anywhere",
    "transcript": "In the transcript",
    "list": "In a list",
}
"""Places in the order of the help, with its heads."""


class Binding(NamedTuple):
    """One action in one place, and the keys that mean it."""

    action: Action
    keys: tuple[str, ...]
    help: str
    place: Place = "anywhere"

    @property
    def shown(self) -> str:
        """The keys as a person names them."""
        return ", ".join(map(key_names.shown, self.keys))


BINDINGS: Final = (
    Binding("send", ("enter",), "send; while Fido works, queue", "composer"),
    Binding("newline", ("meta enter", "ctrl j", "shift enter"), "new line", "composer"),
    Binding("take_back", ("meta up",), "take a queued message back, or what was typed over", "composer"),
    Binding("drop_queued", ("meta delete",), "remove the last queued message", "composer"),
    Binding("history", ("ctrl r",), "search earlier prompts; again: an older one", "composer"),
    Binding("line_up", ("up",), "line up; from the first one, earlier prompts", "composer"),
    Binding("line_down", ("down",), "line down; from the last one, later prompts", "composer"),
    Binding("complete", ("tab",), "complete a file behind @, or a command behind /", "composer"),
    Binding("edit", ("ctrl g",), "write in your editor", "composer"),
    Binding("expand", ("meta v",), "show a folded paste as text", "composer"),
    Binding("browse", ("shift tab",), "go to the transcript, and back", "composer"),
    Binding("leave", ("ctrl d",), "in an empty line: leave", "composer"),
    Binding("cancel", ("esc",), "close what is open, else stop the turn"),
    Binding("interrupt", ("ctrl c",), "the same; when idle: clear the draft, twice: leave"),
    Binding("plan", ("f2", "ctrl t"), "the whole plan"),
    Binding("fold", ("f3", "ctrl o"), "thoughts, outputs and diffs: all of them, or a line each"),
    Binding("recall", ("f4",), "earlier sessions of this workspace"),
    Binding("select", ("f5",), "plain text, for the terminal's own selection"),
    Binding("search", ("ctrl f",), "search the transcript"),
    Binding("help", ("f1",), "this help; also ? in an empty line"),
    Binding("page_up", ("page up",), "older"),
    Binding("page_down", ("page down",), "newer"),
    Binding("prompt_up", ("ctrl up",), "the prompt before"),
    Binding("prompt_down", ("ctrl down",), "the prompt after"),
    Binding("oldest", ("ctrl home", "meta <"), "the beginning"),
    Binding("newest", ("ctrl end", "meta >"), "the end, and follow it"),
    Binding("panel_up", ("shift up", "meta page up"), "plan panel up"),
    Binding("panel_down", ("shift down", "meta page down"), "plan panel down"),
    Binding("background", ("ctrl z",), "to the background; `fg` comes back"),
    Binding("redraw", ("ctrl l",), "draw the screen again"),
    Binding("block_up", ("up",), "the block above", "transcript"),
    Binding("block_down", ("down",), "the block below", "transcript"),
    Binding("first", ("home",), "the first block", "transcript"),
    Binding("last", ("end",), "the last block", "transcript"),
    Binding("toggle", ("enter",), "unfold or fold the block", "transcript"),
    Binding("copy", ("c",), "copy the block", "transcript"),
    Binding("find", ("/",), "search", "transcript"),
    Binding("next_match", ("n",), "the next match", "transcript"),
    Binding("previous_match", ("N",), "the match before", "transcript"),
    Binding("browse", ("shift tab", "tab"), "back to the line you write", "transcript"),
    Binding("choose_up", ("up", "ctrl p"), "the entry above", "list"),
    Binding("choose_down", ("down", "ctrl n"), "the entry below", "list"),
    Binding("take", ("enter", "tab"), "take it", "list"),
)
UNDO: Final = "ctrl _"
EDITING: Final = (
    (("left", "right"), "a character"),
    (("ctrl left", "ctrl right"), "a word back, forward; also Alt-B, Alt-F"),
    (("ctrl a", "ctrl e"), "start, end of the line"),
    (("backspace", "delete"), "delete a character"),
    (("ctrl w", "meta d"), "delete the word before, behind the cursor"),
    (("ctrl u", "ctrl k"), "delete to the start, end of the line"),
    (("ctrl y",), "put back what was deleted"),
    ((UNDO, "meta _"), "undo, redo"),
)
"""Keys that edit the line, for the help; urwid's editor knows them."""
_EDITS: Final = {key for row, _ in EDITING for key in row} | {"home", "end", "meta b", "meta f"}
_WRITING: Final[tuple[Place, ...]] = ("composer", "anywhere", "list")
"""Places in which one writes, or may write on: a list opens while one does."""
FIXED: Final[tuple[Action, ...]] = ("interrupt",)
"""Actions that keep their keys: there must be a way out that nobody can lose."""
_NEEDED: Final[tuple[Action, ...]] = ("send", "cancel", "take")
"""Actions without which nothing goes on."""
HELP_IN_EMPTY_LINE: Final = "?"
PASTE_BEGIN: Final = "begin paste"
PASTE_END: Final = "end paste"
FOCUS_IN: Final = "focus in"
FOCUS_OUT: Final = "focus out"
RESIZED: Final = "window resize"

SCROLLING: Final[dict[Action, str]] = {
    "page_up": "page up",
    "page_down": "page down",
    "line_up": "up",
    "line_down": "down",
    "panel_up": "page up",
    "panel_down": "page down",
}
"""Actions that scroll, and the key that a scrolled widget knows for it."""
ENDS: Final = ("home", "end")
"""Keys that scroll what lies over the screen all the way; a plan then follows its active step again."""


class Pasted(str):
    """A paste as one key: its text, which may read like the name of a key. Lines end with a newline."""

    __slots__ = ()


class Keymap:
    """What each key means, as the person wants it."""

    def __init__(self, bindings: tuple[Binding, ...] = BINDINGS, faults: tuple[str, ...] = ()) -> None:
        """`faults`: what of the wishes could not be met, for people."""
        self.bindings = bindings
        self.faults = faults
        self._meant = {(each.place, key): each.action for each in bindings for key in each.keys}

    @classmethod
    def of(cls, wishes: Mapping[str, tuple[str, ...]]) -> "Keymap":
        """Return the table with keys changed; a wish that can not be met changes nothing. Raises nothing."""
        wanted, faults = dict[Action, tuple[str, ...]](), list[str]()
        for name, keys in wishes.items():
            fault = _refusal(name, keys)
            if fault:
                faults.append(f"[screen.keys] {fault}")
            else:
                wanted[_action(name)] = tuple(key for key in map(key_names.canonical, keys) if key)
        while clash := _clash(bindings := _rebound(wanted), wanted):
            action, fault = clash
            del wanted[action]
            faults.append(f"[screen.keys] {fault}")
        return cls(bindings, tuple(faults))

    def action_of(self, key: str, place: Place = "composer") -> Action | None:
        """Return what a key means there, or None when it is text, a paste or an editing key."""
        if isinstance(key, Pasted):
            return None
        return self._meant.get((place, key)) or self._meant.get(("anywhere", key))

    def shown(self, action: Action) -> str:
        """Return the first key of an action as a person names it; empty when it has none."""
        found = next((each.keys for each in self.bindings if each.action == action and each.keys), ("",))
        return key_names.shown(found[0])


DEFAULT: Final = Keymap()


def _action(name: str) -> Action:
    return next(each.action for each in BINDINGS if each.action == name)


def _refusal(action: str, keys: tuple[str, ...]) -> str:
    """Return why a wish makes no sense, whatever the others are; empty when it does."""
    rows = [each for each in BINDINGS if each.action == action]
    if not rows:
        return f"names {action!r}, and there is no such action; {DEFAULT.shown('help')} lists them."
    if action in FIXED:
        return f"{action} keeps {rows[0].shown}: it is the way out."
    if action in _NEEDED and not keys:
        return f"{action} needs a key; it keeps {rows[0].shown}."
    writing = any(each.place in _WRITING for each in rows)
    for key in keys:
        if (known := key_names.canonical(key)) is None:
            return f"{action}: {key!r} is no key; {key_names.advice(key)}"
        if writing and is_text(known):
            return f"{action}: {key!r} is text where one writes."
        if writing and known in _EDITS:
            return f"{action}: {key_names.shown(known)} edits the line."
    return ""


def _rebound(wanted: Mapping[Action, tuple[str, ...]]) -> tuple[Binding, ...]:
    return tuple(each._replace(keys=wanted.get(each.action, each.keys)) for each in BINDINGS)


def _clash(bindings: tuple[Binding, ...], wanted: dict[Action, tuple[str, ...]]) -> tuple[Action, str] | None:
    """Return a wished action with a key that means something else there, and what to say of it."""
    for action in reversed(wanted):
        rows = [each for each in bindings if each.action == action]
        for other in bindings:
            if other.action == action or not any(_meet(each.place, other.place) for each in rows):
                continue
            if key := next((key for key in wanted[action] if key in other.keys), None):
                return action, f"{action}: {key_names.shown(key)} already means {other.action}."
    return None


def _meet(one: Place, other: Place) -> bool:
    return one == other or "anywhere" in (one, other)


LocalCommand = Literal[
    "/plan",
    "/plan clear",
    "/usage",
    "/jobs",
    "/jobs stop",
    "/copy",
    "/copy code",
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
    "/copy": "copy the last answer, as Markdown",
    "/copy code": "copy the last code of an answer",
    "/compact": "shorten the conversation now; words behind it say what to keep",
    "/undo": "take back the file changes of the last turn",
    "/redo": "make the changes again that were taken back",
    "/recall": "go on with an earlier session of this workspace",
    "/suspend": "end Fido, and print the command that comes back to this session",
    "/help": "keys and commands",
    "/quit": "leave Fido",
}
WITH_WORDS: Final[tuple[LocalCommand, ...]] = ("/compact", "/jobs stop")
"""Commands that take words of the person behind their name."""
WRITTEN_OUT: Final[tuple[LocalCommand, ...]] = (
    "/plan clear",
    "/jobs stop",
    "/compact",
    "/undo",
    "/redo",
    "/suspend",
    "/quit",
)
"""Commands that change something: completing one carries nothing out, it has to stand there first."""

SAME_COMMAND: Final[dict[str, LocalCommand]] = {
    "/resume": "/recall",
    "/sessions": "/recall",
    "/exit": "/quit",
}
"""Names that people know a command by from elsewhere."""


class Entered(NamedTuple):
    """A line that looks like a local command."""

    line: str
    """As entered, with single spaces."""
    command: LocalCommand | None
    """None when there is no such command."""
    words: str = ""
    """What was entered behind the name of a command that takes words."""


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
    for command in WITH_WORDS:
        count = len(command.split())
        if " ".join(words[:count]).lower() == command:
            behind = text.split(maxsplit=count)[count:]
            return Entered(command, command, "".join(behind).rstrip())
    known = next((command for command in LOCAL_COMMANDS if command == line.lower()), None)
    known = known or SAME_COMMAND.get(line.lower())
    if "\n" in text.strip() or (known is None and text[0].isspace()):
        return None
    return Entered(line, known)


def nearest(line: str) -> LocalCommand | None:
    """Return the command that was probably meant."""
    import difflib  # only for who mistypes

    found = difflib.get_close_matches(line.lower(), LOCAL_COMMANDS, n=1, cutoff=0.5)
    return next((command for command in LOCAL_COMMANDS if command in found), None)
