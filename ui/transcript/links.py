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
_LINE: Final = re.compile(r"(?::[0-9]+){1,2}$")
_MAIL: Final = re.compile(r"[^\s@/:?&]+@[^\s@/:?&]+")
_HOST: Final = re.compile(r"(?:[^\s./:]+\.)+([^\s./:]+)(?=[/:?#]|$)")
_OF_FILE: Final = re.compile(
    "bat|c|cc|cfg|cpp|css|csv|go|h|hpp|html|ini|ipynb|java|jsx?|json|kt|lock|log|lua|md|pdf|php|pl|png|pyi?|rb|rs|"
    "rst|scss|sh|sql|svg|swift|toml|tsx?|txt|xml|ya?ml|zsh",
    re.IGNORECASE,
)
"""What the name of a file in the workspace ends with; it may look like a host to nobody."""
_WHOLE: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def linked(text: list[Span], address: str, workspace: str) -> list[Span]:
    """Return a link's text so that a terminal opens it, and its address unless that is the text."""
    target = opened(address, workspace)
    link: Hashable = "link"
    if target:
        link = layered(urwid.AttrSpec(hyperlink=target), "link")
    shown: list[Span] = [(layered(link, attribute), part) for attribute, part in text]
    said = "".join(part for _, part in text)
    beside = _shown(said, address)
    if not beside:
        return shown
    return [*shown, ("dim", " ("), (layered(link, "dim"), beside), ("dim", ")")]


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


def _shown(said: str, address: str) -> str:
    """Return the address as it has to be shown beside a text; empty when the text is the address."""
    mail = address[:7].lower() == "mailto:"
    if _plain(said) not in (_plain(address), _plain(address[7:]) if mail else None):
        return address
    if mail:
        return "" if _MAIL.fullmatch(_plain(said)) else address
    if _WHOLE.match(address) or not _looks_far(said):
        return ""
    return f"file:{address}"


def _looks_far(said: str) -> bool:
    """Tell whether a text looks like something on the net; `app.py` and `docs/a.md` do not."""
    if "//" in said or "@" in said or said.strip().lower().startswith("www."):
        return True
    host = _HOST.match(said.strip())
    return host is not None and _OF_FILE.fullmatch(host[1]) is None


def _plain(address: str) -> str:
    """Return what makes two addresses the same to a reader."""
    return address.strip().removesuffix("/")
