"""Words of a server that a conversation is longer than its model takes, and the number it names. Pure.

Rules
-----
A status that means something else is believed. So are words about tokens by time, where waiting helps and a
shorter conversation does not, and words about what was said, which may quote it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from actors.provider.servers.served import WINDOWS

_READ: Final = 2_000
"""Characters of a message that are looked at."""
CODE: Final = "context_length_exceeded"
_TOO_LONG: Final = (
    CODE, "exceed_context_size", "prompt is too long", "too many tokens", "maximum number of tokens",
    "maximum prompt length", "input is too long", "model token limit", "max length exceeded",
    "exceeds max length", "range of input length", "prompt token count of", "max_prompt_tokens_exceeded",
    "contextwindowexceeded", "`inputs` tokens", "`inputs` must have less", "exceed max message tokens",
    "while limit is", "input tokens exceed", "input length exceeds",
)  # fmt: skip
"""As OpenAI, llama.cpp, Anthropic, Groq, Gemini, xAI, Bedrock, Moonshot, DashScope, Zhipu, GitHub, LiteLLM,
TGI and Volcengine say it.
"""
_CONTEXT: Final = r"context[ _-]?(?:length|window|size)"
_PAST_CONTEXT: Final = re.compile(
    r"(?:maximum|\bmax\b|exceed|longer|larger|greater|too (?:long|large|many|big)|\bover\b|beyond|limit"
    rf"|\bfit\b|reach).{{0,100}}{_CONTEXT}"
    rf"|{_CONTEXT}.{{0,100}}(?:exceed|too (?:small|short)|not enough|overflow|limit|reach)"
)
"""The context beside a word that it is not enough; as vLLM, LM Studio, MiniMax and many others say it."""
_TOO_FAST: Final = re.compile(r"rate[ _]limit|throttl|per minute|per day|please wait|quota")
_OF_MEANING: Final = re.compile(
    r"flagged|(?:usage|content) polic|moderat|content[- ]management|inappropriate|exists risk"
)
_WINDOW: Final = re.compile(
    r"(?:context (?:length|size|window)|prompt length|number of tokens allowed|model token limit|max length)"
    r"(?: of)?(?: only| is)?[ :(]+(\d[\d,]*)"
    r"|> (\d[\d,]*) maximum|(\d[\d,]*) (?:tokens )?maximum context length|limit (\d[\d,]*), requested"
    r"|input length should be \[1, ?(\d[\d,]*)\]|must be <= (\d[\d,]*)|must have less than (\d[\d,]*) tokens"
    r"|exceeds? the (?:configured )?limit of (\d[\d,]*)|while limit is (\d[\d,]*)"
)
"""The number beside it: OpenAI, vLLM, llama.cpp, LM Studio, Gemini, xAI, Moonshot; Anthropic; Mistral; Groq;
DashScope; TGI; GitHub, OpenAI; Cerebras.
"""


def is_too_long(status: int, words: str) -> bool:
    """Tell from a status and a server's words, in lower case."""
    if status == 413:
        return True
    if status in (401, 403, 404, 429, 503) or _TOO_FAST.search(words):
        return False
    if CODE not in words and _OF_MEANING.search(words):
        return False
    return any(map(words.__contains__, _TOO_LONG)) or bool(_PAST_CONTEXT.search(words))


def window_named(body: Mapping[str, Any], message: str) -> int:
    """The window that an error names: llama.cpp as a member, the others in words; 0 when none does."""
    named = _WINDOW.search(message[:_READ].lower())
    told = body.get("n_ctx", named[named.lastindex or 0] if named else 0)
    try:
        tokens = int(str(told).replace(",", ""))
    except ValueError:
        return 0
    return tokens if tokens in WINDOWS else 0
