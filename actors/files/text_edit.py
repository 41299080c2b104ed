"""Exact replacement of text in the bytes of a file: what was meant changes, no other byte does (pure).

Text is compared as a model reads it: a line ends with LF, whether the file has LF or CRLF there. Nothing
else is forgiven.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, repeat, zip_longest

from actors.files.legacy_encoding import OF_SEVERAL_BYTES
from actors.files.nearest_text import nearest
from actors.files.text_encoding import Encoding, detect
from actors.files.unified_diff import Span
from actors.tools.tool import ToolFailure

MAX_LINES_TOLD = 10
_BREAK = re.compile(r"\r?\n")
_BREAK_PATTERN = r"(?:\r\n|(?<!\r)\n)"
"""A line break, never the second half of one."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a replacement made of a file."""

    data: bytes
    """The new content."""
    before: str
    """The old text, decoded, without its byte order mark."""
    after: str
    """The new text, likewise."""
    spans: tuple[Span, ...]
    """What was replaced in the old text, and what came in its place."""
    lines: tuple[int, ...]
    """Line numbers in the old text where replacements begin."""


def edit(data: bytes, old: str, new: str, *, replace_all: bool = False) -> Edit:
    """Replace `old`, which must occur once unless `replace_all`.

    Raises `ToolFailure`: `identical_text`, `no_match`, `several_matches`, `encoding_unknown`,
    `not_in_encoding`, `bad_text`.
    """
    try:
        encoding = detect(data)
    except UnicodeDecodeError:
        raise _unknown_encoding("its bytes do not fit the encoding that it begins with") from None
    text = encoding.decode(data)
    if encoding.bom:
        old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    matches = _matches(text, old, new, replace_all)
    _refuse_unwritable(encoding, new)
    if encoding.rivals or encoding.is_unknown:
        _refuse_guesswork(encoding, text, matches, new)
    replacements = _replacements(text, matches, old, new)
    after = _spliced(text, matches, replacements)
    spans = tuple(_spans(matches, replacements))
    return Edit(encoding.encode(after), text, after, spans, _lines(text, matches))


def _matches(text: str, old: str, new: str, replace_all: bool) -> list[re.Match[str]]:
    pattern = re.compile(_BREAK_PATTERN.join(map(re.escape, old.split("\n"))))
    matches = list(pattern.finditer(text))
    if old == new:
        where = f"; it is at {_places(text, matches)}" if matches else ""
        raise ToolFailure(
            "identical_text",
            f"old_text and new_text are the same text{where}. Nothing was changed.",
            "Send in new_text what is to be there instead, or go on if it is right as it is.",
        )
    if not matches:
        raise ToolFailure("no_match", *nearest(text, old))
    overlapping = pattern.search(text, matches[0].start() + 1)
    if overlapping and not replace_all:
        found = matches if len(matches) > 1 else [matches[0], overlapping]
        raise ToolFailure(
            "several_matches",
            f"old_text occurs {len(found)} times, at {_places(text, found)}. Nothing was changed.",
            "Add neighbouring lines to old_text until only one place fits, or set replace_all.",
        )
    return matches


def _replacements(text: str, matches: list[re.Match[str]], old: str, new: str) -> list[str]:
    usual = _usual_break(text)
    return [_replacement(match.group(), old, new, usual) for match in matches]


def _spliced(text: str, matches: list[re.Match[str]], replacements: list[str]) -> str:
    ends = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches), len(text)]
    kept = (text[end:start] for end, start in zip(ends, starts, strict=True))
    return "".join(chain.from_iterable(zip_longest(kept, replacements, fillvalue="")))


def _spans(matches: list[re.Match[str]], replacements: list[str]) -> Iterator[Span]:
    longer = 0
    for match, replacement in zip(matches, replacements, strict=True):
        start, end = match.span()
        yield Span(start, end, start + longer, start + longer + len(replacement))
        longer += len(replacement) - (end - start)


