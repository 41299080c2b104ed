"""Names of files as text for the log: a byte that is no UTF-8 is `\\xNN`, a backslash is two (pure)."""

import os
import re
from collections.abc import Iterable
from typing import Final

_ESCAPED: Final = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")


def to_text(name: str) -> str:
    """Valid Unicode that `to_name` turns back; most names are themselves."""
    return os.fsencode(name).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def to_name(text: str) -> str:
    """The name that `to_text` was given."""
    encoded = _ESCAPED.sub(
        lambda found: bytes.fromhex(found[1].decode()) if found[1] else b"\\", text.encode()
    )
    return os.fsdecode(encoded)


def folder_of(name: str) -> str:
    """The folder that a relative path lies in; empty is the root."""
    return name.rpartition("/")[0]


def folders_of(names: Iterable[str]) -> set[str]:
    """Every folder on the way to a path, the root aside."""
    found: set[str] = set()
    for name in names:
        folder = folder_of(name)
        while folder and folder not in found:
            found.add(folder)
            folder = folder_of(folder)
    return found


def from_the_root(name: str) -> list[str]:
    """Sort key that puts folders before what is in them."""
    return name.split("/")
