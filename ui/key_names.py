"""Names of keys: as urwid calls them, as a person writes them, and as the help shows them."""

from typing import Final

_MODIFIERS: Final = {
    "shift": "shift",
    "alt": "meta",
    "meta": "meta",
    "option": "meta",
    "ctrl": "ctrl",
    "control": "ctrl",
}
_ORDER: Final = ("shift", "meta", "ctrl")
"""The order in which urwid writes modifiers."""
_NAMED: Final = {
    "enter": "Enter",
    "esc": "Esc",
    "tab": "Tab",
    "backspace": "Backspace",
    "delete": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "page up": "PgUp",
    "page down": "PgDn",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    " ": "Space",
    **{f"f{number}": f"F{number}" for number in range(1, 21)},
}
"""Keys that have a name, with what is written on them."""
_SAID: Final = {
    "return": "enter",
    "escape": "esc",
    "del": "delete",
    "ins": "insert",
    "pgup": "page up",
    "pgdn": "page down",
    "pageup": "page up",
    "pagedown": "page down",
    "space": " ",
}
"""Other names that people know a key by."""
SAME: Final = {
    "ctrl i": "tab",
    "ctrl m": "enter",
    "ctrl [": "esc",
    "ctrl h": "backspace",
    "<0>": "ctrl  ",
    "meta <0>": "meta ctrl  ",
}
"""Keys that most terminals send the same code for, so that they are one key in all of them; and urwid's names
of a code that is a key."""


def canonical(name: str) -> str | None:
    """Return urwid's name of a key that a person wrote, such as `Ctrl-N` or `alt+page up`; None: no key."""
    words = _words(name)
    modifiers: set[str] = set()
    while len(words) > 1 and words[0].lower() in _MODIFIERS:
        modifiers.add(_MODIFIERS[words.pop(0).lower()])
    key = " ".join(words)
    if len(key) != 1:
        key = _SAID.get(key.lower(), key.lower())
        if key not in _NAMED:
            return None
    elif not key.isprintable():
        return None
    elif "ctrl" in modifiers:
        key = key.lower()
    if len(key) == 1 and "shift" in modifiers:
        modifiers.discard("shift")  # a terminal names what is typed
        shifted = key.upper()
        if len(shifted) > 1 or (shifted == key and key != " " and not key.isupper()):
            return None  # what is typed is known to the keyboard alone
        key = shifted
    known = " ".join([*(each for each in _ORDER if each in modifiers), key])
    return SAME.get(known, known)


def advice(name: str) -> str:
    """Return what to write for a name that is no key."""
    words = [word.lower() for word in _words(name)]
    if "shift" in words[:-1] and len(words[-1]) == 1:
        return "write the sign that it types with Shift, such as 'alt !'."
    return "names are like 'ctrl n', 'alt up', 'f6'."


def shown(key: str) -> str:
    """Return a key of urwid as a person names it: `Alt-PgUp` for `meta page up`; no key has no name."""
    modifiers, last = list[str](), key
    while (head := last.partition(" ")[0]) in _ORDER and last != head:
        modifiers.append({"meta": "Alt"}.get(head, head.title()))
        last = last.removeprefix(f"{head} ")
    if modifiers and len(last) == 1 and last.isupper():
        modifiers.insert(0, "Shift")
    named = _NAMED.get(last, last.upper() if modifiers and last.isalpha() else last)
    return "-".join([*modifiers, named]) if last else ""


def _words(name: str) -> list[str]:
    """Split a name at blanks, `-` and `+`, but for such a sign that is the key itself."""
    name = " " if name.isspace() and name else name.strip()
    if name in ("", " "):
        return [name] if name else []
    head, last = (name[:-1], name[-1]) if name[-1] in "-+" else (name, "")
    words = head.replace("-", " ").replace("+", " ").split()
    return [*words, last] if last else words
