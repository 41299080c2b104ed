"""A page as text: a process of its own that can read, write and reach nothing, since a page may be hostile.

Reads one JSON line, `Order`, then the bytes of the page; writes one JSON object, `Page`.
"""

import json
import os
import re
import resource
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict
from urllib.parse import urljoin, urlsplit

from actors.sandbox import landlock, level, seccomp
from actors.web.outside import visible
from ipc import kernel

if TYPE_CHECKING:
    from resiliparse.parse.html import ElementNode, HTMLTree

MEMORY_BYTES: Final = 1 << 30
CPU_S: Final = 10
MAX_LINE: Final = 1000
"""Characters of a line; a longer one is folded, so that every part of a text has a line to start from."""
MAX_TITLE: Final = 200
MOST_MARKED: Final = 5000
"""Links, headings of a depth, pieces of code that are marked; those behind them are plain text."""
SHORT: Final = 200
"""Characters below which what a page calls its main part is not believed to be it."""

_MAIN: Final = "main, [role=main]"
_UNSEEN: Final = (
    "[hidden]", '[aria-hidden="true"]', '[style*="display:none"]', '[style*="display: none"]',
    '[style*="visibility:hidden"]', '[style*="visibility: hidden"]', "template",
)  # fmt: skip
"""What no reader of the page sees; text for a model alone would be put there."""
_INSIDE: Final = ("nav", "[role=navigation]", "footer:not(article footer)")
_AROUND: Final = (
    *_INSIDE, "header:not(article header)", "aside:not(article aside)", "[role=banner]", "[role=contentinfo]",
)  # fmt: skip
"""What belongs to the site and not to the page; inside an article the same elements are parts of it."""
_PERMALINKS: Final = frozenset({"", "¶", "§", "#"})
"""Texts of links that say nothing."""
MARK: Final = "\ue000fragment\ue001"
"""Stands where a fragment leads, until the text is cut there."""


class Order(TypedDict):
    """What is to be made of the bytes."""

    is_html: bool
    charset: str
    """As the server said; empty: it did not."""
    url: str
    """Where the page came from, for its links."""
    fragment: str
    line: int
    """First line wanted, from 1."""
    room: int
    """Bytes of text that are wanted at most."""


class Page(TypedDict):
    """A part of the text of a page."""

    title: str
    text: str
    first_line: int
    last_line: int
    """0 where there is no such line."""
    lines: int
    """Of the whole text."""


def read_page(order: Order, data: bytes) -> Page:
    """Make text of a page and cut the wanted part out of it."""
    title, text, line = "", "", order["line"]
    if order["is_html"]:
        title, text, found = _of_html(order, data)
        line = max(line, found)
    else:
        text = _decoded(data, order["charset"])
    text = visible(text).strip("\n")
    lines = list(_folded(text)) if text else []
    shown, last = _fitting(lines, line, order["room"])
    return Page(
        title=" ".join(visible(title).split())[:MAX_TITLE],
        text="\n".join(shown),
        first_line=line,
        last_line=last,
        lines=len(lines),
    )


def _of_html(order: Order, data: bytes) -> tuple[str, str, int]:
    """Title, text, and the line on which what the fragment names begins; 0: nowhere."""
    from resiliparse.parse.encoding import detect_encoding

    charset = _bom(data) or order["charset"] or detect_encoding(data, from_html_meta=True) or "utf-8"
    text, title = "", ""
    for is_whole in (False, True):
        tree = _parsed(data, charset)
        title = tree.title or ""
        mark = _prepared(tree, order)
        is_main = not is_whole and _keep_main(tree)
        text = _text(tree, is_main=is_main)
        if not is_main or len(text) >= SHORT:
            break
    before, found, behind = text.partition(mark)
    return title, _tidied(before + behind), _tidied(before).count("\n") + 1 if found else 0


def _parsed(data: bytes, charset: str) -> "HTMLTree":
    from resiliparse.parse.html import HTMLTree

    try:
        return HTMLTree.parse_from_bytes(data, charset, "replace")
    except (LookupError, ValueError):
        return HTMLTree.parse_from_bytes(data, "utf-8", "replace")


