"""`--allow` and `--deny`: what one of them means, as an entry of the permissions (pure)."""

import re
from collections.abc import Mapping
from typing import Final

from actors.permissions.shell_words import plain_words

_WITH_PATTERN: Final = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_CHANGES_FILES: Final = ("mkdir", "patch", "rm", "rmdir")


def from_flags(flags: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """The tables of `permissions` that the flags `allow` and `deny` fill; a denial wins over a yes."""
    tables: dict[str, dict[str, str]] = {}
    for answer in ("allow", "deny"):
        given = flags.get(answer)
        for text in given if isinstance(given, list | tuple) else ():
            table, name = _entry(str(text), answer)
            tables.setdefault(table, {})[name] = answer
    return tables


def _entry(text: str, answer: str) -> tuple[str, str]:
    """Tell a tool (`patch`) from a command, a path or a host (`bash_exec(git diff *)`)."""
    found = _WITH_PATTERN.fullmatch(text)
    if found is None:
        return "tools", text.strip()
    tool, pattern = found[1], found[2].strip()
    if tool == "bash_exec":
        is_plain = plain_words(pattern.removesuffix(" *")) is not None
        return ("commands" if is_plain or answer == "deny" else "command_lines"), pattern
    if tool in _CHANGES_FILES:
        return "paths", pattern
    if tool == "browse_url":
        return "hosts", pattern
    return "tools", text.strip()
