"""What Markdown is here: CommonMark with tables and with addresses that are links, without HTML."""

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

DEEPEST: Final = 20
"""Constructs within each other that are understood; what is deeper is text."""
_SCHEME: Final = re.compile(r"(?<![a-z0-9+.-])https?$", re.IGNORECASE)
_CONTEXT: Final = len("xhttps")
_MARKS_BEFORE: Final = re.compile(r"[*_~]+$")
_ADDRESS: Final = re.compile(r"://[^\s<>\"'`|\\^{}]+")
_AFTER: Final = ".,;:!?"
"""Signs that belong to the sentence when they end an address."""
_MARKS: Final = "*_~"
"""Signs that belong to the sentence unless there are as many within the address."""
_BRACKETS: Final = {")": "(", "]": "["}


def blocks(text: str) -> list[Token]:
    """Return the constructs of a text; what is written within them is not looked at yet."""
    return _PARSER.parse(text)


def codes(text: str) -> list[str]:
    """Return the code of a text as it is drawn: what is fenced, or further right."""
    return [each.content.removesuffix("\n") for each in blocks(text) if each.type in ("fence", "code_block")]


def inside(text: str, *, lasts: bool) -> list[Token]:
    """Return what is written within a construct; `lasts`: its last word may go on, and is no address yet."""
    return _PARSER.inline.parse(text, _PARSER, {"lasts": lasts}, [])


def _bare_address(state: StateInline, silent: bool) -> bool:
    """Take an address before its signs could be taken for marks."""
    if silent or state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    scheme, rest = _SCHEME.search(state.pending[-_CONTEXT:]), _ADDRESS.match(state.src, state.pos)
    if scheme is None or rest is None:
        return False
    begin = state.pos - len(scheme[0])
    marks = _MARKS_BEFORE.search(state.src[max(0, begin - _CONTEXT) : begin])
    address = _without_end(scheme[0] + rest[0].partition("](")[0], marks[0][::-1] if marks else "")
    if len(address) <= len(scheme[0]) + len("://"):
        return False
    state.pos = begin + len(address)
    if state.env.get("lasts") and not any(map(str.isspace, state.src[rest.end() :])):
        state.pending += address[len(scheme[0]) :]
        return True
    state.pending = state.pending[: -len(scheme[0])]
    state.push("link_open", "a", 1).attrs = {"href": address}
    state.push("text", "", 0).content = address
    state.push("link_close", "a", -1)
    return True


def _without_end(address: str, closing: str) -> str:
    """Return an address without what ends its sentence; `closing`: ends the marks before it."""
    while True:
        if closing and address.endswith(closing):
            address, closing = address[: -len(closing)], ""
        elif address[-1] in _AFTER or _is_loose(address, address[-1]):
            address = address[:-1]
        else:
            return address


def _is_loose(address: str, end: str) -> bool:
    if end in _BRACKETS:
        return address.count(_BRACKETS[end]) < address.count(end)
    inner = address.rstrip(end)
    return end in _MARKS and inner.count(end) < len(address) - len(inner)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline", "reference", "inline", "text_join"])
    parser.inline.ruler.after("text", "address", _bare_address)
    return parser


_PARSER: Final = _parser()
