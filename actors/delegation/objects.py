"""Finds the result object in what a subagent wrote: bare, fenced, inside prose, broken off (pure).

Rules
-----
The last object of the latest text counts. A text that only points back gives way to an earlier one. The
search is bounded, however large and however contrived the texts are.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from pydantic_core import from_json

from actors.provider.answers.stream import ANSWER_LIMIT

THIN: Final = 160
"""Characters; only a text up to that length may be taken for a mere pointer to an earlier one."""
_SEARCHED: Final = 2_000_000
"""Characters of one text, its last ones; of a longer one an object that begins before them is taken, too."""
_EFFORT: Final = 16_000_000
"""Characters decoded in all, about 0.2 s; a text full of braces would cost the square of its length."""
_TOO_DEEP: Final = 200_000
"""What an object counts that is nested too deeply to be decoded."""
_FIRST_STARTS: Final = 8
"""Places where an object may begin that is larger than what is searched, or broken off."""
_NEAR: Final = 100_000
"""Characters of the beginning that such places are looked for in."""

_START: Final = re.compile(r'\{\s*"[^"\\]{0,80}"\s*:')
_POINTER: Final = re.compile(
    r"\b(above|previous|prior|preceding|earlier|already|before|see|reported|done|finished|complete|completed)\b",
    re.IGNORECASE,
)
_decoder: Final = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A result object, and what has to be said about where it comes from."""

    value: dict[str, Any]
    notes: tuple[str, ...] = ()
    is_doubtful: bool = False
    """Whether it may not be what the subagent meant to say."""
    is_broken_off: bool = False


def has_result(text: str) -> bool:
    """Whether a text holds a whole result object."""
    return bool(_Search().objects(text))


def find_result(texts: Sequence[str]) -> Found | None:
    """The result object of a run, from its texts, oldest first."""
    search = _Search()
    best: tuple[int, list[dict[str, Any]]] | None = None
    for age, text in enumerate(reversed(texts)):
        objects = search.objects(text)
        if objects and (best is None or _finds(objects[-1])):
            best = age, objects
            if not _only_points(objects[-1]):
                break
    if best is None:
        return _salvaged(texts[-1]) if texts else None
    age, objects = best
    notes = []
    if age:
        notes.append("The result was taken from an earlier text of the subagent, not its last.")
    overtaken = age > 0 and not has_result(texts[-1]) and len(texts[-1]) > THIN
    differ = any(each != objects[-1] for each in objects)
    if differ:
        notes.append(f"The text held {len(objects):,} result objects that differ; this is the last one.")
    return Found(objects[-1], tuple(notes), is_doubtful=differ or overtaken)


def points_back(text: str) -> bool:
    """Whether a text says nothing itself, or hardly more than that it has been said before."""
    return not text.strip() or (len(text) <= THIN and _POINTER.search(text) is not None)


def _only_points(found: dict[str, Any]) -> bool:
    return not _finds(found) and points_back(str(found.get("summary") or ""))


def _finds(found: dict[str, Any]) -> bool:
    """Whether an object has findings; a mere text, mostly "none", is none."""
    findings = found.get("findings")
    return bool(findings) and not isinstance(findings, str)


class _Search:
    """Looks through texts until its effort is spent."""

    def __init__(self) -> None:
        self._left = _EFFORT

    def objects(self, text: str) -> list[dict[str, Any]]:
        """Every result object in a text, in order; never one inside another."""
        text = text[-ANSWER_LIMIT:]
        searched = len(text) - _SEARCHED
        if searched > 0:
            found, end = self._among(text, _first_starts(text))
            if end > searched:
                return found + self._among(text, _START.finditer(text, end))[0]
        return self._among(text, _START.finditer(text, max(searched, 0)))[0]

    def _among(self, text: str, starts: Iterable[re.Match[str]]) -> tuple[list[dict[str, Any]], int]:
        """The result objects that begin at some of these places, and where the last one ends."""
        found: list[dict[str, Any]] = []
        end = 0
        for match in starts:
            if self._left <= 0:
                break
            if match.start() < end:
                continue
            value, stop = self._decode(text, match.start())
            if "summary" in value or "findings" in value:
                found.append(value)
                end = stop
        return found, end

    def _decode(self, text: str, start: int) -> tuple[dict[str, Any], int]:
        """The object that begins here and its end; an empty one when there is none."""
        try:
            value, stop = _decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # The error counts the lines before it, about as fast as 32 characters are decoded in one.
            self._left -= error.pos - start + error.pos // 32 + 1
        except (ValueError, RecursionError):
            self._left -= _TOO_DEEP
        else:
            self._left -= stop - start
            return value, stop
        return {}, start


def _first_starts(text: str) -> Iterable[re.Match[str]]:
    return islice(_START.finditer(text, 0, _NEAR), _FIRST_STARTS)


def _salvaged(text: str) -> Found | None:
    """The beginning of a result object with which a text breaks off."""
    text = text[-ANSWER_LIMIT:]
    for match in _first_starts(text):
        try:
            rest = text[match.start() :].encode(errors="replace")
            value = from_json(rest, allow_partial="trailing-strings")
        except ValueError:
            continue
        if value.get("summary") or value.get("findings"):
            note = "The last message broke off inside its result object; what came before that is here."
            return Found(value, (note,), is_doubtful=True, is_broken_off=True)
    return None
