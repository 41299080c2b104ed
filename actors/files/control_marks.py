"""Control characters of a text as marks that a model sees: `␛` for ESC, `<U+0085>` for NEL (pure)."""

import re
from typing import Final

_MARKS: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"<U+{code:04X}>" for code in (*range(0x80, 0xA0), 0x2028, 0x2029)},
}
_CONTROL: Final = re.compile(f"[{re.escape(''.join(map(chr, _MARKS)))}]")
_MOST_TOLD: Final = 8


def has_control(text: str) -> bool:
    """Whether anything in a text would be marked."""
    return _CONTROL.search(text) is not None


def marked(text: str) -> str:
    """The text with a mark for each of its control characters; tabs and line feeds stay."""
    return text.translate(_MARKS) if has_control(text) else text


def key(text: str) -> str:
    r"""Which marks a text needs and what they stand for in JSON: `␍ is \r, ␛ is \u001b`; may be empty."""
    every = sorted(set(_CONTROL.findall(text)))
    told = [f"{_MARKS[ord(each)]} is {_escape(each)}" for each in every[:_MOST_TOLD]]
    return ", ".join(told) + (" and so on" if len(every) > _MOST_TOLD else "")


def _escape(character: str) -> str:
    return r"\r" if character == "\r" else f"\\u{ord(character):04x}"