def _replacement(found: str, old: str, new: str, usual: str) -> str:
    """`new` with the line breaks of `found`, the text of the file that `old` matched.

    What both have in common in front and behind stays as it is. Between, break by break is taken over, and
    what is more than there was ends as most lines of the file do.
    """
    front = _common_prefix(old, new)
    limit = min(len(old), len(new)) - front
    back = min(_common_prefix(old[::-1], new[::-1]), limit)
    breaks = _BREAK.findall(found)
    passed = old.count("\n", 0, front)
    left = old.count("\n", 0, len(old) - back)
    start = front + _extra(breaks[:passed])
    end = len(found) - back - _extra(breaks[left:])
    supply = chain(breaks[passed:left], repeat(usual))
    between = _BREAK.sub(lambda _: next(supply), new[front : len(new) - back])
    return found[:start] + between + found[end:]


def _extra(breaks: list[str]) -> int:
    return sum(len(each) - 1 for each in breaks)


def _common_prefix(one: str, other: str) -> int:
    """Length of what two texts have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _usual_break(text: str) -> str:
    with_return = text.count("\r\n")
    return "\r\n" if with_return > text.count("\n") - with_return else "\n"


def _refuse_unwritable(encoding: Encoding, new: str) -> None:
    try:
        new.encode(encoding.codec)
    except UnicodeEncodeError as error:
        bad = new[error.start]
        if "\ud800" <= bad <= "\udfff":
            raise ToolFailure(
                "bad_text", f"new_text holds no valid text: {error}.", "Correct new_text."
            ) from None
        raise ToolFailure(
            "not_in_encoding",
            f"The file is in {encoding.name}, which has no {bad!r}. Nothing was changed.",
            "Write it with other characters or as an escape; or convert the file, if the user wants that.",
        ) from None


def _refuse_guesswork(encoding: Encoding, text: str, matches: list[re.Match[str]], new: str) -> None:
    """Where it is not certain what the bytes stand for, no character may be torn and none made up."""
    unknown = {each for each in new if each > "\x7f"} - set(text)
    made_up = "".join(each for each in sorted(unknown) if not _is_agreed(each, encoding))
    if made_up:
        raise _unknown_encoding(f"it is not known how to write {made_up[:5]!r} in it")
    if _tears(encoding, text, matches):
        raise _unknown_encoding("old_text may begin or end inside a character")


def _tears(encoding: Encoding, text: str, matches: list[re.Match[str]]) -> bool:
    """Whether a place begins or ends inside a character of another reading of the bytes."""
    if encoding.is_unknown:
        return any(_may_be_torn(match, text) for match in matches)
    bounds = [0, *chain.from_iterable(match.span() for match in matches), len(text)]
    pieces = [text[start:end].encode(encoding.codec) for start, end in pairwise(bounds)]
    try:
        for rival in set(encoding.rivals).intersection(OF_SEVERAL_BYTES):
            for piece in pieces:
                piece.decode(rival)
    except UnicodeDecodeError:
        return True
    return False


def _may_be_torn(match: re.Match[str], text: str) -> bool:
    """Whether a place may begin or end inside a character of more than a byte, whatever encoding that is."""
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    return before > "\x7f" or (match.group()[-1] > "\x7f" and bool(after) and not after.isspace())


def _is_agreed(character: str, encoding: Encoding) -> bool:
    """Whether all that a file may be in writes a character in the same way."""
    forms = {character.encode(codec, "replace") for codec in (encoding.codec, *encoding.rivals)}
    return not encoding.is_unknown and len(forms) == 1


def _unknown_encoding(reason: str) -> ToolFailure:
    return ToolFailure(
        "encoding_unknown",
        f"The file is in no encoding that can be told for certain, and {reason}. Nothing was changed.",
        "Choose old_text so that it begins and ends with ASCII, with only ASCII new; or convert the file.",
    )


def _places(text: str, matches: list[re.Match[str]]) -> str:
    numbers = list(map(str, _lines(text, matches[:MAX_LINES_TOLD])))
    more = f" and {len(matches) - MAX_LINES_TOLD} more" if len(matches) > MAX_LINES_TOLD else ""
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}{more}"


def _lines(text: str, matches: list[re.Match[str]]) -> tuple[int, ...]:
    """The line each match begins in, counted in one pass."""
    starts = [0, *(match.start() for match in matches)]
    passed = accumulate(text.count("\n", last, start) for last, start in pairwise(starts))
    return tuple(1 + count for count in passed)