def _prepared(tree: "HTMLTree", order: Order) -> str:
    """Write headings, code and links such that text keeps them; return what marks the fragment's place."""
    document, body = tree.document, tree.body
    if document is None or body is None:
        return MARK
    base = document.query_selector("base[href]")
    base_url = _joined(order["url"], base.getattr("href") or "") if base else order["url"]
    for link in _all(body, "a[href]"):
        target, label = _target(link.getattr("href") or "", base_url), (link.text or "").strip()
        if label in _PERMALINKS:
            link.remove()
        elif target and target not in label and link.closest("pre") is None:
            link.append(document.create_text_node(f" ({target})"))
    for depth in range(1, 7):
        for heading in _all(body, f"h{depth}"):
            heading.prepend(document.create_text_node("#" * depth + " "))
    for code in _all(body, "pre"):
        code.prepend(document.create_text_node("```\n"))
        code.append(document.create_text_node("\n```"))
    place = body.get_element_by_id(order["fragment"]) if order["fragment"] else None
    if place is not None:
        place.prepend(document.create_text_node(MARK))
    return MARK


def _all(body: "ElementNode", selector: str) -> "list[ElementNode]":
    """Its first elements; to iterate over what the query gives would make the query once for each of them."""
    return body.query_selector_all(selector).values()[:MOST_MARKED]


def _target(href: str, base_url: str) -> str:
    """Where a link leads; empty when that is no other page."""
    target = _joined(base_url, href)
    return "" if target.partition("#")[0] == base_url.partition("#")[0] else target


def _joined(base_url: str, href: str) -> str:
    """The web URL that a page writes in relation to another; that other one when it writes none."""
    try:
        target = urljoin(base_url, href.strip())
        return target if urlsplit(target).scheme in ("http", "https") else base_url
    except ValueError:
        return base_url


def _keep_main(tree: "HTMLTree") -> bool:
    """Reduce a page to the one part that it calls its main one, if it does."""
    body = tree.body
    found = _all(body, _MAIN) if body is not None else []
    if body is None or len(found) != 1:
        return False
    body.replace_children(found[0])
    return True


def _text(tree: "HTMLTree", *, is_main: bool) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    around = _INSIDE if is_main else _AROUND
    return extract_plain_text(tree, preserve_formatting=True, skip_elements=[*_UNSEEN, *around])


def _tidied(text: str) -> str:
    """Plain spaces, none at a line's end, and one empty line at most."""
    lines = (line.replace("\xa0", " ").rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _decoded(data: bytes, charset: str) -> str:
    """Plain text in the encoding that is most likely its own."""
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    for name in (_bom(data), charset, "utf-8"):
        try:
            return data.decode(name) if name else _nothing()
        except (LookupError, ValueError):
            continue
    return bytes_to_str(data, detect_encoding(data) or "utf-8", "replace")


def _nothing() -> str:
    raise LookupError


def _bom(data: bytes) -> str:
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return name
    return ""


def _folded(text: str) -> Iterator[str]:
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        yield line[:MAX_LINE]
        for at in range(MAX_LINE, len(line), MAX_LINE):
            yield line[at : at + MAX_LINE]


def _fitting(lines: list[str], first: int, room: int) -> tuple[list[str], int]:
    """The lines from `first` on that fit, and the number of the last of them."""
    shown: list[str] = []
    for line in lines[first - 1 :]:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        shown.append(line)
    return shown, first + len(shown) - 1 if shown else 0


def _confine() -> None:
    """Give up everything but the pipes and Python's own codecs, as far as this kernel lets us."""
    for which, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(which, (most, most))
    kernel.hide_memory()
    kernel.gain_nothing()
    kernel.drop_capabilities()
    has = level.probe()
    if has.landlock:
        library = landlock.Allowed(
            Path(os.__file__).parent, landlock.READ_FILE | landlock.READ_DIR, stat.S_IFDIR
        )
        landlock.restrict(has.landlock, (library,))
    if has.seccomp:
        seccomp.install(seccomp.program())


def main(parent: int) -> None:
    """Serve one order from stdin."""
    kernel.die_with_parent(parent)
    import resiliparse.extract.html2text
    import resiliparse.parse.encoding
    import resiliparse.parse.html  # noqa: F401 - imported while files can still be read

    _confine()
    order, _, data = sys.stdin.buffer.read().partition(b"\n")
    page = read_page(json.loads(order), data)
    sys.stdout.buffer.write(json.dumps(page).encode("ascii"))
    sys.stdout.flush()
