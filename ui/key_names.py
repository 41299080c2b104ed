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
_SAME: Final = {"ctrl i": "tab", "ctrl m": "enter", "ctrl [": "esc", "ctrl h": "backspace"}
"""Keys that a terminal sends the same code for."""


def canonical(name: str) -> str | None:
    """Return urwid's name of a key that a person wrote, such as `Ctrl-N` or `alt+page up`; None: no key."""
    words = _words(name)
    modifiers: set[str] = set()
    while len(words) > 1 and words[0].lower() in _MODIFIERS:
        modifiers.add(_MODIFIERS[words.pop(0).lower()])
    key = " ".join(words)
    if len(key) == 1:
        if not key.isprintable():
            return None
        key = key.lower() if "ctrl" in modifiers else key
    else:
        key = _SAID.get(key.lower(), key.lower())
        if key not in _NAMED:
            return None
    known = " ".join([*(each for each in _ORDER if each in modifiers), key])
    return _SAME.get(known, known)


def shown(key: str) -> str:
    """Return a key of urwid as a person names it: `Alt-PgUp` for `meta page up`."""
    words = key.split(" ") if key != " " else [" "]
    said = []
    while len(words) > 1 and words[0] in _ORDER:
        said.append({"meta": "Alt"}.get(words[0], words[0].title()))
        del words[0]
    last = " ".join(words) or " "
    named = _NAMED.get(last, last.upper() if said and last.isalpha() else last)
    return "-".join([*said, named])


def _words(name: str) -> list[str]:
    """Split a name at blanks, `-` and `+`, but for such a sign that is the key itself."""
    name = " " if name.isspace() and name else name.strip()
    if name in ("", " "):
        return [name] if name else []
    head, last = (name[:-1], name[-1]) if name[-1] in "-+" else (name, "")
    words = head.replace("-", " ").replace("+", " ").split()
    return [*words, last] if last else words
