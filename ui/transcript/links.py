"""Links as they are drawn: a text never looks like another address than the one it leads to; pure."""

import re
from collections.abc import Hashable
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, unquote

import urwid

from ui.transcript.lines import Span, layered

MOST: Final = 2_000
"""Characters of an address that terminals open (urwid refuses more than 2,083)."""
_OPENED: Final = ("http://", "https://", "mailto:")
_BARE: Final = re.compile(r"\bhttps?://[^\s<>\"'`|\\^{}]+", re.IGNORECASE)
_AFTER: Final = ".,;:!?*_~"
"""Signs that belong to the sentence when they end an address."""
_BRACKETS: Final = {")": "(", "]": "["}
_LINE: Final = re.compile(r"(?::[0-9]+){1,2}$")
_WHOLE: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def linked(text: list[Span], address: str, workspace: str) -> list[Span]:
    """Return a link's text so that a terminal opens it, and its address unless that is the text."""
    target = opened(address, workspace)
    link: Hashable = "link"
    if target:
        link = layered(urwid.AttrSpec(hyperlink=target), "link")
    shown: list[Span] = [(layered(link, attribute), part) for attribute, part in text]
    said = "".join(part for _, part in text)
    if _plain(said) == _plain(address):
        return shown
    return [*shown, ("dim", " ("), (layered(link, "dim"), address), ("dim", ")")]


def opened(address: str, workspace: str) -> str:
    """Return what a terminal may open for an address; empty when that is nothing known to be harmless."""
    if not 0 < len(address) <= MOST:
        return ""
    if _WHOLE.match(address):
        target = address if address.lower().startswith(_OPENED) else ""
    else:
        target = _file(address, workspace)
    return target if target.isascii() and target.isprintable() and " " not in target else ""


def _file(address: str, workspace: str) -> str:
    """Return the address of a file in the workspace, by its path alone."""
    path = PurePosixPath(_LINE.sub("", unquote(address.partition("#")[0])))
    whole = PurePosixPath(workspace) / path
    if not workspace or not path.parts or ".." in path.parts or ":" in str(path):
        return ""
    if not whole.is_relative_to(workspace):
        return ""
    return f"file://{quote(str(whole))}"


def with_bare_links(text: str) -> list[tuple[str, str]]:
    """Cut a text into its parts, each with the address that it is (empty: none)."""
    parts: list[tuple[str, str]] = []
    at = 0
    for match in _BARE.finditer(text) if "://" in text else ():
        address = _without_end(match[0])
        parts += [(text[at : match.start()], ""), (address, address)]
        at = match.start() + len(address)
    return [(part, address) for part, address in [*parts, (text[at:], "")] if part]


def _without_end(address: str) -> str:
    while address[-1] in _AFTER or (
        address[-1] in _BRACKETS and address.count(_BRACKETS[address[-1]]) < address.count(address[-1])
    ):
        address = address[:-1]
    return address


def _plain(address: str) -> str:
    """Return what makes two addresses the same to a reader."""
    return address.strip().removeprefix("mailto:").removesuffix("/")
