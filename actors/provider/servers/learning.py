"""What a server's refusal tells about it (pure).

Rules
-----
A refusal changes one quirk, and only when its words name that quirk. Words about what was said, not how,
teach nothing; those of a fault only what a chat template refuses. Which forms have been refused already is
the caller's to know.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from actors.provider.wires.wire import Quirks

_UNKNOWN: Final = (
    r"(?:un(?:supported|known|recogni[sz]ed|expected)|not (?:supported|permitted|allowed|recogni[sz]ed|valid)"
    r"|n't support|extra (?:inputs|fields|forbidden)|extra_forbidden|invalid (?:field|argument|param)"
    r"|unrecognized request argument|does not support|no such|additional propert)"
)
_MISSING: Final = (
    r"(?:missing|require|must (?:contain|be (?:passed|included|provided|present|sent|set|returned))"
    r"|passed back|not found|cannot be (?:null|empty)|必须)"
)


_BOUND: Final = (
    r"less than|greater than|at most|at least|exceed|too (?:large|high|big|small|low)|above|below|larger than"
    r"|maximum|minimum|between|range|[<>]=|[≤≥]|\bup to\b"
)
"""Words of a server that knows the parameter and minds its value."""
_OF_MEANING: Final = (
    r"polic(?:y|ies)|moderat|flagged|inappropriate|safety|harmful|sensitive|exists risk|content[- ]management"
    r"|content[- ]filter|content[- ]type|media type|grammar|schema for|match(?:es)? schema"
    r"|tool call validation"
)
"""Words about what was said, about HTTP or about a schema: no other form would change a thing."""
_OF_A_TEMPLATE: Final = r"template|jinja|roles must|tool[- ]calls? at once|tool call ids? should"
"""Words of a chat template, which llama.cpp and others report as a fault of their own."""
_FAULT: Final = 500


class Lesson(NamedTuple):
    """How a server is to be asked from now on."""

    quirk: str
    """Name of the member of `Quirks`."""
    value: Any
    """What it has to be."""
    told: str
    """For a person: what it does not take, and what is done about it."""

    def on(self, quirks: Quirks) -> Quirks:
        """The quirks with it."""
        return replace(quirks, **{self.quirk: self.value})


def lessons(quirks: Quirks, words: str, status: int = 400) -> Iterator[Lesson]:
    """What may be behind a refusal of these words, the likeliest first; none when they name no quirk."""
    said = " ".join(words.lower().split())
    if re.search(_OF_MEANING, said) or (status >= _FAULT and not re.search(_OF_A_TEMPLATE, said)):
        return
    for rule in _RULES:
        yield from rule(quirks, said)


def lessons_of_room(quirks: Quirks, words: str) -> Iterator[Lesson]:
    """What may be behind words about the window: the room that the answer was to have in it.

    None where the conversation alone is too long.
    """
    said = " ".join(words.lower().split()).replace(",", "")
    if not quirks.limit_name or not re.search(_ROOM, said):
        return
    window, sent = re.search(_WINDOW, said), re.search(_SENT, said)
    if window and sent and _number(sent) >= _number(window):
        return
    told = "has no room for an answer of max_output_tokens; its answers are not limited"
    yield Lesson("limit_name", "", told)


_ROOM: Final = (
    r"in the completion|for the completion|max_new_tokens|output tokens"
    r"|max_(?:completion_|output_)?tokens\b.{0,40} too large|or completion\b"
)
"""The part of the answer, as OpenAI, SGLang, TGI, vLLM and Cerebras name it."""
_WINDOW: Final = r"(?:context length (?:is|of)|must be <=) (\d+)"
_SENT: Final = (
    r"(\d+) (?:tokens )?(?:(?:in|from) the (?:input )?messages|in your prompt|input tokens|`inputs`)"
)


def _number(found: re.Match[str]) -> int:
    return int(found[1][:12])


def _limit(quirks: Quirks, said: str) -> Iterator[Lesson]:
    name = quirks.limit_name
    if not name or name not in said or not re.search(_UNKNOWN, said) or re.search(_BOUND, said):
        return
    other = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
    yield Lesson("limit_name", other, f"takes no {name}; it is sent {other} instead")
    yield Lesson("limit_name", "", f"takes no {name}; its answers are not limited")


def _output_limit(quirks: Quirks, said: str) -> Iterator[Lesson]:
    is_unknown = re.search(_UNKNOWN, said) and not re.search(_BOUND, said)
    if quirks.limit_name and "max_output_tokens" in said and is_unknown:
        yield Lesson("limit_name", "", "takes no max_output_tokens; its answers are not limited")


def _store(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.store and re.search(r"\bstore\b", said) and re.search(_UNKNOWN, said):
        yield Lesson("store", False, "takes no store; what it keeps of a session is its own to say")


def _strict(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.strict and re.search(r"\bstrict\b", said) and re.search(_UNKNOWN, said):
        yield Lesson("strict", False, "takes no strict beside a tool; it is left out")


def _summaries(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.summaries and re.search(r"\breasoning\b", said) and re.search(f"{_UNKNOWN}|verified", said):
        told = "shows no summaries of its reasoning; it is not asked for them"
        yield Lesson("summaries", False, told)


def _sealed(quirks: Quirks, said: str) -> Iterator[Lesson]:
    is_unknown = re.search(r"\binclude\b", said) and re.search(_UNKNOWN, said)
    if not is_unknown and "encrypted" not in said and "reasoning item" not in said:
        return
    if quirks.sealed == "all" and not is_unknown:
        told = "does not take reasoning of another session; only this one's is sent back"
        yield Lesson("sealed", "own", told)
    yield Lesson("sealed", "none", "takes no sealed reasoning; none is sent back to it")


def _usage(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if quirks.stream_usage and ("stream_options" in said or "include_usage" in said):
        told = "takes no stream_options; tokens are estimated where it does not report them"
        yield Lesson("stream_usage", False, told)


def _single(quirks: Quirks, said: str) -> Iterator[Lesson]:
    named = re.search(
        r"single tool|one tool[ _-]call|parallel[ _]tool|(?:multiple|several) tool[ _-]call",
        said,
    )
    if named and not quirks.single_calls:
        told = "takes one tool call in a message; several are sent one after the other"
        yield Lesson("single_calls", True, told)


def _ids(quirks: Quirks, said: str) -> Iterator[Lesson]:
    named = re.search(r"tool[ _]call[ _]id.*(?:length|characters|a-z)|tool_use(?:_|\.)id\b.*pattern", said)
    if named and not quirks.short_ids:
        yield Lesson("short_ids", True, "wants short ids of calls; it is sent such")


_TURNS: Final = (
    r"\balternat(?:e|es|ing|ion)\b|unexpected role|after role|roles? (?:must|should)|last message must"
    r"|(?:consecutive|successive) (?:user|assistant|messages|roles)|two (?:user|consecutive|successive)"
)


def _roles(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if not quirks.alternating and re.search(_TURNS, said):
        told = "wants prompts and answers in turn; prompts in a row are joined"
        yield Lesson("alternating", True, told)


def _echo(quirks: Quirks, said: str) -> Iterator[Lesson]:
    named = re.search(r"\breasoning(?:_content|_details|_text)?\b", said)
    if named is None:
        return
    if quirks.echo and re.search(_UNKNOWN, said):
        yield Lesson("echo", "", f"takes no {quirks.echo}; reasoning is not sent back to it")
    elif not quirks.echo and re.search(_MISSING, said):
        told = "wants its reasoning back in messages that call tools; it is sent there"
        yield Lesson("echo", named[0], told)


def _extras(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if not quirks.extras and re.search(r"thought_?signature", said) and re.search(_MISSING, said):
        yield Lesson("extras", True, "wants its signatures back with its calls; they are sent with them")
    elif quirks.extras and "extra_content" in said and re.search(_UNKNOWN, said):
        yield Lesson("extras", False, "takes no extra_content; it is not sent back")


def _content(quirks: Quirks, said: str) -> Iterator[Lesson]:
    if not re.search(_NO_CONTENT, said):
        return
    for form in ("empty", "absent", "null"):
        if form != quirks.call_content:
            told = f"wants the content of a message that only calls tools {_FORMS[form]}"
            yield Lesson("call_content", form, told)


_ABSENCE: Final = (
    r"(?:null\b|none\b|nil\b|empty\b|blank\b|missing|required?\b|(?:must|should) be (?:a )?(?:valid )?string"
    r"|expected (?:a |type )?'?string|valid string|non-?null|must be (?:present|provided|set|included)"
    r"|must (?:have|contain|include)|any of the given schemas|too short|at least (?:1|one) char)"
)
_NO_CONTENT: Final = (
    rf"(?<![\w-])contents?\b(?!\.\d).{{0,80}}{_ABSENCE}|{_ABSENCE}.{{0,40}}(?<![\w-])contents?\b(?!\.\d)"
)
"""The content of a message beside a word that none of it, or an empty one, was the matter."""
_FORMS: Final = {"null": "to be null", "empty": "to be an empty text", "absent": "to be left out"}
_RULES: Final[tuple[Callable[[Quirks, str], Iterator[Lesson]], ...]] = (
    _limit,
    _output_limit,
    _summaries,
    _sealed,
    _store,
    _strict,
    _usage,
    _single,
    _ids,
    _roles,
    _echo,
    _extras,
    _content,
)
