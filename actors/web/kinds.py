"""What a server sent: a page to extract, a text to show, or something that is only named (pure)."""

import re
from typing import Final, Literal

from actors.web.fetch import Fetched
from actors.web.outside import one_line

Kind = Literal["html", "text", "other"]

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS: Final = frozenset(
    f"application/{name}"
    for name in (
        "json", "xml", "javascript", "x-javascript", "yaml", "x-yaml", "toml", "x-sh", "sql", "x-ndjson",
        "graphql",
    )
)  # fmt: skip
_SUFFIXES: Final = ("+json", "+xml", "+yaml")
_UNKNOWN: Final = frozenset({"", "application/octet-stream", "unknown/unknown"})
"""Types that servers send for what they do not know: then its bytes tell."""
_HEAD: Final = 1024
MAX_TYPE: Final = 80
_TAG: Final = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_MAGIC: Final = (
    (b"%PDF-", "PDF"), (b"\x89PNG", "PNG image"), (b"\xff\xd8\xff", "JPEG image"), (b"GIF8", "GIF image"),
    (b"PK\x03\x04", "ZIP archive"), (b"\x1f\x8b", "gzip archive"), (b"\x7fELF", "ELF program"),
)  # fmt: skip


def media_type(fetched: Fetched) -> str:
    """The content type without its parameters, lower case."""
    return fetched.headers.get("content-type", "").partition(";")[0].strip().lower()


def charset(fetched: Fetched) -> str:
    """The encoding that the server names; empty: none."""
    found = _CHARSET.search(fetched.headers.get("content-type", ""))
    return found[1].lower() if found else ""


def kind(fetched: Fetched) -> Kind:
    """Tell what to do with a body; bytes that are no text are never dumped, whatever their type says."""
    media, head = media_type(fetched), fetched.body[:_HEAD]
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or charset(fetched).startswith(("utf-16", "utf-32"))
    if any(head.startswith(magic) for magic, _ in _MAGIC) or (b"\0" in head and not is_wide):
        return "other"
    if media in _HTML:
        return "html"
    if media.startswith("text/") or media in _TEXTS or media.endswith(_SUFFIXES):
        return "text"
    if media not in _UNKNOWN:
        return "other"
    return "html" if _TAG.match(head) else "text"


def described(fetched: Fetched) -> str:
    """What it is and how large, for what is only named: `PDF (application/pdf), 12,345 bytes`."""
    media = one_line(media_type(fetched), MAX_TYPE)
    name = next((name for magic, name in _MAGIC if fetched.body.startswith(magic)), "")
    told = f"{name} ({media})" if name and media else name or media or "data of no known type"
    size = fetched.headers.get("content-length", "") if fetched.is_cut else str(len(fetched.body))
    if size.isdecimal() and len(size) < 20:
        return f"{told}, {int(size):,} bytes"
    return f"{told}, more than {len(fetched.body):,} bytes"
