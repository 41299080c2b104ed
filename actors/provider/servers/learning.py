"""What a server's refusal tells about it (pure).

Rules
-----
A refusal changes one quirk, and only when its words name that quirk. Which of them have been tried already is
the caller's to know: what was tried is not tried again, so that a session settles after a few requests.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from actors.provider.wires.wire import LimitName, Quirks

_UNKNOWN: Final = (
    r"(?:un(?:supported|known|recogni[sz]ed|expected)|not (?:supported|permitted|allowed|recogni[sz]ed|valid)"
    r"|n't support|extra (?:inputs|fields|forbidden)|extra_forbidden|invalid (?:field|argument|param)"
    r"|unrecognized request argument|does not support|no such|additional propert)"
)
_MISSING: Final = (
    r"(?:missing|require|must (?:contain|be (?:passed|included|provided|present|sent|set|returned))"
    r"|passed back|not found|cannot be (?:null|empty)|必须)"
)


class Lesson(NamedTuple):
    """How a server is to be asked from now on."""

    quirks: Quirks
    told: str
    """For a person: what it does not take, and what is done about it."""


def lessons(quirks: Quirks, words: str) -> Iterator[Lesson]:
    """What may be behind a refusal of these words, the likeliest first; none when they name no quirk."""
    said = " ".join(words.lower().split())
    for rule in _RULES:
        yield from rule(quirks, said)


def _limit(quirks: Quirks, said: str) -> Iterator[Lesson]:
    name = quirks.limit_name
    if not name or name not in said or not re.search(_UNKNOWN, said):
        return
    other: LimitName = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
    yield Lesson(replace(quirks, limit_name=other), f"takes no {name}; it is sent {other} instead")
    yield Lesson(replace(quirks, limit_name=""), f"takes no {name}; its answers are not limited")


def _output_limit(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.limit_name and "max_output_tokens" in said and re.search(_UNKNOWN, said):
        yield Lesson(
            replace(quirks, limit_name=""), "takes no max_output_tokens; its answers are not limited"
        )


def _summaries(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.summaries and re.search(r"\breasoning\b", said) and re.search(f"{_UNKNOWN}|verified", said):
        told = "shows no summaries of its reasoning; it is not asked for them"
        yield Lesson(replace(quirks, summaries=False), told)


def _sealed(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if "encrypted" not in said and "reasoning item" not in said:
        return
    if quirks.sealed == "all":
        told = "does not take reasoning of another session; only this one's is sent back"
        yield Lesson(replace(quirks, sealed="own"), told)
    yield Lesson(replace(quirks, sealed="none"), "takes no sealed reasoning; none is sent back to it")


def _usage(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.stream_usage and ("stream_options" in said or "include_usage" in said):
        told = "takes no stream_options; tokens are estimated where it does not report them"
        yield Lesson(replace(quirks, stream_usage=False), told)


def _single(quirks: Quirks, said: str) -> Iterator[Lesson]:
    named = re.search(
        r"single tool|one tool[ _-]call|parallel[ _]tool|(?:multiple|several) tool[ _-]call",
        said,
    )
    if named and not quirks.single_calls:
        told = "takes one tool call in a message; several are sent one after the other"
        yield Lesson(replace(quirks, single_calls=True), told)


def _ids(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if not quirks.short_ids and re.search(r"tool[ _]call[ _]id.*(?:length|characters|a-z)", said):
        yield Lesson(replace(quirks, short_ids=True), "wants short ids of calls; it is sent such")


def _roles(quirks: Quirks, said: str) -> Iterator[Lesson]:
    named = re.search(
        r"alternat|unexpected role|after role|consecutive (?:user|messages|roles)|roles? (?:must|should)"
        r"|two (?:user|consecutive)|last message must",
        said,
    )
    if named and not quirks.alternating:
        told = "wants prompts and answers in turn; prompts in a row are joined"
        yield Lesson(replace(quirks, alternating=True), told)


def _echo(quirks: Quirks, said: str) -> Iterator[Lesson]:
    named = re.search(r"\breasoning(?:_content|_details|_text)?\b", said)
    if named is None:
        return
    if quirks.echo and re.search(_UNKNOWN, said):
        yield Lesson(replace(quirks, echo=""), f"takes no {quirks.echo}; reasoning is not sent back to it")
    elif not quirks.echo and re.search(_MISSING, said):
        told = "wants its reasoning back in messages that call tools; it is sent there"
        yield Lesson(replace(quirks, echo=named[0]), told)


def _content(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if not re.search(r"\bcontents?\b", said) or "reasoning_content" in said:
        return
    if not re.search(
        r"null|none\b|empty|must|require|missing|expected|invalid|string|valid|non-?null|length", said
    ):
        return
    for form in ("empty", "absent", "null"):
        if form != quirks.call_content:
            told = f"wants the content of a message that only calls tools {_FORMS[form]}"
            yield Lesson(replace(quirks, call_content=form), told)


_FORMS: Final = {"null": "to be null", "empty": "to be an empty text", "absent": "to be left out"}
_RULES: Final[tuple[Callable[[Quirks, str], Iterator[Lesson]], ...]] = (
    _limit,
    _output_limit,
    _summaries,
    _sealed,
    _usage,
    _single,
    _ids,
    _roles,
    _echo,
    _content,
)
