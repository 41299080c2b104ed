"""What of a subagent's findings can be checked without a model: the file, the line, what stands on it.

A finding is `checked` when its file is in the workspace, has the line, and everything that the claim quotes
in backticks stands on that line. That says where it stands, not that the claim is true.
"""

import asyncio
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from actors.delegation.result import CHECK_BYTES, DelegateResult, Finding
from actors.files.text_encoding import binary_kind, detect
from actors.files.workspace import Workspace
from actors.tools.tool import ToolFailure

CHECK_S: Final = 1.0
"""Longest time for all findings of a result; what is left then stays unchecked."""
MAX_FILE_BYTES: Final = 8 << 20
"""What lies behind in a larger file is not looked at."""
_SAMPLE_BYTES: Final = 8192
_MOST_QUOTES: Final = 8
"""Of one claim."""
_MOST_HITS: Final = 1_000
"""Places looked at for one quote."""
_PLACES_TOLD: Final = 3
_QUOTE: Final = re.compile(r"`([^`\n]{1,200})`")
_NO_FILE: Final = "not checked: it names no file"
_TOO_SLOW: Final = "not checked: reading the files took too long"

_encode: Final = msgspec.json.Encoder().encode


async def check_findings(
    result: DelegateResult, workspace: Workspace, within_s: float = CHECK_S
) -> DelegateResult:
    """Look up what the findings name; each comes back with `checked` and the reason in `check`.

    Returns in `within_s` seconds, whatever the files are. What it adds keeps a normalized result within
    its bounds.
    """
    if not result.findings:
        return result
    deadline = time.monotonic() + within_s
    try:
        async with asyncio.timeout(within_s):
            checks = await asyncio.to_thread(_check_all, result.findings, workspace, deadline)
    except TimeoutError:
        checks = {}
    findings = tuple(_checked(finding, checks) for finding in result.findings)
    return msgspec.structs.replace(result, findings=findings)


_Checks = Mapping[Finding, tuple[bool, str]]


def _checked(finding: Finding, checks: _Checks) -> Finding:
    holds, why = checks.get(finding, (False, _TOO_SLOW))
    while len(_encode(why)) > CHECK_BYTES:
        why = why[: -max(2, len(why) // 8)] + "…"
    return msgspec.structs.replace(finding, checked=holds, check=why)


def _check_all(findings: Sequence[Finding], workspace: Workspace, deadline: float) -> _Checks:
    """Check until the deadline; findings of one file are taken together, so that it is read once."""
    checks = {}
    name, text = "", ""
    for finding in sorted(findings, key=lambda finding: finding.file):
        if time.monotonic() > deadline:
            break
        try:
            if finding.file != name:
                name, text = "", _text(finding.file, workspace)
                name = finding.file
            checks[finding] = _check(finding, text) if name else (False, _NO_FILE)
        except ToolFailure as error:
            checks[finding] = False, f"not checked: {error.message}"
    return checks


def _text(name: str, workspace: Workspace) -> str:
    """The text of a file, its first `MAX_FILE_BYTES`. Raises `ToolFailure` for what is no text file there."""
    with workspace.open_file(workspace.resolve_existing(name)) as file:
        data = file.read(MAX_FILE_BYTES)
    if kind := binary_kind(data[:_SAMPLE_BYTES]):
        raise ToolFailure("binary_file", f"it is {kind}")
    try:
        return detect(data).decode(data)
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _check(finding: Finding, text: str) -> tuple[bool, str]:
    quotes = _quotes(finding)
    elsewhere = f"; `{quotes[0]}` {_elsewhere(quotes[0], text)}" if quotes else ""
    if finding.line is None:
        return False, f"the file exists, but no line was named{elsewhere}"
    line = _line(text, finding.line)
    if line is None:
        count = text.count("\n") + (not text.endswith("\n") and bool(text))
        return False, f"the file has {count:,} lines{elsewhere}"
    if not quotes:
        return False, f"line {finding.line} exists, but the claim quotes nothing that could stand on it"
    for quote in quotes:
        if next(_lines_with(_flat(quote), _flat(line)), None) is None:
            return False, f"`{quote}` is not on line {finding.line}: it {_elsewhere(quote, text)}"
    return True, f"what the claim quotes stands on line {finding.line}"


def _quotes(finding: Finding) -> list[str]:
    """What the claim quotes of the code, as far as it has to stand there literally."""
    quotes = (
        match[1].strip().removesuffix("…").removesuffix("()") for match in _QUOTE.finditer(finding.claim)
    )
    own_names = ("", finding.file, finding.file.rpartition("/")[2])
    return [quote for quote in islice(quotes, _MOST_QUOTES) if quote not in own_names]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _line(text: str, number: int) -> str | None:
    """A line, counted from 1; null when there are fewer."""
    # Counting up to a place is a hundred times faster than stepping from line to line.
    start = bisect_left(range(len(text)), number - 1, key=lambda at: text.count("\n", 0, at))
    if start == len(text):
        return None
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end]


def _elsewhere(quote: str, text: str) -> str:
    lines = list(dict.fromkeys(_lines_with(quote, text)))
    if not lines:
        return "stands nowhere in the file"
    more = f" and {len(lines) - _PLACES_TOLD:,} more" if len(lines) > _PLACES_TOLD else ""
    return f"stands on line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_PLACES_TOLD]))}{more}"


def _lines_with(quote: str, text: str) -> Iterator[int]:
    """Numbers of the lines on which a quote stands, a name as a whole; a line may come more than once."""
    line, counted, at = 1, 0, -1
    for _ in range(_MOST_HITS):
        at = text.find(quote, at + 1)
        if at < 0:
            return
        end = at + len(quote)
        if not (_joined(text[at - 1 : at], quote[0]) or _joined(quote[-1], text[end : end + 1])):
            line, counted = line + text.count("\n", counted, at), at
            yield line


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    return all(each.isalnum() or each == "_" for each in (left, right))
